#pragma once
// The system of least squares: E and E^H E with a regularizer, of one trajectory and one set of maps.
#include <memory>
#include <optional>

#include "recon/encoding/off_resonance.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/problem.hpp"

namespace fhd {

template <class T>
struct Model {
  std::shared_ptr<const Encoding<T>> encoding;
  Problem<T> problem;                             ///< of one term; its weight, lambda, is chosen later
  std::shared_ptr<const SenseEncoding<T>> sense;  ///< with the maps, or one coil of ones
  double map_unit = 1;            ///< the maps of the scan are those of `sense` times this, a power of two
  bool has_maps = false;          ///< of the scan, or ones
  bool fits_scans_alike = false;  ///< depends on nothing but trajectory, matrix and maps
  double largest_eigenvalue = 0, mean_eigenvalue = 0;  ///< of E^H E, of the maps as they are here

  const Array<Complex<T>>& maps() const { return sense->maps(); }
};

/// The time segments of a scan whose field map is used; says why one is not. Empty without.
struct OffResonance {
  TimeSegments segments, differences;  ///< of E and of E^H E (Toeplitz)
};
std::optional<OffResonance> off_resonance_of(const Scan& scan, const Context& context);

/// Whether a model that is kept, which is that of the trajectory, is that of the maps of `scan` too.
template <class T>
bool model_fits(const Model<T>& model, const Scan& scan, bool corrects_off_resonance);

/// `coils_at_once`: of operators on a GPU, a divisor of the coils; 0: all.
template <class T>
Model<T> make_model(const Scan& scan, const std::optional<OffResonance>& off_resonance,
                    std::int64_t coils_at_once, TrajectoryOperators<T>& operators, const Context& context);

/// The plane of the point-spread kernel without a difference along z: DiagnosticImages::point_spread.
template <class T>
Array<float> central_plane(const Array<Complex<T>>& point_spread);

}  // namespace fhd

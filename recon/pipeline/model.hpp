#pragma once
// The system of least squares: E, E^H E and terms, of one trajectory and one set of maps.
#include <memory>
#include <optional>

#include "recon/encoding/off_resonance.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/problem.hpp"

namespace fhd {

template <class T>
struct Model {
  std::shared_ptr<const Encoding<T>> encoding;
  /// The first quadratic term is the regularizer; its weight, lambda, is chosen later, as those of sparse terms.
  Problem<T> problem;
  std::shared_ptr<const SenseEncoding<T>> sense;  ///< with the maps of all sets, or one coil of ones
  double map_unit = 1;    ///< the maps of the scan are those of `sense` times this, a power of two
  bool has_maps = false;  ///< of the scan, or ones
  bool corrects_off_resonance = false;
  /// The maps of Toeplitz operators of time segments; else null.
  std::shared_ptr<const TurnedMaps<T>> turned_maps{};
  /// Eigenvalues of E^H E, of the maps as they are here: the largest, where it is needed before the solution, else 0; the
  /// mean, of the first set.
  double largest_eigenvalue = 0, mean_eigenvalue = 0;
  Array<double> circulant{};  ///< circulant_of_point_spread, for a preconditioner; empty: there is none
  /// Images of the problem, which are then [frame and z][y][x] (solve/stack.hpp); all else is of one of them.
  std::int64_t frames = 1;
  double image_share =
      1;  ///< magnitude of images over that of the unknowns, where these are no images (frames.cpp)
  std::shared_ptr<const HermitianOperator<T>> preconditioner{};  ///< the last one, of a term of this weight
  double preconditioned_weight = -1;
  bool is_of_frames = false;  ///< even where they are one component
  bool holds =
      false;  ///< the last quadratic term is that of places where an image was unstable (stable_image.hpp)

  const Array<Complex<T>>& maps() const { return sense->maps(); }
};

/// The time segments of a scan whose field map is used: of E and of E^H E (Toeplitz).
struct OffResonance {
  TimeSegments segments, differences;
};
/// Finds the time segments; nothing where the scan has no field map, or where it is not used, which a note explains.
std::optional<OffResonance> off_resonance_of(const Scan& scan, const Context& context);

/// Makes the model. `coils_at_once`: of operators on a GPU, a divisor of the coils; 0: all. `images_at_once`: volumes that
/// are solved together.
template <class T>
Model<T> make_model(const Scan& scan, const std::optional<OffResonance>& off_resonance,
                    std::int64_t coils_at_once, std::int64_t images_at_once,
                    TrajectoryOperators<T>& operators, const Context& context);

/// Returns M^-1 of the system with this weight of its quadratic term, and with A^H A of every sparse term times a penalty;
/// null where conjugate gradient goes without.
template <class T>
std::shared_ptr<const HermitianOperator<T>> preconditioner_of(const Model<T>& model, double weight,
                                                              double sparse_penalty);

/// Returns a view of all values.
template <class T>
Array<T> view_of(const Array<T>& values) {
  return one_of(values, values.shape(), 0);
}

}  // namespace fhd

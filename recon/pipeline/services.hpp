#pragma once
// Services for a reconstruction that change nothing in its image: a cache, a second image, and a check that shares no
// code with it (validation/certificate).
#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "recon/domain/report.hpp"
#include "recon/domain/trajectory_cache.hpp"

namespace fhd {

/// Quantities of a reconstruction for its verifier: host arrays, borrowed for the duration of a call. The linear system is
/// that of one image:
///
///     E = F S,    samples d,    (E^H E + lambda W^H W) rho = E^H d.
///
/// Results of the operators (T) belong to samples and maps multiplied by sample_scale and map_scale, powers
/// of two. Empty arrays: the method has no such quantity.
template <class T>
struct VerifierInput {
  const Trajectory& trajectory;
  std::array<int, 3> matrix_size;
  const Complex<float>* samples;  ///< [coil][sample]
  double sample_scale = 1;
  const Complex<float>* maps;  ///< [coil][z][y][x]; null: ones
  double map_scale = 1;
  /// Samples and maps before they were rounded to single precision; null where that is all there is.
  const Complex<double>*samples_in_double = nullptr, *maps_in_double = nullptr;
  /// A second set of maps, each with an image of its own: images are then [set and z][y][x]; null: one set.
  const Complex<float>* second_maps = nullptr;
  std::int64_t coil_count = 1;
  const Array<float>* field_map = nullptr;       ///< rad/s, [z][y][x]; null where it is not part of E
  const Array<double>* sample_time_s = nullptr;  ///< s, [sample]
  const Array<double>* weights = nullptr;        ///< [sample], that multiply the samples of E^H d; null: 1

  Array<Complex<T>> image{};        ///< rho, [z][y][x]
  Array<Complex<T>> predicted{};    ///< E rho, [coil][sample]
  Array<Complex<T>> adjoint{};      ///< E^H d, [z][y][x]
  Array<Complex<T>> normal{};       ///< E^H E rho as the solver applies it, [z][y][x]
  Array<Complex<T>> regularized{};  ///< (E^H E + lambda W^H W) rho, [z][y][x]
  double solver_residual = -1;      ///< |E^H d - (E^H E + lambda W^H W) rho| / |E^H d| as the solver says
  double requested = 0;             ///< relative error that the transforms promise
  double elapsed_s = 0;             ///< the reconstruction took so far
  int iterations = 0;               ///< of the solver
  int volume_count = 1;             ///< that these operators have solved together, each verified by itself
  int volume = 0;                   ///< which of them, from 0
  /// Noise without signal, [coil][sample] of the coils as used, in the unit of `samples`; null where there is none.
  const Array<Complex<float>>* noise = nullptr;
  /// E of another image [z][y][x] with the maps and the field map, as `predicted`, to about 1e-3. Empty where
  /// several processes share the samples.
  std::function<Array<Complex<T>>(const Array<Complex<T>>&)> encode{};
};

/// The sizes that decide how long a verifier takes.
struct VerifierSizes {
  double samples = 0, voxels = 0, coils = 1;
  bool solved = false;   ///< there is a system, and not F^H d alone
  double elapsed_s = 0;  ///< the reconstruction took so far
  double threads = 1;    ///< how many times faster than one thread
};

/// Judges a reconstruction from its input.
class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual Certificate verify(const VerifierInput<float>& input) const = 0;
  virtual Certificate verify(const VerifierInput<double>& input) const = 0;
  /// Judges the data rather than the operators; empty where it is not asked.
  virtual std::optional<Verdict> judge(const VerifierInput<float>&) const { return {}; }
  virtual std::optional<Verdict> judge(const VerifierInput<double>&) const { return {}; }
  virtual double expected_seconds(const VerifierSizes&) const { return 0; }
};

struct Services {
  /// Null: what depends on the trajectory lives as long as the Reconstructor.
  std::shared_ptr<TrajectoryCache> trajectory_cache{};
  std::shared_ptr<const Verifier> verifier{};  ///< null: results carry no certificate
  /// Accuracy of the gridded image that least squares makes as well (Reconstruction::gridded), with the samples, maps
  /// and transforms that are there; empty: none.
  std::optional<double> gridded_accuracy{};
};

}  // namespace fhd

#pragma once
// Scan + settings -> image + report: the whole way. Each step is a function in a file of this folder:
//
//     prepare (matrix, coils, samples) -> model (E, E^H E, terms) -> solve -> verify -> finish (crop)
#include <memory>
#include <optional>

#include "recon/array/execution.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "recon/pipeline/services.hpp"

namespace fhd {

struct Reconstruction {
  Image image;
  Report report;
  DiagnosticImages diagnostic_images;
  /// The scan with the matrix, coils and maps that were used, where these are not its own: for a further
  /// reconstruction that is to use the same (CoilSettings::as_they_are).
  std::optional<Scan> prepared;
};

/// Reconstructs scan after scan with the same settings. What depends on the trajectory alone
/// (TrajectoryOperators), and the model where it fits, are kept for the next scan.
///
/// Methods:  LeastSquares          (E^H E + lambda W^H W) rho = E^H d, E = F S
///           ConventionalGridding  density-compensated adjoint by gridding: the conventional image
///           PlainAdjoint          E^H d, no compensation
///           CartesianFft          inverse FFT of a Cartesian scan
/// Coils are whitened and compressed, and maps found, as Settings::coils says. With sensitivity maps the
/// coils are combined by them; without, every coil is reconstructed on its own and the image is the root of
/// the sum of squares (a single coil stays complex).
class Reconstructor {
 public:
  /// Throws Error naming the field when the settings are out of range.
  explicit Reconstructor(const Settings& settings, const Execution& execution = {},
                         const Services& services = {});
  ~Reconstructor();
  Reconstructor(Reconstructor&&) noexcept;
  Reconstructor& operator=(Reconstructor&&) noexcept;
  /// Throws Error when the settings contradict the scan (e.g. CartesianFft of a non-Cartesian trajectory), and
  /// DeviceError when a GPU fails or has too little memory.
  Reconstruction operator()(const Scan& scan, const ProgressCallback& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One scan.
Reconstruction reconstruct(const Scan& scan, const Settings& settings = {}, const Execution& execution = {},
                           const Services& services = {}, const ProgressCallback& progress = {});

}  // namespace fhd

#pragma once
// Scan + settings -> image + report, in one way. Each step is a function with a header in this folder:
//
//     prepare (matrix, coils, maps) -> measurements -> model (E, E^H E, terms) -> solve -> verify -> finish (crop)
//
// reconstruct.cpp has the calls and the reports, volumes.cpp and frames.cpp the steps from samples to images.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recon/array/execution.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/frame_layout.hpp"

namespace fhd {

struct Preparation;  // prepare.hpp

struct Reconstruction {
  Image image;
  Report report;
  /// Where Services::gridded_accuracy asks for it, and coils have maps or are one.
  std::optional<Image> gridded;
  DiagnosticImages diagnostic_images;
  /// The scan with the matrix, coils and maps that were used, where these are not its own: for a further reconstruction
  /// with the same (CoilSettings::as_they_are).
  std::optional<Scan> prepared;
};

/// Reconstructs scan after scan with the same settings. What depends on the trajectory alone is cached for the next scan.
///
/// Methods:  LeastSquares          (E^H E + lambda W^H W) rho = E^H d, E = F S
///           ConventionalGridding  density-compensated adjoint by gridding: the conventional image
///           PlainAdjoint          E^H d, no compensation
///           CartesianFft          inverse FFT of a Cartesian scan
/// Coils are prepared as Settings::coils says. Without sensitivity maps every coil is reconstructed on its own and the image
/// is the root of the sum of squares (a single coil stays complex).
class Reconstructor {
 public:
  /// Throws Error naming the field when the settings are out of range.
  explicit Reconstructor(const Settings& settings, const Execution& execution = {},
                         const Services& services = {});
  ~Reconstructor();
  Reconstructor(Reconstructor&&) noexcept;
  Reconstructor& operator=(Reconstructor&&) noexcept;

  /// Reconstructs one scan. Throws Error when the settings contradict the scan (e.g. CartesianFft of a non-Cartesian
  /// trajectory), and DeviceError when a GPU fails or has too little memory.
  Reconstruction operator()(const Scan& scan, const ProgressCallback& progress = {});
  /// Reconstructs frames or bins (frames.hpp) in their order, with the maps of the whole scan. Each has its own certificate
  /// and verdict; solved together, they share objectives and residuals, and times are shares of that of all. Throws Error
  /// as require_frames_can.
  std::vector<Reconstruction> operator()(const Scan& scan, const FrameLayout& layout,
                                         const ProgressCallback& progress = {});

  /// Prepares a scan whose matrix, coils and maps further volumes are to have: a volume, or the mean of some. Their verdicts are
  /// found beside that of `beside`, a volume; null: of the reference. Both must outlive the preparation.
  std::shared_ptr<const Preparation> prepare(const Scan& reference, const ProgressCallback& progress = {},
                                             const Scan* beside = nullptr);
  /// Reconstructs volumes with the matrix, coils and maps of a preparation. Volumes at its positions are taken together, at
  /// most Preparation::volumes_at_once, each with its own stopping, certificate and verdict; their times are shares of that
  /// of all. A volume at other positions is reconstructed by itself. Throws Error where one has another matrix or number of
  /// coils.
  std::vector<Reconstruction> reconstruct(const std::shared_ptr<const Preparation>& preparation,
                                          const std::vector<const Scan*>& volumes,
                                          const ProgressCallback& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns whether volumes like `reference`, with the same positions, are reconstructed together: not where lambda is
/// searched for every volume, off-resonance is corrected, coils are combined without maps, or processes share the samples.
bool takes_series(const Settings& settings, const Execution& execution, const Scan& reference);
/// Returns what keeps a group of so many processes or devices, which sum images, from sharing a scan: "--normal explicit";
/// empty where nothing does.
std::string obstacle_to_group(const Settings& settings, const Scan& scan, int size);

/// Reconstructs one scan.
Reconstruction reconstruct(const Scan& scan, const Settings& settings = {}, const Execution& execution = {},
                           const Services& services = {}, const ProgressCallback& progress = {});

}  // namespace fhd

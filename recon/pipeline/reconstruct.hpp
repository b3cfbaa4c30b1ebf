#pragma once
// Scan + settings -> image + report: the whole way. Each step is a function in a file of this folder:
//
//     prepare (matrix, coils, samples) -> model (E, E^H E, terms) -> solve -> verify -> finish (crop)
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recon/array/execution.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/services.hpp"

namespace fhd {

struct Reconstruction {
  Image image;
  Report report;
  std::optional<Image>
      gridded;  ///< where Services::gridded_accuracy asks for it, and coils have maps or are one
  DiagnosticImages diagnostic_images;
  /// The scan with the matrix, coils and maps that were used, where these are not its own: for a further
  /// reconstruction that is to use the same (CoilSettings::as_they_are).
  std::optional<Scan> prepared;
};

/// What the volumes of a series share beside their trajectory: the matrix that holds the object, how coils are mixed,
/// and their maps, found in one scan of it.
struct Preparation;

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

  /// Of `reference`: a volume of the series, or the mean of some. Errors as above.
  std::shared_ptr<const Preparation> prepare_series(const Scan& reference,
                                                    const ProgressCallback& progress = {});
  /// How many volumes a device takes together: as many as gain something, and fit. On the CPU one.
  std::int64_t volumes_at_once(const Preparation& preparation) const;
  /// Volumes of the series, at most as many as are taken at once, each with its own stopping, certificate and verdict;
  /// their times are shares of that of all. Throws Error where one has another trajectory, matrix or number of coils.
  std::vector<Reconstruction> reconstruct_series(const std::shared_ptr<const Preparation>& preparation,
                                                 const std::vector<const Scan*>& volumes,
                                                 const ProgressCallback& progress = {});

  /// Frames of a continuous acquisition or bins of a motion (frames.hpp), in their order, with maps found in the
  /// whole scan. Each has its own certificate and verdict; solved together, they share objectives and residuals,
  /// and times are shares of that of all.
  /// Throws Error where the settings or the scan have what frames cannot: no maps of several coils, several
  /// processes, a method other than least squares with the Toeplitz operator, tgv, or lambda from the noise; and where
  /// they do not fit into memory.
  std::vector<Reconstruction> reconstruct_frames(const Scan& scan, const FrameLayout& layout,
                                                 const ProgressCallback& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether volumes like `reference`, with the same positions, are reconstructed together (reconstruct_series): not
/// where lambda is searched for every volume, off-resonance is corrected, coils are combined without maps, or processes
/// share the samples.
bool takes_series(const Settings& settings, const Execution& execution, const Scan& reference);
/// What a group of so many processes or devices would need to reconstruct this scan together: they sum images, and
/// what needs all samples in one place is left to one alone. Empty where nothing is missing.
struct MissingForGroup {
  std::string expected, found;
};
std::optional<MissingForGroup> missing_for_group(const Settings& settings, const Scan& scan, int size);
/// The same, as far as settings decide it.
std::optional<MissingForGroup> missing_for_group(const Settings& settings);
/// The prepared scan of a series: trajectory, matrix and maps of every volume.
const Scan& common_scan(const Preparation& preparation);
/// A further volume of the same object, matrix and coils at positions of its own: its coils mixed, and with the
/// maps and the matrix, as those of the preparation. For a Reconstructor with settings_of_prepared. Throws Error where
/// matrix or coils are others.
Scan prepared_alike(const Preparation& preparation, const Scan& volume, Precision precision);
/// `settings` for scans whose coils and matrix are prepared.
Settings settings_of_prepared(Settings settings);
/// What was done to find it, with its stages: of the first volume, not of all.
const Report& report_of(const Preparation& preparation);

/// One scan.
Reconstruction reconstruct(const Scan& scan, const Settings& settings = {}, const Execution& execution = {},
                           const Services& services = {}, const ProgressCallback& progress = {});

}  // namespace fhd

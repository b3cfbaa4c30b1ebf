#pragma once
// Volume after volume with the same settings, on one device: the work that `fhd recon` and `fhd batch` share.
#include <functional>
#include <optional>
#include <string>

#include "app/device_option.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd::app {

/// Those of the gridded image that is made beside what `settings` reconstruct; empty where that is not least
/// squares.
std::optional<Settings> companion_settings(const Settings& settings);

/// A volume, and what is beside it.
struct ReconResult {
  Reconstruction reconstruction;
  std::optional<Image> gridded;  ///< the conventional image of the same scan
};

/// Results carry an accuracy certificate. Where the user left the choice of the device, a GPU that fails
/// gives way to the CPU, for good.
class ReconEngine {
 public:
  /// `gridded_image`: whether the gridded image is made too, where the method is not gridded itself. The device
  /// of `execution` is the one that was chosen.
  ReconEngine(const Settings& settings, const Execution& execution, const ChosenDevice& device,
              std::shared_ptr<TrajectoryCache> cache, bool gridded_image);
  /// `on_fallback` hears, once, why the GPU was given up.
  ReconResult operator()(const Scan& scan, const ProgressCallback& progress,
                         const std::function<void(const std::string&)>& on_fallback);

 private:
  void make_reconstructors();
  Image companion_image(const Scan& scan, const ProgressCallback& progress, Report& report);
  std::vector<Stage> predicted_stages(const Scan& scan) const;

  Settings settings_;
  std::optional<Settings> companion_settings_;
  Execution execution_;
  Services services_;
  std::string gpu_name_;
  bool may_fall_back_;
  std::optional<Reconstructor> reconstructor_, companion_;
};

/// "certificate: F 3e-07, ..., asked 3e-05" in one line.
std::string certificate_line(const Certificate& certificate);

}  // namespace fhd::app

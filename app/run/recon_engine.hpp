#pragma once
// Volume after volume with the same settings, on one device: the work that `fhd recon` and `fhd batch` share;
// and their images as they come, with what is told of them.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/options.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/volume_reader.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/array/device_team.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/noise_map.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {

/// A volume, and what is beside it.
struct ReconResult {
  Reconstruction reconstruction;
  std::optional<Image> gridded;      ///< the conventional image of the same scan
  std::optional<NoiseMaps> noise{};  ///< where they are asked for
  /// On the matrix on which it was reconstructed; of a series, of its first volume. Where it is asked, or the
  /// stages can be predicted.
  std::optional<ScanSizes> sizes;
};

/// Whether a scan is looked at for gradient delays.
struct DelayCheck {
  std::size_t volume = 0;   ///< which volume, in the order of the results, stands for its scan
  bool are_sought = false;  ///< --trajectory-correction auto has done it
  bool is_sparing =
      false;  ///< only where the verdict leaves something, as in 3D: it takes tenths of a second
};

/// Results carry an accuracy certificate. Where the user left the choice of the device, a GPU that fails
/// gives way to the CPU, for good.
class ReconEngine {
 public:
  /// `gridded_image`: whether the gridded image is made too, where the method is not gridded itself. `tells_sizes`:
  /// whether ReconResult::sizes is asked. The device
  /// of `execution` is the one that was chosen. `team`: several devices, `device` the first of them, that share
  /// every scan that such a group can reconstruct, and the threads; null: there is one.
  ReconEngine(const Settings& settings, const Execution& execution, const ChosenDevice& device,
              std::shared_ptr<TrajectoryCache> cache, bool gridded_image, bool tells_sizes,
              std::shared_ptr<const DeviceTeam> team = nullptr);
  /// Volumes by themselves get maps of their noise from now on.
  void map_noise(std::optional<NoiseMapRequest> request) { noise_map_ = request; }
  /// Volume `check.volume` is looked at for gradient delays from now on, as `fhd check` does it; frames always
  /// are.
  void check_delays(const DelayCheck& check) { delay_check_ = check; }
  /// Where an image does not explain its data, the likeliest cause is not sought: it may take many seconds.
  void leave_causes_alone() { seeks_causes_ = false; }
  /// What is wrong with the scan as a whole, which the report of that volume, or of the first frame, tells.
  void warn(std::vector<std::string> of_scan) { scan_warnings_ = std::move(of_scan); }
  /// `on_fallback` hears, once, why the GPU was given up.
  ReconResult operator()(const Scan& scan, const ProgressCallback& progress,
                         const std::function<void(const std::string&)>& on_fallback);
  /// Volumes of one series, or one by itself, as VolumeReader::next gives them.
  std::vector<ReconResult> operator()(const std::vector<ReadVolume>& volumes,
                                      const ProgressCallback& progress,
                                      const std::function<void(const std::string&)>& on_fallback);
  /// A volume at other positions than those of the series, by its coils, matrix and maps (prepared_alike).
  ReconResult elsewhere(SliceSeries& series, const Scan& volume, const ProgressCallback& progress,
                        const std::function<void(const std::string&)>& on_fallback);
  /// Frames of a continuous acquisition: Reconstructor::reconstruct_frames.
  std::vector<ReconResult> frames(const Scan& scan, const FrameLayout& layout,
                                  const ProgressCallback& progress,
                                  const std::function<void(const std::string&)>& on_fallback);
  /// How many volumes of a series are taken together.
  std::int64_t volumes_at_once(SliceSeries& series);
  /// cost_text of `images` volumes of these sizes, or of so many in these frames.
  std::string cost_text_of(ScanSizes sizes, std::int64_t readout_length, std::int64_t images,
                           std::optional<FrameSizes> frames = {}) const;

 private:
  void make_reconstructors();
  void make_companion(Device device);
  Reconstruction reconstruct(const Scan& scan, const ProgressCallback& progress);
  /// The result of work(), which a thread of its own does where this one leads a GPU.
  template <class Work>
  auto beside(Work work) const;
  /// work(), on the CPU where the GPU fails and the user left the choice.
  template <class Work>
  auto with_fallback(const std::function<void(const std::string&)>& on_fallback, const Work& work);
  std::shared_ptr<const Preparation> preparation_of(SliceSeries& series);
  std::vector<ReconResult> series_results(const std::vector<ReadVolume>& volumes,
                                          const ProgressCallback& progress,
                                          const std::function<void(const std::string&)>& on_fallback);
  Image companion_image(const Scan& scan, const ProgressCallback& progress, Report& report);
  void add_noise_maps(const Scan& scan, const ProgressCallback& progress,
                      const std::function<void(const std::string&)>& on_fallback, ReconResult& result);
  std::vector<std::string> warnings_of(const Scan& scan) const;
  std::vector<std::string> warnings_of(const Scan& scan, SliceSeries& series) const;
  /// Of the volume that stands for its scan.
  void warn_of_scan(const Scan& scan, Report& report) const;
  void warn_of_delays(const Scan& scan, Report& report) const;
  /// `seeks`: whether the likeliest cause is sought.
  void suspect(const Scan& scan, bool seeks, Report& report) const;
  /// How one image is made, as far as it costs something.
  EstimateSettings estimate_settings(std::optional<FrameSizes> frames = {}) const;
  std::vector<Stage> predicted_stages(const ScanSizes& sizes, std::optional<FrameSizes> frames = {}) const;
  /// To the report of each frame its share of what is predicted of all.
  void predict_frames(const ScanSizes& sizes, const FrameLayout& layout,
                      std::vector<Reconstruction>& frames) const;
  /// Those that `fhd plan` has measured on this machine; empty elsewhere: measuring takes longer than a small scan.
  void read_rates();

  Settings settings_;
  std::optional<NoiseMapRequest> noise_map_;
  DelayCheck delay_check_;
  std::vector<std::string> scan_warnings_;
  std::optional<Settings> companion_settings_;
  Execution execution_;
  Services services_;
  std::string gpu_name_, fallback_;  ///< why the GPU was given up
  bool may_fall_back_, tells_sizes_, seeks_causes_ = true;
  std::optional<MachineRates> rates_, host_rates_;
  std::optional<Reconstructor> reconstructor_, companion_, of_prepared_;  ///< of_prepared_: for elsewhere()
  std::shared_ptr<const DeviceTeam> team_;
  std::vector<Reconstructor> of_rank_;  ///< of the team
};

/// What was found, and what to do.
std::string in_one_line(const Finding& finding);
/// "Q 0.12 s, conjugate gradient 0.08 s; 12 iterations, residual 1.0e-06, |F rho - d| / |d| = 0.043".
std::string solution_line(const Report& report);
/// "certificate: F 3e-07, ..., asked 3e-05" in one line.
std::string certificate_line(const Certificate& certificate);

}  // namespace fhd::app

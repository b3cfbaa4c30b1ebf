#pragma once
// Reconstructs volumes with the same settings on one device, and examines every image and its scan: for runs
// (scan_run.hpp), field maps of echoes and the server.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/options/devices.hpp"
#include "app/run/doubts.hpp"
#include "app/run/run_events.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/volume_reader.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/array/device_team.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/noise_map.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd::app {

/// An image and its companions.
struct ReconResult {
  Reconstruction reconstruction;
  std::optional<Image> gridded;      ///< the conventional image of the same scan
  std::optional<NoiseMaps> noise{};  ///< where they are asked for
};

/// Volumes that are reconstructed together.
struct VolumeGroup {
  std::vector<const Scan*> volumes;
  /// The series whose matrix, coils and maps they have; null: one volume by itself. A volume at other positions than those
  /// of the series is alone in its group.
  std::shared_ptr<SliceSeries> series{};
  bool begins_series = false;           ///< the report of the first volume has what was done once
  const FrameLayout* frames = nullptr;  ///< the readouts of the one volume are frames
  ScanChecks checks{};
  std::optional<std::size_t> checked{};  ///< the volume that stands for its scan and is checked; empty: none
  /// Volumes like these in the whole run, whose cost is reported as the text "planned"; 0: it is not.
  std::int64_t planned_volumes = 0;
  std::int64_t readout_length = 0;  ///< samples, for that cost; 0: not known

  /// Returns the group of what VolumeReader::next gave. Volume `standing_for_scan` of the results is checked.
  static VolumeGroup of(const std::vector<ReadVolume>& read, const ScanChecks& checks,
                        std::size_t standing_for_scan);
};

struct EngineOptions {
  bool gridded_image = false;     ///< the gridded image is made too, where the method is not gridded itself
  bool seeks_causes = true;       ///< of data that the image does not explain; this may take many seconds
  std::optional<NoiseMapRequest> noise_map{};  ///< of volumes by themselves
};

class ReconEngine {
 public:
  /// Where the user left the choice of `device`, a GPU that fails gives way to the CPU, for good. `team`: several devices,
  /// `device` the first of them, that share the threads and every scan that such a group can reconstruct; null: one.
  ReconEngine(const Settings& settings, const Execution& execution, const ChosenDevice& device,
              std::shared_ptr<TrajectoryCache> cache, const EngineOptions& options,
              std::shared_ptr<const DeviceTeam> team = nullptr);
  /// Returns the images of the volumes, or frames, with an accuracy certificate each. Throws Error.
  std::vector<ReconResult> operator()(const VolumeGroup& group, const RunEvents& events);
  /// Returns how many volumes of a series are reconstructed together.
  std::int64_t volumes_at_once(SliceSeries& series);

 private:
  void make_reconstructors();
  void make_companion(Device device);
  std::vector<Reconstruction> reconstructions_of(const VolumeGroup& group, const ProgressCallback& progress);
  Reconstruction by_team(const Scan& scan, const ProgressCallback& progress);
  template <class Work>
  auto on_host(Work work) const;
  template <class Work>
  auto with_fallback(const RunEvents& events, const Work& work);
  std::shared_ptr<const Preparation> preparation_of(SliceSeries& series);
  std::array<int, 3> matrix_used(const VolumeGroup& group, const Reconstruction& made);
  Image companion_image(const Scan& scan, const ProgressCallback& progress, Report& report);
  void add_companions(const Scan& scan, const RunEvents& events, ReconResult& result);
  void add_noise_maps(const Scan& scan, const RunEvents& events, ReconResult& result);
  bool can_predict(const VolumeGroup& group) const;
  std::optional<ScanSizes> sizes_of_group(const VolumeGroup& group) const;
  EstimateSettings estimate_settings(const VolumeGroup& group) const;
  void report_cost(ScanSizes sizes, const VolumeGroup& group, const RunEvents& events) const;
  void predict_stages(const ScanSizes& sizes, const VolumeGroup& group,
                      std::vector<ReconResult>& results) const;
  void read_rates();

  Settings settings_;
  EngineOptions options_;
  std::optional<Settings> companion_settings_;
  Execution execution_;
  Services services_;
  std::string gpu_name_, fallback_;  ///< why the GPU was given up
  bool may_fall_back_;
  std::optional<MachineRates> rates_, host_rates_;  ///< as `fhd plan` has measured them on this machine
  std::optional<Reconstructor> reconstructor_, companion_;
  std::shared_ptr<const DeviceTeam> team_;
  std::vector<Reconstructor> of_rank_;  ///< of the team
};

}  // namespace fhd::app

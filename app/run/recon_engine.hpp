#pragma once
// Reconstructs volumes with the same settings on one device, and examines every image and its scan: for runs
// (scan_run.hpp), field maps of echoes and the server.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/options/devices.hpp"
#include "app/run/volume_reader.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/array/device_team.hpp"
#include "recon/pipeline/noise_map.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {

class ScanResults;

/// Functions by which a run reports what it does. The terminal, a worker of a batch and Python differ in them alone; each may
/// be empty. A run calls one of them at a time.
struct RunEvents {
  ProgressCallback progress{};  ///< of one image; not called while several are made concurrently
  /// The GPU failed for this reason, and the CPU goes on.
  std::function<void(const std::string& reason)> on_fallback = [](const auto&) {};
  /// A line of text: "frames" or "note", and what it says.
  std::function<void(const char* what, const std::string& text)> on_text = [](const auto&, const auto&) {};
  /// An image was added to the results; `index` is its place there.
  std::function<void(std::size_t index, const Report&, const ScanResults&)> on_image{};
};

/// An image and its companions.
struct ReconResult {
  explicit ReconResult(Reconstruction made) : reconstruction(std::move(made)) {}
  Reconstruction reconstruction;   ///< with the gridded image where it is asked for
  std::optional<NoiseMaps> noise;  ///< where they are asked for
};

/// Checks that are made once for a scan, in the volume that stands for it.
struct ScanChecks {
  bool delays_are_corrected = false;  ///< --trajectory-correction auto has sought gradient delays
  bool is_corrected = false;  ///< readouts or coils were left out, k scaled or delayed, as the user gave it
  /// Gradient delays are sought in 3D, which takes tenths of a second, only where the verdict leaves something open.
  bool is_sparing = false;
  std::vector<Message> warnings{};  ///< of the scan as a whole, known before
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
};

struct EngineOptions {
  bool gridded_image = false;  ///< the gridded image is made too, where the method is not gridded itself
  bool seeks_causes = true;    ///< of data that the image does not explain; this may take many seconds
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
  std::vector<Reconstruction> reconstructions_of(const VolumeGroup& group, const ProgressCallback& progress);
  Reconstruction by_team(const Scan& scan, const ProgressCallback& progress);
  template <class Work>
  auto with_fallback(const RunEvents& events, const Work& work);
  std::shared_ptr<const Preparation> preparation_of(SliceSeries& series);
  Image companion_image(const Scan& scan, const ProgressCallback& progress, Report& report);
  void add_noise_maps(const Scan& scan, const RunEvents& events, ReconResult& result);

  Settings settings_;
  EngineOptions options_;
  std::optional<Settings> companion_settings_;
  Execution execution_;
  Services services_;
  std::string fallback_;  ///< why the GPU was given up
  bool may_fall_back_;
  std::optional<Reconstructor> reconstructor_, companion_;
  std::shared_ptr<const DeviceTeam> team_;
  std::vector<Reconstructor> of_rank_;         ///< of the team
  std::optional<SampledPositions> positions_;  ///< of the last scan: the next one often has the same
};

}  // namespace fhd::app

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
#include "io/result/results.hpp"
#include "io/result/series_folder.hpp"
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
  /// A volume at other positions than those of the series, by its coils, matrix and maps.
  ReconResult elsewhere(SliceSeries& series, const Scan& volume, const ProgressCallback& progress,
                        const std::function<void(const std::string&)>& on_fallback);
  /// Frames of a continuous acquisition: Reconstructor.
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
  std::optional<Reconstructor> reconstructor_, companion_;
  std::shared_ptr<const DeviceTeam> team_;
  std::vector<Reconstructor> of_rank_;  ///< of the team
};

/// The images of one scan.
class ScanResults {
 public:
  /// `path`: as the user gave it. Throws Error when the selection is not of this scan.
  ScanResults(const std::string& path, const io::ScanSummary& summary, const VolumeSelection& selection,
              std::string command_line);
  /// The same, unless a format in which they are written has no room for them: then Error, before there are lists of
  /// volumes.
  static ScanResults with_room(const std::string& path, const io::ScanSummary& summary,
                               const VolumeSelection& selection, std::string command_line) {
    require_room(summary, selection, path);
    return {path, summary, selection, std::move(command_line)};
  }
  /// Of the scan; before write(). Throws Error where it is not that of the scan that was opened.
  void set_checksum(std::string checksum) {
    provenance_.input_checksum = std::move(checksum);
    stamps_.require_unchanged();
  }
  /// Those selected, in the order of the results.
  const std::vector<VolumeNumber>& volumes() const { return volumes_; }
  /// The repetitions are frames of this layout, that of the next slice.
  void add_frames(const FrameLayout& layout);
  void set_devices(const std::vector<ChosenDevice>& devices) {
    provenance_.environment = environment_of(devices), host_ = text_of(devices);
  }
  const std::string& host() const { return host_; }
  /// Volumes are kept in a folder, from now on, instead of in memory; `on_earlier` hears of the report of each that it
  /// holds from an earlier run, as far as a summary needs it.
  void keep_in(std::shared_ptr<io::SeriesFolder> folder,
               const std::function<void(const Report&)>& on_earlier);
  /// Whether an earlier run has left the volume.
  bool holds(std::size_t number) const { return folder_ && folder_->holds(number); }
  /// Of volume `number`, in any order.
  void add(std::size_t number, ReconResult made);
  const std::string& path() const { return provenance_.input_path; }
  /// The scan, and the files that pieces of it came from.
  std::vector<std::string> inputs() const;
  /// How many maps of noise are written: those of io::noise_endings that are defined.
  std::size_t noise_map_count() const {
    return !companions_.noise ? 0 : companions_.noise->g_factor.empty() ? 2 : 3;
  }
  /// The one that `fhd check` looks at for what is the same in all.
  std::size_t standing_for_scan() const { return static_cast<std::size_t>(series_.slice_count / 2); }
  /// Of all volumes, where they are in memory.
  const std::vector<Report>& reports() const { return provenance_.reports; }
  /// After the last volume: what is wrong with their positions goes to the notes of the first, and is
  /// returned; empty where nothing is.
  std::string note_positions();
  /// With `strict`, throws Error where a report holds a suspicion or a warning.
  void require_trust(bool strict) const;
  /// Throws Error where a format in which they are written has no room for them. Before the work; `matrix_size`: of the
  /// scan.
  void require_room(const std::array<int, 3>& matrix_size) const {
    io::require_room(matrix_size, series_.slice_count, series_.repetition_count, path());
  }
  /// The same before there are any: of the volumes selected, from this path.
  static void require_room(const io::ScanSummary& summary, const VolumeSelection& selection,
                           const std::string& path) {
    io::require_room(summary.geometry.matrix_size,
                     selected_count(selection.slices, summary.slice_count, "--slices"),
                     selected_count(selection.repetitions, summary.repetition_count, "--repetitions"), path);
  }
  /// To be written with the others.
  void add_dicom(const std::string& folder) { companions_.dicom = {folder, acquisition_, echo_times_s_}; }
  void add_ismrmrd_images(const std::string& path) { companions_.ismrmrd_images = path; }
  /// What stands for a patient that the scan does not name, where a DICOM series is written; else empty.
  std::string note_of_patient() const;
  /// OUT.h5, ..., for the holder of the lock of `prefix`: see io::write_results.
  void write(const io::OutputLock& lock, const std::string& prefix, bool with_phase,
             std::optional<int> compression_level);
  /// What the scan file calls a volume, beside others of the results: "contrast 1"; empty where it does not.
  std::string name_of(std::size_t number) const;
  const io::Provenance& provenance() const { return provenance_; }
  /// Images in memory, before and after they are written; those of the gridded series may be none.
  const io::ImageSeries& series() const { return series_; }
  const io::ImageSeries& gridded() const { return companions_.gridded ? *companions_.gridded : gridded_; }
  const io::CompanionResults& companions() const { return companions_; }

 private:
  void note_doubt(std::size_t number, const Report& report);

  std::vector<VolumeNumber> volumes_;
  io::ImageSeries series_, gridded_;
  io::CompanionResults companions_;
  io::Provenance provenance_;
  std::shared_ptr<io::SeriesFolder> folder_;
  std::string host_, earlier_run_;
  std::vector<std::string> further_notes_;  ///< of the first volume, beside those in the folder
  std::optional<std::pair<std::size_t, std::string>> doubt_;  ///< of the first volume with one
  io::InputStamps stamps_;
  io::AcquisitionInfo acquisition_;
  std::vector<double> echo_times_s_;
};

/// What was found, and what to do.
std::string in_one_line(const Finding& finding);
/// "Q 0.12 s, conjugate gradient 0.08 s; 12 iterations, residual 1.0e-06, |F rho - d| / |d| = 0.043".
std::string solution_line(const Report& report);
/// "certificate: F 3e-07, ..., asked 3e-05" in one line.
std::string certificate_line(const Certificate& certificate);

}  // namespace fhd::app

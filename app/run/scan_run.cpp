#include "app/run/scan_run.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "app/run/corrected_scan.hpp"
#include "app/run/concurrently.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/decisions.hpp"

namespace fhd::app {

RunSettings::RunSettings(RunOptions of)
    : options(std::move(of)),
      settings(options.settings()),
      correction(options.correction),
      field_map(options.field_map) {
  options.read_options.precision = settings.precision;
  if (options.frames.asks() && options.device.names_several())
    throw Error("--frames, --spokes-per-frame and --gate", "one device", "--device " + options.device.text(),
                "use --device cuda, or cuda:N");
}

namespace {

/// Returns the repetition whose readouts are frames. Throws Error unless one repetition and slices of the scan are chosen.
std::int64_t repetition_of_frames(const io::ScanSummary& summary, const VolumeSelection& selection) {
  const auto repetitions = parse_selection(selection.repetitions, summary.repetition_count, "--repetitions");
  FrameOptions::require_one(repetitions);
  parse_selection(selection.slices, summary.slice_count, "--slices");
  return repetitions.front();
}

}  // namespace

std::unique_ptr<ScanRun> open_run(std::unique_ptr<io::ScanFile> file, const std::string& path,
                                  std::shared_ptr<const RunSettings> settings,
                                  const std::string& command_line) {
  const RunOptions& options = settings->options;
  const bool frames = options.frames.asks();
  file = with_trajectory_correction(std::move(file), settings->correction,
                                    frames ? BeyondMatrix::columns : BeyondMatrix::samples);
  if (settings->field_map == FieldMapChoice::off) file = with_field_map(std::move(file), {});
  if (frames) repetition_of_frames(file->summary(), options.selection);
  ScanResults results(path, file->summary(), options.selection, command_line);
  if (!frames) results.require_room(request_of(options, path), file->summary().geometry);
  options.noise_map.require_alone(results.volumes().size(), 1);
  const bool lacks_field_map = settings->field_map == FieldMapChoice::from_echoes;
  const auto takes_series = [settings](const Scan& volume) {
    return fhd::takes_series(settings->settings, {}, volume) && !settings->options.noise_map.given();
  };
  return std::make_unique<ScanRun>(
      ScanRun{std::move(settings), std::move(file), std::move(results), lacks_field_map, takes_series});
}

void start_reading(ScanRun& run) {
  run.reader.reset();  // one at a time has the file
  if (run.lacks_field_map) return;
  if (least_squares(run.settings->settings))
    if (const auto found = diagnose_echoes(*run.file)) run.scan_warnings = {*found};
  if (run.settings->options.frames.asks()) return;
  run.reader = std::make_unique<VolumeReader>(
      *run.file, run.results.volumes(), run.takes_series,
      [&results = run.results](std::size_t number) { return results.holds(number); });
}

// --- Engines

bool shares_volumes(const ScanRun& run, const std::vector<ChosenDevice>& devices) {
  const auto volumes = run.results.volumes().size();
  if (devices.size() == 1) return false;
  return volumes == 1 || (volumes < devices.size() &&
                          run.file->summary().geometry.voxel_count() > voxels_of_small_volume &&
                          !conflict_among(features_of(run.settings->settings).with(Feature::several_processes)));
}

std::unique_ptr<ReconEngine> make_engine(const RunSettings& settings, const ChosenDevice& device,
                                         const Execution& execution,
                                         std::shared_ptr<const DeviceTeam> team) {
  const bool has_gridded = execution.processes->rank() == 0 && !settings.options.no_gridded_image;
  const EngineOptions options{has_gridded, /*seeks_causes=*/true, settings.options.noise_map.request()};
  return std::make_unique<ReconEngine>(settings.settings, execution, device,
                                       settings.options.trajectory_cache(), options, std::move(team));
}

namespace {

/// Returns how many engines work concurrently (concurrent_volumes): as many on every device, and at most as many as
/// there are volumes.
int engine_count(const ScanRun& run, const std::vector<ChosenDevice>& devices) {
  const auto device_count = static_cast<std::int64_t>(devices.size()),
             all = static_cast<std::int64_t>(run.results.volumes().size());
  const auto engines = concurrent_volumes(
      devices.front().device, (all + device_count - 1) / device_count,
      run.file->summary().geometry.voxel_count(), omp_get_max_threads() / device_count);
  return static_cast<int>(
      std::clamp<std::int64_t>(engines * device_count, 1, std::max<std::int64_t>(all, 1)));
}

}  // namespace

RunEngines engines_of(const ScanRun& run, std::vector<ChosenDevice> devices, const Execution& execution) {
  RunEngines engines{std::move(devices), {}};
  std::shared_ptr<const DeviceTeam> team;
  if (shares_volumes(run, engines.devices)) team = team_of(engines.devices);
  engines.is_team = team != nullptr;
  const bool is_alone = team || execution.processes->is_shared() || run.settings->options.frames.asks();
  if (!is_alone) engines.count = engine_count(run, engines.devices);
  engines.make = [settings = run.settings, execution, team](const ChosenDevice& device, int threads) {
    Execution own = execution;
    own.threads = threads;
    return make_engine(*settings, device, own, team);
  };
  return engines;
}

// --- Volumes

namespace {

/// Returns what is checked once for the scan.
ScanChecks checks_of(const ScanRun& run) {
  return {run.settings->correction.kind == TrajectoryCorrection::Kind::automatic, run.settings->is_sparing,
          run.scan_warnings};
}

/// Adds an image, and `note` to the report of the first one, to the results.
void add_image(ScanRun& run, std::size_t number, ReconResult made, const RunEvents& events,
               const std::string& note) {
  auto& report = made.reconstruction.report;
  if (number == 0 && !note.empty()) report.messages.push_back({"device", Severity::note, note});
  const Report copy = events.on_image ? report : Report{};
  run.results.add(number, std::move(made));
  if (events.on_image) events.on_image(number, copy, run.results);
}

class VolumesOfRun {
 public:
  VolumesOfRun(ScanRun& run, const RunEngines& engines, const RunEvents& events, const std::string& note)
      : run_(run), engines_(engines), events_(events), note_(note), total_(run.results.volumes().size()) {}

  void reconstruct() {
    const auto left = total_ - run_.results.earlier_count();
    if (left == 0) return;
    run_concurrently(static_cast<int>(std::min<std::size_t>(engines_.count, left)), [&](const auto& goes_on) {
      // Each engine has as many threads as without an earlier run: the images are the same to the last bit.
      const ThreadLimit share(std::max(1, omp_get_max_threads() / engines_.count));
      const auto& device = engines_.devices[started_++ % engines_.devices.size()];
      const CurrentDevice current(device.device);
      const auto engine = engines_.make(device, omp_get_max_threads());
      reconstruct_by(*engine, goes_on);
    });
  }

 private:
  template <class GoesOn>
  void reconstruct_by(ReconEngine& engine, const GoesOn& goes_on) {
    // Where several devices share a series, no engine takes so many volumes that another has nothing to do.
    const auto share = static_cast<std::size_t>(engines_.devices.size() == 1 || engines_.is_team ? 1 : engines_.count);
    const auto most = static_cast<std::int64_t>((total_ + share - 1) / share);
    const auto at_once = [&](SliceSeries& series) { return std::min(engine.volumes_at_once(series), most); };
    RunEvents events;
    if (engines_.count == 1) events.progress = events_.progress;
    events.on_fallback = [&](const std::string& reason) {
      const std::lock_guard lock(mutex_);
      events_.fallback(reason);
    };
    events.on_text = [&](const char* what, const std::string& text) {
      const std::lock_guard lock(mutex_);
      events_.text(what, text);
    };
    const auto checks = checks_of(run_);
    while (goes_on()) {
      const auto volumes = run_.reader->next(at_once);
      if (volumes.empty()) break;
      auto group = VolumeGroup::of(volumes, checks, run_.results.standing_for_scan());
      const bool has_sizes = !group.series || group.begins_series;
      if (has_sizes && wants_cost_.exchange(false)) {
        group.planned_volumes = static_cast<std::int64_t>(total_);
        group.readout_length = run_.file->summary().readout_length;
      }
      auto made = engine(group, events);
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < made.size(); ++i)
        add_image(run_, volumes[i].number, std::move(made[i]), events_, note_);
    }
  }

  ScanRun& run_;
  const RunEngines& engines_;
  const RunEvents& events_;
  const std::string& note_;
  const std::size_t total_;
  std::mutex mutex_;  // of events and results
  std::atomic<std::size_t> started_ = 0;
  std::atomic<bool> wants_cost_ = events_.wants_cost && !engines_.is_team;
};

// --- Frames

std::string frames_line(const FrameLayout& layout, double frame_time_s) {
  std::string line = fmt::format("{} of {} readouts", layout.frames, layout.readouts_per_frame);
  if (layout.gate)
    line += ", bins by " + layout.gate->source;
  else if (layout.step < layout.readouts_per_frame)
    line += fmt::format(", {} on from each to the next", layout.step);
  if (!layout.gate)
    line += frame_time_s > 0 ? fmt::format(", {:.3g} s apart if every readout takes one TR", frame_time_s)
                             : ", at times that the scan does not tell (no TR)";
  if (layout.unused() > 0)
    line += fmt::format("; the last {} of {} readouts are in no frame", layout.unused(), layout.readouts);
  return line;
}

/// Makes the results those of frames of this layout, once it is known from the first slice.
void begin_frames(ScanRun& run, const FrameLayout& layout, const RunEvents& events) {
  const auto& summary = run.file->summary();
  const bool follow_evenly = !layout.gate && doubt_of_gaps(layout).empty();
  const double frame_time_s =
      follow_evenly ? summary.readout_time_s * static_cast<double>(layout.step) : 0;
  run.results.take_frames(layout.frames, frame_time_s);
  run.results.add_pieces(run.settings->options.frames.files());
  run.results.require_room(request_of(run.settings->options, run.results.path()), summary.geometry);
  events.text("frames", frames_line(layout, frame_time_s));
}

/// Reconstructs the frames of every slice by one engine: the results become [frame][slice]. Throws Error, also where slices
/// differ in their readouts.
void reconstruct_frames(ScanRun& run, const RunEngines& engines, const RunEvents& events,
                        const std::string& note) {
  const RunOptions& options = run.settings->options;
  const auto repetition = repetition_of_frames(run.file->summary(), options.selection);
  const auto slices = parse_selection(options.selection.slices, run.file->summary().slice_count, "--slices");
  const CurrentDevice current(engines.devices.front().device);
  const auto engine = engines.make(engines.devices.front(), 0);
  std::int64_t readouts = 0;
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    const Scan volume = run.file->read(slices[slice], repetition);
    const auto layout = options.frames.layout_of(volume, run.file->summary());  // certain once samples are read
    if (slice == 0) {
      readouts = layout.readouts;
      begin_frames(run, layout, events);
    }
    if (layout.readouts != readouts)
      throw Error(fmt::format("{}, slice {}", run.results.path(), slices[slice]),
                  fmt::format("{} readouts, as in the first", readouts), std::to_string(layout.readouts),
                  "take slices by themselves: --slices");
    run.results.add_frames(layout);
    VolumeGroup group{{&volume}, nullptr, false, &layout, checks_of(run), 0};
    if (slice == 0 && events.wants_cost) group.planned_volumes = static_cast<std::int64_t>(slices.size());
    group.readout_length = layout.readout_length;
    auto made = (*engine)(group, events);
    for (std::size_t frame = 0; frame < made.size(); ++frame)
      add_image(run, frame * slices.size() + slice, std::move(made[frame]), events, note);
  }
}

}  // namespace

void reconstruct(ScanRun& run, const RunEngines& engines, const RunEvents& events, const std::string& note) {
  run.results.set_devices(engines.devices);
  if (run.lacks_field_map) {
    auto found = found_field_map(*run.file, run.settings->settings, engines.devices.front(),
                                 run.settings->options.trajectory_cache(), events);
    run.file = with_field_map(std::move(run.file), std::move(found));
    run.lacks_field_map = false;
    start_reading(run);
  }
  if (run.settings->options.frames.asks())
    reconstruct_frames(run, engines, events, note);
  else
    VolumesOfRun(run, engines, events, note).reconstruct();
  run.reader.reset();
  if (const auto positions = run.results.note_positions(); !positions.empty()) events.text("note", positions);
}

// --- Files

io::ResultRequest request_of(const RunOptions& options, const std::string& prefix) {
  io::ResultRequest request(prefix);
  if (options.phase) request.add("phase");
  if (options.noise_map.given()) request.add_noise_maps();
  if (options.dicom || !options.dicom_folder.empty()) request.add("dicom", options.dicom_folder);
  if (options.ismrmrd_images || !options.ismrmrd_images_file.empty())
    request.add("ismrmrd", options.ismrmrd_images_file);
  return request;
}

void require_writable(const RunOptions& options, const std::string& prefix,
                      const std::vector<std::string>& inputs) {
  io::check_writable(request_of(options, prefix), inputs);
}

void require_replaceable(const ScanRun& run, const std::string& prefix,
                         const io::ChecksumInBackground& checksum, bool force) {
  io::require_replaceable(request_of(run.settings->options, prefix), run.results.path(), checksum,
                          {.force = force});
}

std::vector<std::string> write_results(ScanRun& run, const io::OutputLock& lock, const std::string& prefix) {
  const RunOptions& options = run.settings->options;
  return run.results.write(lock, request_of(options, prefix), options.compression);
}

}  // namespace fhd::app

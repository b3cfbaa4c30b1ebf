#include "app/run/scan_run.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "app/commands/commands.hpp"
#include "app/run/corrections.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/series_maps.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/processes.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/decisions.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {

RunSettings::RunSettings(RunOptions of) : options(std::move(of)), settings(options.settings()) {
  options.read_options.precision = settings.precision;
  if (options.frames.asks() && options.device.names_several())
    throw Error(
        option_words("frames") + ", " + option_words("spokes-per-frame") + " and " + option_words("gate"),
        "one device", option_words("device", options.device.name),
        "use " + option_words("device", "cuda") + ", or cuda:N");
}

std::unique_ptr<ScanRun> open_run(std::unique_ptr<io::ScanFile> file, const std::string& path,
                                  std::shared_ptr<const RunSettings> settings,
                                  const std::string& command_line) {
  const RunOptions& options = settings->options;
  const bool frames = options.frames.asks();
  correct_readouts({file.get()}, options.correction, frames ? BeyondMatrix::columns : BeyondMatrix::samples);
  if (options.field_map == FieldMapChoice::off) set_field_map(*file, {});
  if (!frames) take_maps_from_series(*file, options.maps_from, settings->settings);
  ScanResults results(path, file->summary(), options.selection, command_line);
  if (frames)
    FrameOptions::require_one(results.provenance().repetitions);
  else
    results.require_room(request_of(options, path));
  options.require_noise_map_of_one(results.volumes().size());
  const bool lacks_field_map = options.field_map == FieldMapChoice::from_echoes;
  const auto takes_series = [settings](const Scan& volume) {
    return fhd::takes_series(settings->settings, {}, volume) && !settings->options.noise_map;
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
  return volumes == 1 ||
         (volumes < devices.size() && run.file->summary().geometry.voxel_count() > voxels_of_small_volume &&
          !conflict_among(features_of(run.settings->settings).with(Feature::several_processes)));
}

Estimate estimate_of(const ScanRun& run, Device device, bool images_wait_in_memory) {
  const RunOptions& options = run.settings->options;
  const auto& summary = run.file->summary();
  ScanSizes sizes = header_sizes(summary);
  const bool in_double = run.settings->settings.precision == Precision::double_precision;
  sizes.in_double = in_double && summary.format == "fhd";  // the others hold single precision
  sizes.has_field_map = sizes.has_field_map || run.lacks_field_map;
  EstimateSettings how{run.settings->settings, device};
  how.images = static_cast<std::int64_t>(run.results.volumes().size());
  how.images_wait_in_memory = images_wait_in_memory;
  if (options.noise_map) how.noise_replicas = options.noise_map->replicas;
  if (options.frames.asks())
    how.frames = options.frames.sizes(summary.samples_per_scan, summary.readout_length);
  else
    sizes.calibration_samples = most_samples_of_series(summary, options.maps_from, how.settings);
  how.companion = least_squares(how.settings) && !options.no_gridded_image;
  return estimate(sizes, how);
}

std::unique_ptr<ReconEngine> make_engine(const RunSettings& settings, const ChosenDevice& device,
                                         const Execution& execution, std::shared_ptr<const DeviceTeam> team) {
  const bool has_gridded = execution.processes->rank() == 0 && !settings.options.no_gridded_image;
  const EngineOptions options{has_gridded, /*seeks_causes=*/true, settings.options.noise_map};
  return std::make_unique<ReconEngine>(settings.settings, execution, device,
                                       settings.options.trajectory_cache(), options, std::move(team));
}

RunEngines engines_of(const ScanRun& run, std::vector<ChosenDevice> devices, const Execution& execution) {
  RunEngines engines{std::move(devices), {}};
  const auto& all = engines.devices;
  std::shared_ptr<const DeviceTeam> team;
  if (shares_volumes(run, all)) team = team_of(all);
  engines.is_team = team != nullptr;
  if (!team && !execution.processes->is_shared() && !run.settings->options.frames.asks()) {
    // Each device gets the same number of engines; there are at most as many as volumes.
    const auto device_count = static_cast<std::int64_t>(all.size()),
               volumes = static_cast<std::int64_t>(run.results.volumes().size());
    const auto of_device =
        concurrent_volumes(all.front().device, (volumes + device_count - 1) / device_count,
                           run.file->summary().geometry.voxel_count(), omp_get_max_threads() / device_count);
    engines.count = static_cast<int>(
        std::clamp<std::int64_t>(of_device * device_count, 1, std::max<std::int64_t>(volumes, 1)));
  }
  engines.make = [settings = run.settings, execution, team](const ChosenDevice& device, int threads) {
    Execution own = execution;
    own.threads = threads;
    return make_engine(*settings, device, own, team);
  };
  return engines;
}

// --- Volumes

namespace {

/// Calls work(goes_on) in `count` threads, one of which is the caller's; goes_on() is false once one of them has thrown.
/// Throws what one threw when all have ended. Works with fewer threads where the system gives no more.
template <class Work>
void run_concurrently(int count, const Work& work) {
  std::atomic<bool> failed = false;
  const auto guarded = [&] {
    try {
      work([&] { return !failed; });
    } catch (...) {
      failed = true;
      throw;
    }
  };
  std::vector<std::future<void>> all;
  for (int i = 1; i < count; ++i)
    all.push_back(std::async(std::launch::async | std::launch::deferred, guarded));
  all.push_back(std::async(std::launch::deferred, guarded));
  all.back().wait();
  for (auto& one : all) one.wait();
  for (auto& one : all) one.get();
}

/// Returns what is checked once for the scan.
ScanChecks checks_of(const ScanRun& run) {
  const auto& correction = run.settings->options.correction;
  return {correction.delays == ReadoutCorrection::Delays::automatic, correction.is_given(),
          run.settings->is_sparing, run.scan_warnings};
}

/// Adds images, and `note` to the report of the first one, to the results. Threads store them side by side; events are in
/// order.
void add_images(ScanRun& run, const std::vector<std::size_t>& numbers, std::vector<ReconResult> made,
                const RunEvents& events, const std::string& note) {
  std::vector<Report> reports;
  for (std::size_t i = 0; i < made.size(); ++i) {
    auto& report = made[i].reconstruction.report;
    if (numbers[i] == 0 && !note.empty()) report.messages.push_back({"device", Severity::note, note});
    if (events.on_image) reports.push_back(report);
  }
  for_each_in_parallel(made.size(), [&](std::size_t i) { run.results.add(numbers[i], std::move(made[i])); });
  for (std::size_t i = 0; i < reports.size(); ++i) events.on_image(numbers[i], reports[i], run.results);
}

void reconstruct_volumes(ScanRun& run, const RunEngines& engines, const RunEvents& events,
                         const std::string& note) {
  const auto total = run.results.volumes().size(), left = total - run.results.finished_count();
  if (left == 0) return;
  // Where several devices share a series, no engine takes so many volumes that another has nothing to do.
  const auto share =
      static_cast<std::size_t>(engines.devices.size() == 1 || engines.is_team ? 1 : engines.count);
  const auto most = static_cast<std::int64_t>((total + share - 1) / share);
  const auto checks = checks_of(run);
  std::mutex mutex;  // of events
  RunEvents locked;
  if (engines.count == 1) locked.progress = events.progress;
  locked.on_fallback = [&](const std::string& reason) {
    const std::lock_guard lock(mutex);
    events.on_fallback(reason);
  };
  if (events.on_image)
    locked.on_image = [&](auto&&... image) {
      const std::lock_guard lock(mutex);
      events.on_image(image...);
    };
  std::atomic<std::size_t> started = 0;
  run_concurrently(static_cast<int>(std::min<std::size_t>(engines.count, left)), [&](const auto& goes_on) {
    // Each engine has as many threads as without an earlier run: the images are the same to the last bit.
    const ThreadLimit limit(std::max(1, omp_get_max_threads() / engines.count));
    const auto& device = engines.devices[started++ % engines.devices.size()];
    const CurrentDevice current(device.device);
    const auto engine = engines.make(device, omp_get_max_threads());
    const auto at_once = [&](SliceSeries& series) { return std::min(engine->volumes_at_once(series), most); };
    while (goes_on()) {
      const auto volumes = run.reader->next(at_once);
      if (volumes.empty()) break;
      VolumeGroup group{{}, volumes.front().series, volumes.front().is_first, nullptr, checks, {}};
      std::vector<std::size_t> numbers;
      for (const auto& volume : volumes) {
        if (volume.number == run.results.standing_for_scan()) group.checked = group.volumes.size();
        group.volumes.push_back(&volume.scan);
        numbers.push_back(volume.number);
      }
      add_images(run, numbers, (*engine)(group, locked), locked, note);
    }
  });
}

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
  const double frame_time_s = follow_evenly ? summary.readout_time_s * static_cast<double>(layout.step) : 0;
  run.results.take_frames(layout.frames, frame_time_s);
  run.results.add_pieces(run.settings->options.frames.files());
  run.results.require_room(request_of(run.settings->options, run.results.path()));
  events.on_text("frames", frames_line(layout, frame_time_s));
}

/// Reconstructs the frames of every slice by one engine: the results become [frame][slice]. Throws Error, also where slices
/// differ in their readouts.
void reconstruct_frames(ScanRun& run, const RunEngines& engines, const RunEvents& events,
                        const std::string& note) {
  const RunOptions& options = run.settings->options;
  // The options decide: the results of a run that is done again count frames already.
  const auto repetition =
      parse_selection(options.selection.repetitions, run.file->summary().repetition_count, "--repetitions")
          .front();
  const auto slices = run.results.provenance().slices;
  const CurrentDevice current(engines.devices.front().device);
  const auto engine = engines.make(engines.devices.front(), 0);
  std::int64_t readouts = 0;
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    const Scan volume = run.file->read(slices[slice], repetition);
    const auto layout =
        options.frames.layout_of(volume, run.file->summary());  // certain once samples are read
    if (slice == 0) {
      readouts = layout.readouts;
      begin_frames(run, layout, events);
    }
    if (layout.readouts != readouts)
      throw Error(fmt::format("{}, slice {}", run.results.path(), slices[slice]),
                  fmt::format("{} readouts, as in the first", readouts), std::to_string(layout.readouts),
                  "take slices by themselves: " + option_words("slices"));
    run.results.add_frames(layout);
    auto made = (*engine)({{&volume}, nullptr, false, &layout, checks_of(run), 0}, events);
    std::vector<std::size_t> numbers;
    for (std::size_t frame = 0; frame < made.size(); ++frame)
      numbers.push_back(frame * slices.size() + slice);
    add_images(run, numbers, std::move(made), events, note);
  }
}

}  // namespace

void reconstruct(ScanRun& run, const RunEngines& engines, const RunEvents& events, const std::string& note) {
  run.results.set_devices(engines.devices);
  if (run.lacks_field_map) {
    set_field_map(*run.file, found_field_map(*run.file, run.settings->settings, engines.devices.front(),
                                             run.settings->options.trajectory_cache(), events));
    run.lacks_field_map = false;
    start_reading(run);
  }
  if (run.settings->options.frames.asks())
    reconstruct_frames(run, engines, events, note);
  else
    reconstruct_volumes(run, engines, events, note);
  run.reader.reset();
  if (const auto positions = run.results.note_positions(); !positions.empty())
    events.on_text("note", positions);
}

// --- Devices and processes

namespace {

/// Returns whether the CPU, solving once by squares, is done before a GPU has started, which takes about 0.3 s
/// (validation/results/2026-11-23-h200.md): its threads go through so many pairs of voxels and samples in a fraction of
/// that.
bool is_small_work(const io::ScanSummary& summary, std::int64_t images) {
  constexpr double pairs_of_thread = 2e9, most_pairs = 1e10;
  const double pairs = static_cast<double>(summary.geometry.voxel_count()) *
                       static_cast<double>(summary.samples_per_scan) *
                       static_cast<double>(summary.coil_count) * static_cast<double>(images);
  return pairs <= std::min(pairs_of_thread * omp_get_max_threads(), most_pairs);
}

bool solves_once(const RunSettings& settings) {
  const LeastSquares* method = least_squares(settings.settings);
  return !settings.options.frames.asks() && !settings.options.noise_map &&
         (method == nullptr || method->sparse.empty());
}

bool may_leave_gpu_alone(const std::string& path, const RunSettings& settings) {
  constexpr std::uintmax_t bytes_of_small_file = 1 << 25;
  std::error_code unknown;
  return solves_once(settings) && std::filesystem::file_size(path, unknown) <= bytes_of_small_file;
}

}  // namespace

bool leaves_gpu_alone(const std::string& path, const RunSettings& settings, const io::ScanSummary& summary) {
  return may_leave_gpu_alone(path, settings) &&
         is_small_work(summary, image_count(summary, settings.options.selection));
}

std::pair<std::unique_ptr<io::ScanFile>, std::unique_ptr<DevicesInBackground>> open_and_start_devices(
    const std::string& path, const RunSettings& settings, int local_rank) {
  DeviceOption option = settings.options.device;
  std::unique_ptr<DevicesInBackground> devices;
  const auto start = [&] {
    devices = std::make_unique<DevicesInBackground>(option, std::max(local_rank, 0));
  };
  const bool may_be_small = local_rank < 0 && may_leave_gpu_alone(path, settings);
  if (!may_be_small) start();
  auto file = io::open_scan(path, settings.options.read_options);
  if (may_be_small) {
    option.leaves_gpu_alone = leaves_gpu_alone(path, settings, file->summary());
    start();
  }
  return {std::move(file), std::move(devices)};
}

int run_in_team(const std::function<int(const std::shared_ptr<MpiTeam>&)>& work) {
  const auto team = join_team();
  if (!team) return work(nullptr);
  try {
    const int status = work(team);
    team->leave();
    return status;
  } catch (const std::exception& error) {
    // The first process prints what fails in every process, and ends the others before they do.
    if (team->rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    print_error((team->rank() > 0 ? fmt::format("process {}: ", team->rank()) : "") + error.what());
    std::fflush(stderr);
    throw;
  }
}

void share_work(const MpiTeam& team, const RunSettings& settings) {
  const RunOptions& options = settings.options;
  of_options([&] {
    refuse_incompatible(Features()
                            .with(Feature::several_processes)
                            .with(Feature::frames, options.frames.asks())
                            .with(Feature::noise_map, options.noise_map.has_value())
                            .with(Feature::echo_field_map, options.field_map == FieldMapChoice::from_echoes));
  });
  if (options.device.names_several())
    throw Error(
        "--device " + options.device.name, "one GPU for each process that mpirun started", "several",
        "leave " + option_words("device") + " out, and every process takes its own; or run one process");
  if (options.threads > 0) return;
  // Where mpirun has not bound the processes to some processors each.
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  if (omp_get_num_procs() >= all) omp_set_num_threads(std::max(1, all / team.local_size()));
}

void require_unchanged_for_all(const MpiTeam& team, const io::ScanSummary& summary) {
  summary.stamps.require_unchanged();
  double arrived = 1;
  team.sum(&arrived, 1);
}

// --- Files

io::ResultRequest request_of(const RunOptions& options, const std::string& prefix) {
  io::ResultRequest request(prefix, options.formats);
  if (options.phase) request.add("phase");
  if (options.noise_map) request.add_noise_maps();
  return request;
}

io::ResultRequest request_of(const ScanRun& run, const std::string& prefix) {
  auto request = request_of(run.settings->options, prefix);
  request.stack_count = run.results.stack_count();
  return request;
}

std::vector<std::string> write_results(ScanRun& run, const io::OutputLock& lock, const std::string& prefix) {
  return run.results.write(lock, request_of(run, prefix), run.settings->options.compression);
}

}  // namespace fhd::app

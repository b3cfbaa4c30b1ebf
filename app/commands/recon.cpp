// fhd recon: from a scan file to an image.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "app/commands/commands.hpp"
#include "app/terminal/console.hpp"
#include "app/run/corrected_scan.hpp"
#include "app/run/echo_field_map.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/options/frame_options.hpp"
#include "app/run/frames_of_scan.hpp"
#include "app/options/noise_map_option.hpp"
#include "app/options/options.hpp"
#include "app/run/outputs.hpp"
#include "app/terminal/processes.hpp"
#include "app/options/recipe.hpp"
#include "app/run/recon_engine.hpp"
#include "app/run/series_formats.hpp"
#include "app/run/series_identity.hpp"
#include "app/terminal/series_printer.hpp"
#include "app/run/side_by_side.hpp"
#include "app/terminal/timeline.hpp"
#include "app/run/volume_reader.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {
namespace {

struct ReconCommand {
  const CLI::App* app;
  std::string scan;
  VolumeSelection selection;
  std::optional<std::string> output;
  std::optional<io::OutputLock> output_lock;
  bool quiet = false, verbose = false, no_gridded_image = false, force = false, phase = false, strict = false;
  FieldMapChoice field_map = FieldMapChoice::of_scan;
  std::vector<std::string> scan_warnings;  ///< of the scan as a whole
  std::optional<int> compression;
  io::ReadOptions read_options;
  ReconOptions recon_options;
  DeviceOption device_option;
  NoiseMapOption noise_map;
  FrameOptions frame_options;
  SeriesFormats series_formats;

  int run();
  Settings chosen_settings() const;
  int reconstruct(const std::shared_ptr<MpiTeam>& team);
  void share_work(const std::shared_ptr<MpiTeam>& team, Execution& execution);
  /// Of the results, `output`, which is completed.
  void require_names(const MpiTeam* team, const Settings& settings);
  std::unique_ptr<io::ScanFile> open(const MpiTeam* team, const Settings& settings,
                                     std::optional<DevicesInBackground>& starting);
  /// On a device, or all of a team, of so many threads.
  using MakeEngine = std::function<std::unique_ptr<ReconEngine>(const ChosenDevice&, int threads)>;
  void reconstruct_volumes(const io::ScanSummary& summary, VolumeReader& reader, const Execution& execution,
                           const std::vector<ChosenDevice>& devices, bool by_team,
                           const MakeEngine& make_engine, ScanResults& results, SeriesPrinter& printer) const;
  int reconstruct_frames(io::ScanFile& file, const io::ChecksumInBackground& checksum,
                         const Settings& settings, const ChosenDevice& device) const;
  void require_frames_can(const Settings& settings, const std::shared_ptr<MpiTeam>& team) const;
  std::unique_ptr<io::ScanFile> with_field_map(std::unique_ptr<io::ScanFile> file, const Settings& settings,
                                               const DevicesInBackground& devices, bool tells);
  void finish(const io::ChecksumInBackground& checksum, ScanResults& results) const;
  /// With so many maps of the noise, where they are asked for.
  std::vector<std::string> written_files(std::size_t noise_maps) const;
  void require_room(const ScanResults& results, const io::ScanSummary& summary) const;
  void keep_in_folder(ScanResults& results, const io::ChecksumInBackground& checksum,
                      SeriesPrinter& printer) const;
  void print_image(const Report& report, std::size_t index, const ScanResults& results,
                   SeriesPrinter& printer) const;
};

/// "path/scan.h5" -> "scan_recon": beside the user, not beside the data, and never the input's own name.
std::string default_output(const std::string& scan) {
  std::filesystem::path path(scan);
  if (!path.has_filename()) path = path.parent_path();
  return path.stem().string() + "_recon";
}

/// Processes on one machine share its processors, where mpirun has not bound them to some.
void share_processors(int processes) {
  const int all = static_cast<int>(std::thread::hardware_concurrency()), mine = omp_get_num_procs();
  if (mine >= all) omp_set_num_threads(std::max(1, all / processes));
}

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

/// Whether all GPUs work on each volume, one after the other: where there are too few to give each GPU its own.
bool shares_volumes(const Settings& settings, const io::ScanSummary& summary, std::size_t volumes,
                    const std::vector<ChosenDevice>& devices) {
  if (devices.size() == 1) return false;
  return volumes == 1 ||
         (volumes < devices.size() && summary.geometry.voxel_count() > voxels_of_small_volume &&
          !missing_for_group(settings));
}

/// Each process has read the scan by itself: one that changed before one of them opened it is told by another.
void require_unchanged_for_all(const MpiTeam& team, const io::ScanSummary& summary) {
  summary.stamps.require_unchanged();
  double arrived = 1;
  team.sum(&arrived, 1);
}

int ReconCommand::run() {
  const std::shared_ptr<void> at_the_end(nullptr, [this](void*) { output_lock.reset(); });
  const auto joined = join_team();
  if (!joined) return reconstruct(nullptr);
  try {
    const int status = reconstruct(joined);
    joined->leave();
    return status;
  } catch (const std::exception& error) {
    // What fails in every process is told by the first, which ends the others before they speak.
    if (joined->rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    print_error((joined->rank() > 0 ? fmt::format("process {}: ", joined->rank()) : "") + error.what());
    std::fflush(stderr);
    throw;
  }
}

/// A file of fewer bytes may be small work, and is looked into before a GPU starts.
constexpr std::uintmax_t bytes_of_small_file = 1 << 25;

/// Whether the CPU, solving once by squares, is done before a GPU has started, which takes about 0.3 s
/// (validation/results/2026-11-23-h200.md): its threads go through so many pairs of voxels and samples in a
/// fraction of that.
bool is_small_work(const io::ScanSummary& summary) {
  constexpr double pairs_of_thread = 2e9, most_pairs = 1e10;
  const double pairs = static_cast<double>(summary.geometry.voxel_count()) *
                       static_cast<double>(summary.samples_per_scan) *
                       static_cast<double>(summary.coil_count) *
                       static_cast<double>(summary.slice_count * summary.repetition_count);
  return pairs <= std::min(pairs_of_thread * omp_get_max_threads(), most_pairs);
}

/// The scan; devices start while it is opened and read, or after a look into a small file, which may not need one.
std::unique_ptr<io::ScanFile> ReconCommand::open(const MpiTeam* team, const Settings& settings,
                                                 std::optional<DevicesInBackground>& starting) {
  const auto start = [&] { starting.emplace(device_option, team ? team->local_rank() : 0); };
  std::error_code unknown;
  const LeastSquares* method = least_squares(settings);
  const bool solves_often =
      frame_options.asks() || noise_map.given() || (method != nullptr && !method->sparse.empty());
  const bool may_be_small =
      !team && !solves_often && std::filesystem::file_size(scan, unknown) <= bytes_of_small_file;
  if (!may_be_small) start();
  auto file = io::open_scan(scan, read_options);
  if (may_be_small) {
    if (is_small_work(file->summary())) device_option.leave_gpu_alone();
    start();
  }
  return file;
}

/// With the other processes of a team.
void ReconCommand::share_work(const std::shared_ptr<MpiTeam>& team, Execution& execution) {
  if (field_map == FieldMapChoice::from_echoes)
    throw Error("--field-map auto", "one process", "several, by mpirun",
                "make the map with 'fhd fieldmap' first");
  if (device_option.names_several())
    throw Error("--device " + device_option.text(), "one GPU for each process that mpirun started", "several",
                "leave --device out, and every process takes its own; or run one process");
  execution.processes = team;
  if (team->rank() > 0) {
    quiet = true;
    silence_events();
  }
  if (!recon_options.threads_are_given()) share_processors(team->local_size());
}

/// The field map that is asked for; where none is, and echoes show off-resonance that matters, a warning says so, of
/// the process that `tells`.
std::unique_ptr<io::ScanFile> ReconCommand::with_field_map(std::unique_ptr<io::ScanFile> file,
                                                           const Settings& settings,
                                                           const DevicesInBackground& devices, bool tells) {
  if (field_map == FieldMapChoice::from_echoes) {
    auto found = found_field_map(*file, settings, devices.get().front(), recon_options.trajectory_cache());
    return app::with_field_map(std::move(file), std::move(found));
  }
  if (field_map == FieldMapChoice::off) file = app::with_field_map(std::move(file), {});
  if (!tells || !least_squares(settings)) return file;
  if (const auto found = diagnose_echoes(*file)) scan_warnings.push_back(in_one_line(*found));
  return file;
}

Settings ReconCommand::chosen_settings() const {
  Settings settings = recon_options.settings();
  frame_options.take_part_in(settings);
  return settings;
}

void ReconCommand::require_names(const MpiTeam* team, const Settings& settings) {
  if (output) require_name(*output);
  output = output ? io::without_result_ending(*output) : default_output(scan);
  const auto noise_request = of_options([&] { return noise_map.request(); });
  if (noise_request) of_options([&] { require_noise_maps_can(*noise_request, settings); });
  auto inputs = inputs_of({scan}, read_options);
  if (const auto& girf = recon_options.trajectory_correction().girf; !girf.empty()) inputs.push_back(girf);
  for (const auto& [what, file] : frame_options.files()) inputs.push_back(file);
  if (team && team->rank() > 0) return;
  io::check_writable(*output, inputs, phase, noise_map.given());
  series_formats.check(*output, inputs);
  require_other_than_timeline(*app, written_files(io::noise_endings.size()));
  output_lock.emplace(*output);
}

int ReconCommand::reconstruct(const std::shared_ptr<MpiTeam>& team) {
  const Settings settings = of_options([&] { return chosen_settings(); });
  field_map = take_field_map_choice(read_options);
  Execution execution;
  of_options([&] { validate(settings), require_frames_can(settings, team); });
  const bool first = !team || team->rank() == 0;
  if (team) share_work(team, execution);
  require_names(team.get(), settings);

  read_options.precision = settings.precision;
  const auto correction = of_options([&] { return recon_options.trajectory_correction(); });
  std::optional<DevicesInBackground> starting;
  auto file =
      with_trajectory_correction(open(team.get(), settings, starting), correction,
                                 frame_options.asks() ? BeyondMatrix::columns : BeyondMatrix::samples);
  const io::ChecksumInBackground checksum(scan);
  if (!quiet) print_scan(file->summary());
  if (first && !force) io::require_replaceable(*output, scan, checksum, phase, noise_map.given());
  if (first) series_formats.require_can(file->summary(), checksum, force);
  file = with_field_map(std::move(file), settings, *starting, first);
  const io::ScanSummary& summary = file->summary();
  if (frame_options.asks()) return reconstruct_frames(*file, checksum, settings, starting->get().front());
  auto results = ScanResults::with_room(scan, summary, selection, command_line());
  require_room(results, summary);
  noise_map.require_alone(results.volumes().size(), team ? team->size() : 1);
  SeriesPrinter printer(results.volumes().size());
  // The processes of a team would all have to know which volumes are left.
  if (!team && results.volumes().size() > 1) keep_in_folder(results, checksum, printer);
  const auto is_by_team = [&] {
    return shares_volumes(settings, summary, results.volumes().size(), starting->get());
  };
  VolumeReader reader(
      *file, results.volumes(),
      [&](const Scan& volume) {
        return takes_series(settings, execution, volume) && !noise_map.given() &&
               !(device_option.names_several() && is_by_team());
      },
      [&](std::size_t number) { return results.holds(number); });

  const auto& devices = starting->get();
  if (!quiet) say("device", text_of(devices));
  if (team && !quiet) say("team", fmt::format("{} processes share samples and coils", team->size()));
  results.set_devices(devices);
  const auto of_gpus = is_by_team() ? team_of(devices) : nullptr;
  const bool sought = correction.kind == TrajectoryCorrection::Kind::automatic;
  const auto make_engine = [&](const ChosenDevice& device, int threads) {
    Execution own = execution;
    own.threads = threads;
    auto engine = std::make_unique<ReconEngine>(settings, own, device, recon_options.trajectory_cache(),
                                                first && !no_gridded_image, !quiet, of_gpus);
    engine->map_noise(noise_map.request());
    engine->check_delays({results.standing_for_scan(), sought});
    engine->warn(scan_warnings);
    return engine;
  };
  reconstruct_volumes(summary, reader, execution, devices, of_gpus != nullptr, make_engine, results, printer);
  if (team) require_unchanged_for_all(*team, summary);
  if (first) finish(checksum, results);
  return 0;
}

std::vector<std::string> ReconCommand::written_files(std::size_t noise_maps) const {
  auto files = io::files_of_results(*output, phase, noise_map.given());
  if (noise_map.given()) files.resize(files.size() - io::noise_endings.size() + noise_maps);
  for (auto& name : series_formats.names()) files.push_back(std::move(name));
  return files;
}

/// Before the work.
void ReconCommand::require_room(const ScanResults& results, const io::ScanSummary& summary) const {
  results.require_room(summary.geometry.matrix_size);
  series_formats.require_room(summary.geometry.matrix_size, results);
}

void ReconCommand::require_frames_can(const Settings& settings, const std::shared_ptr<MpiTeam>& team) const {
  if (!frame_options.asks()) return;
  validate_for_frames(settings);
  const char* const subject = "--frames, --spokes-per-frame and --gate";
  if (team) throw Error(subject, "one process", "several, by mpirun", "run it without mpirun");
  if (device_option.names_several())
    throw Error(subject, "one device", "--device " + device_option.text(), "use --device cuda, or cuda:N");
  noise_map.require_no_frames();
}

/// Each slice by itself: its readouts in frames, which take the place of repetitions.
int ReconCommand::reconstruct_frames(io::ScanFile& file, const io::ChecksumInBackground& checksum,
                                     const Settings& settings, const ChosenDevice& device) const {
  repetition_of_frames(file.summary(), selection);
  if (!quiet) say("device", text_of({device}));
  const CurrentDevice current(device.device);
  ReconEngine engine(settings, {}, device, recon_options.trajectory_cache(), !no_gridded_image, !quiet);
  engine.check_delays(
      {0, recon_options.trajectory_correction().kind == TrajectoryCorrection::Kind::automatic});
  engine.warn(scan_warnings);
  ProgressLine progress(quiet);
  std::optional<SeriesPrinter> printer;
  FrameEvents events;
  events.progress = progress.callback();
  events.on_fallback = [&](const std::string& reason) {
    progress.clear();
    print_fallback(reason);
  };
  events.on_layout = [&](const FrameLayout& layout, double frame_time_s, ScanResults& results) {
    require_room(results, file.summary());
    results.set_devices({device});
    printer.emplace(results.volumes().size());
    if (!quiet) say("frames", frames_line(layout, frame_time_s));
  };
  events.on_sizes = [&](const ScanSizes& sizes, const FrameLayout& layout, std::int64_t slices) {
    progress.clear();
    if (!quiet) say("planned", engine.cost_text_of(sizes, layout.readout_length, slices, sizes_of(layout)));
  };
  events.on_image = [&](std::size_t number, const Report& report, const ScanResults& results) {
    progress.clear();
    print_image(report, number, results, *printer);
  };
  auto results = frames_of_scan(file, {scan, command_line(), frame_options, selection}, engine, events);
  if (!quiet) printer->print_summary();
  finish(checksum, results);
  return 0;
}

/// Writes, and says what was written.
void ReconCommand::finish(const io::ChecksumInBackground& checksum, ScanResults& results) const {
  if (const auto note = results.note_positions(); !note.empty() && !quiet) say("note", note);
  results.require_trust(strict);
  results.set_checksum(checksum.get());
  series_formats.add_to(results);
  if (const auto note = results.note_of_patient(); !note.empty() && !quiet) say("note", note);
  results.write(*output_lock, *output, phase, compression);
  if (tells_events())
    tell_event("written", {{"files", written_files(results.noise_map_count())}});
  else if (!quiet)
    print_out("wrote     {}\n", fmt::format("{}", fmt::join(written_files(results.noise_map_count()), " ")));
  const auto note_older = [&](const std::string& older, const char* remedy) {
    std::error_code status;
    const bool is_own = !std::filesystem::exists(io::without_result_ending(older) + ".json", status);
    if (is_own && std::filesystem::exists(older, status) && !quiet)
      say("note", fmt::format("{} is of an earlier run; {}", older, remedy));
  };
  if (!phase) note_older(*output + io::phase_ending, "--phase makes it anew");
  for (std::size_t i = results.noise_map_count(); i < io::noise_endings.size(); ++i)
    note_older(*output + io::noise_endings[i],
               noise_map.given() ? "this one makes none" : "--noise-map makes it anew");
}

void ReconCommand::keep_in_folder(ScanResults& results, const io::ChecksumInBackground& checksum,
                                  SeriesPrinter& printer) const {
  const auto identity = [&results, &checksum, this] {
    results.set_checksum(checksum.get());
    return identity_of(*app, results.provenance());
  };
  const auto host = [&results] { return results.host(); };
  const auto total = results.volumes().size();
  const auto folder = std::make_shared<io::SeriesFolder>(*output, total, identity, host, force);
  if (const auto there = folder->finished_count(); there > 0 && !quiet)
    say("note", fmt::format("{} of {} images are in {} from an earlier run{}", there, total, folder->path(),
                            there < total ? "; the others follow" : ""));
  results.keep_in(folder, [&](const Report& report) { printer.count_earlier(report); });
}

/// Engines that work side by side (volumes_side_by_side), as many on every device; all together at most as many as there
/// are volumes.
int engine_count(const io::ScanSummary& summary, std::size_t volumes, const Execution& execution,
                 const std::vector<ChosenDevice>& devices, bool by_team) {
  if (execution.processes->is_shared() || by_team) return 1;
  const auto device_count = static_cast<std::int64_t>(devices.size()),
             all = static_cast<std::int64_t>(volumes);
  const auto engines =
      volumes_side_by_side(devices.front().device, (all + device_count - 1) / device_count,
                           summary.geometry.voxel_count(), omp_get_max_threads() / device_count);
  return static_cast<int>(
      std::clamp<std::int64_t>(engines * device_count, 1, std::max<std::int64_t>(all, 1)));
}

void ReconCommand::reconstruct_volumes(const io::ScanSummary& summary, VolumeReader& reader,
                                       const Execution& execution, const std::vector<ChosenDevice>& devices,
                                       bool by_team, const MakeEngine& make_engine, ScanResults& results,
                                       SeriesPrinter& printer) const {
  ProgressLine progress(quiet);
  std::mutex mutex;  // of what is printed and collected
  const auto on_fallback = [&](const std::string& reason) {
    const std::lock_guard lock(mutex);
    progress.clear();
    print_fallback(reason);
  };
  const std::size_t total = results.volumes().size();
  const std::size_t left = total - printer.earlier();
  // As many threads for each as without an earlier run: the images are the same to the last bit.
  const int engines = engine_count(summary, total, execution, devices, by_team);
  // Of a series that several devices share, none takes so many that another has nothing to do.
  const auto most =
      devices.size() == 1 || by_team ? total : (total + static_cast<std::size_t>(engines) - 1) / engines;
  std::atomic<std::size_t> started = 0;
  bool planned = quiet || execution.processes->is_shared() || by_team;
  if (left > 0)
    run_side_by_side(static_cast<int>(std::min<std::size_t>(engines, left)), [&](const auto& goes_on) {
      const ThreadLimit share(std::max(1, omp_get_max_threads() / engines));
      const auto& device = devices[started++ % devices.size()];
      const CurrentDevice current(device.device);
      const auto engine = make_engine(device, omp_get_max_threads());
      const auto at_once = [&](SliceSeries& series) {
        return std::min(engine->volumes_at_once(series), static_cast<std::int64_t>(most));
      };
      const auto report_progress = engines == 1 ? progress.callback() : ProgressCallback{};
      while (goes_on()) {
        const auto volumes = reader.next(at_once);
        if (volumes.empty()) break;
        auto made = (*engine)(volumes, report_progress, on_fallback);
        const std::lock_guard lock(mutex);
        progress.clear();
        for (std::size_t i = 0; i < made.size(); ++i) {
          if (!planned && made[i].sizes) {
            say("planned", engine->cost_text_of(*made[i].sizes, summary.readout_length,
                                                static_cast<std::int64_t>(total)));
            planned = true;
          }
          const Report report = made[i].reconstruction.report;
          results.add(volumes[i].number, std::move(made[i]));
          print_image(report, volumes[i].number, results, printer);
        }
        if (total > 1) progress.set_context(printer.context());
        if (engines > 1) progress.show(printer.context());
      }
    });
  progress.clear();
  if (!quiet) printer.print_summary();
}

/// What a program is told of an image, `number` of 1 ... all.
nlohmann::ordered_json image_fields(const Report& report, std::size_t number, const ScanResults& results) {
  auto stages = nlohmann::ordered_json::object();
  for (const auto& stage : report.stages) stages[stage.name] = stage.seconds;
  nlohmann::ordered_json fields{
      {"number", number},
      {"of", results.volumes().size()},
      {"name", results.name_of(number - 1)},
      {"seconds", report.seconds},
      {"stages", stages},
      {"converged", report.converged},
      {"iterations", std::max<std::size_t>(report.relative_residuals.size(), 1) - 1},
      {"data_residual", report.data_residual},
      {"notes", report.notes},
      {"suspicions", report.suspicions},
      {"warnings", report.warnings}};
  if (!report.relative_residuals.empty()) fields["residual"] = report.relative_residuals.back();
  if (const auto& made = report.certificate)
    fields.update({{"accuracy", made->error()}, {"accuracy_passed", made->passed}});
  if (report.verdict) fields["verdict"] = report.verdict->sentence;
  return fields;
}

/// `index` in the order of the results.
void ReconCommand::print_image(const Report& report, std::size_t index, const ScanResults& results,
                               SeriesPrinter& printer) const {
  const std::size_t number = index + 1, total = results.volumes().size();
  const auto& certificate = report.certificate;
  if (certificate && !certificate->passed)
    print_error(fmt::format("warning: image {}: the result is less accurate than asked: {}", number,
                            certificate_line(*certificate)));
  printer.count(report);
  for (const auto& suspicion : report.suspicions)
    if (printer.says_suspicion(suspicion))
      print_error(fmt::format("warning: image {} is suspicious: {}", number, suspicion));
  for (const auto& warning : report.warnings)
    if (printer.is_new(warning)) print_error(fmt::format("warning: image {}: {}", number, warning));
  const bool first = printer.is_first();
  if (tells_events()) return tell_event("image", image_fields(report, number, results));
  if (quiet || !(first || verbose || printer.says_each())) return;
  const auto name = results.name_of(index);
  if (first && verbose && report.device_planned_bytes > 0)
    print_out("memory    {} planned, {} taken\n", memory_text(static_cast<double>(report.device_planned_bytes)),
              memory_text(static_cast<double>(report.device_peak_bytes)));
  if (first)
    for (const auto& note : report.notes) say("note", note);
  const auto in_brackets = name.empty() ? "" : " (" + name + ")";
  const auto which = total > 1 ? fmt::format("{} of {}{}: ", number, total, in_brackets) : "";
  print_out("image     {}{}\n", which, solution_line(report));
  if (certificate && (first || verbose)) print_out("accuracy  {}\n", certificate_line(*certificate));
  using Judgement = Verdict::Judgement;
  if (const auto& v = report.verdict; v && v->judgement != Judgement::unexplained &&
                                      (first || verbose || v->judgement != Judgement::explained))
    print_out("verdict   {}\n", v->sentence);
}

}  // namespace

Run add_recon(CLI::App& app) {
  const auto command = std::make_shared<ReconCommand>();
  command->app = &app;
  app.add_option("SCAN", command->scan, "ISMRMRD or fhd HDF5 file, BART .cfl, or IMPATIENT directory")
      ->required();
  app.add_option("-o,--output", command->output,
                 "prefix of the results: OUT.h5 .nii.gz .png .json [SCAN_recon]");
  app.add_flag("--force", command->force,
               "overwrite what is there under these names, also a result of another scan");
  app.add_flag("--strict", command->strict,
               "fail, and write nothing, where the image or the scan is suspicious");
  app.add_flag("--phase", command->phase, "also write OUT_phase.nii.gz, the phase in rad");
  add_compression_option(app, command->compression);
  command->selection.add_to(app);
  app.add_flag("--quiet", command->quiet, "print nothing but errors");
  app.add_flag("--verbose", command->verbose, "also print what is planned of a GPU's memory");
  app.add_flag("--no-gridded-image", command->no_gridded_image,
               "leave out the gridded image that OUT.h5 holds beside the other, as /gridded");
  command->device_option.add_to(app);
  command->frame_options.add_to(app);
  command->recon_options.add_to(app);
  command->noise_map.add_to(app);
  command->series_formats.add_to(app);
  add_read_options(app, command->read_options, /*finds_field_maps=*/true);
  return with_event_lines(app, with_recipe(app, with_timeline(app, [command] { return command->run(); })));
}

}  // namespace fhd::app

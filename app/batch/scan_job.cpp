#include "app/batch/scan_job.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/batch/summary.hpp"
#include "app/run/corrected_scan.hpp"
#include "app/run/frames_of_scan.hpp"
#include "app/run/scan_cost.hpp"
#include "io/result/dicom.hpp"
#include "io/result/results.hpp"

namespace fhd::app {
namespace {

std::vector<std::string> on_device(std::vector<std::string> arguments, const std::string& device) {
  arguments.push_back("--device=" + device);
  return arguments;
}

/// Of as many volumes as its results have room for.
std::unique_ptr<io::ScanFile> open_with_room(const std::string& path, const RunOptions& options) {
  auto file = io::open_scan(path, options.read_options);
  if (!options.frames.asks()) ScanResults::require_room(file->summary(), options.selection, path);
  return file;
}

ChosenDevice without_fallback(ChosenDevice device) {
  device.automatic = false;
  return device;
}

}  // namespace

JobSettings::JobSettings(std::vector<std::string> arguments, const std::string& device)
    : options(on_device(std::move(arguments), device)),
      settings(options.settings()),
      field_map(take_field_map_choice(options.read_options)) {
  options.read_options.precision = settings.precision;
}

JobEngine::JobEngine(std::shared_ptr<const JobSettings> of, const ChosenDevice& on)
    : settings(std::move(of)),
      device(without_fallback(on)),
      engine(settings->settings, {}, device, settings->options.recon.trajectory_cache(),
             !settings->options.no_gridded_image, false) {
  engine.map_noise(settings->options.noise_map.request());
}

ScanJob::ScanJob(const std::string& path, std::shared_ptr<const JobSettings> of,
                 const std::string& command_line, const std::string& input_checksum)
    : ScanJob(open_with_room(path, of->options), path, of, command_line, input_checksum) {
  is_to_be_written_ = true;
  if (!settings->options.frames.asks()) require_room(results_);
}

void ScanJob::require_room(const ScanResults& results) const {
  const auto& matrix_size = file_->summary().geometry.matrix_size;
  results.require_room(matrix_size);
  SeriesFormats(settings->options, results.path()).require_room(matrix_size, results);
}

ScanJob::ScanJob(std::unique_ptr<io::ScanFile> file, const std::string& path,
                 std::shared_ptr<const JobSettings> of, const std::string& command_line,
                 const std::string& input_checksum)
    : settings(std::move(of)),
      file_(with_trajectory_correction(
          std::move(file), settings->options.recon.trajectory_correction(),
          settings->options.frames.asks() ? BeyondMatrix::columns : BeyondMatrix::samples)),
      results_(path, file_->summary(), settings->options.selection, command_line) {
  results_.set_checksum(input_checksum);
  settings->options.noise_map.require_alone(results_.volumes().size(), 1);
  if (settings->options.dicom) {
    io::require_dicom();
    io::require_dicom_geometry(file_->summary().geometry, file_->summary().slice_count, path);
  }
  if (settings->options.frames.asks()) repetition_of_frames(file_->summary(), settings->options.selection);
  if (settings->field_map == FieldMapChoice::off) file_ = with_field_map(std::move(file_), {});
}

ScanSizes ScanJob::sizes() const {
  const auto& summary = file_->summary();
  ScanSizes sizes = header_sizes(summary);
  const bool in_double = settings->settings.precision == Precision::double_precision;
  sizes.in_double = in_double && summary.format == "fhd";  // the others hold single precision
  sizes.has_field_map = sizes.has_field_map || settings->field_map == FieldMapChoice::from_echoes;
  return sizes;
}

EstimateSettings ScanJob::estimate_settings() const {
  EstimateSettings how{settings->settings};
  how.images = static_cast<std::int64_t>(results_.volumes().size());
  how.images_wait_in_memory = true;
  if (const auto request = settings->options.noise_map.request()) how.noise_replicas = request->replicas;
  if (const auto& frames = settings->options.frames; frames.asks())
    how.frames = frames.sizes(file_->summary().samples_per_scan, file_->summary().readout_length);
  return how;
}

std::uint64_t ScanJob::planned_bytes() const {
  EstimateSettings how = estimate_settings();
  const auto companion = companion_settings(how.settings);
  if (companion && !settings->options.no_gridded_image) how.companion = &*companion;
  return app::planned_bytes(estimate(sizes(), how)).host;
}

std::uint64_t ScanJob::planned_bytes(Device device, std::uint64_t available) const {
  if (device.is_cpu()) return 0;
  EstimateSettings how = estimate_settings();
  how.device = device;
  const auto companion = companion_settings(how.settings);
  if (companion && !settings->options.no_gridded_image) how.companion = &*companion;
  const bool may_be_together = how.images > 1 && !how.frames;
  auto made = estimate(sizes(), how);
  if (may_be_together)
    made.device.hold_at_peak(bytes_of_volumes_together(static_cast<double>(available)));
  return app::planned_bytes(made).device;
}

void ScanJob::find_field_map(const JobEngine& engine) {
  auto found =
      found_field_map(*file_, settings->settings, engine.device, settings->options.recon.trajectory_cache());
  file_ = with_field_map(std::move(file_), std::move(found));
  has_made_map_ = true;
  load();
}

void ScanJob::load() {
  reader_.reset();  // one at a time has the file
  if (lacks_field_map()) return;
  if (least_squares(settings->settings))
    if (const auto found = diagnose_echoes(*file_)) scan_warnings_ = {in_one_line(*found)};
  if (settings->options.frames.asks()) return;
  reader_ = std::make_unique<VolumeReader>(*file_, results_.volumes(), [this](const Scan& scan) {
    return takes_series(settings->settings, {}, scan) && !settings->options.noise_map.given();
  });
  reader_->wait_for_first();
}

void ScanJob::compute(JobEngine& engine, const ProgressCallback& progress, const std::string& note) {
  results_.set_devices({engine.device});
  if (lacks_field_map()) find_field_map(engine);
  const auto correction = settings->options.recon.trajectory_correction();
  engine.engine.check_delays({results_.standing_for_scan(),
                              correction.kind == TrajectoryCorrection::Kind::automatic, /*is_sparing=*/true});
  engine.engine.warn(scan_warnings_);
  if (settings->options.frames.asks())
    compute_frames(engine, progress, note);
  else
    compute_volumes(engine, progress, note);
  results_.note_positions();
}

void ScanJob::compute_frames(JobEngine& engine, const ProgressCallback& progress, const std::string& note) {
  const io::Provenance& told = results_.provenance();
  FrameEvents events;
  events.progress = progress;
  events.on_fallback = [](const std::string&) {};
  events.on_layout = [&](const FrameLayout&, double, ScanResults& results) {
    if (is_to_be_written_) require_room(results);
    results.set_checksum(told.input_checksum);
    results.set_devices({engine.device});
  };
  events.on_image = [&](std::size_t number, Report& report, const ScanResults&) {
    if (!note.empty() && number == 0) report.notes.push_back(note);
  };
  const auto& options = settings->options;
  results_ = frames_of_scan(*file_, {told.input_path, told.command_line, options.frames, options.selection},
                            engine.engine, events);
}

void ScanJob::compute_volumes(JobEngine& engine, const ProgressCallback& progress, const std::string& note) {
  const auto at_once = [&](SliceSeries& series) { return engine.engine.volumes_at_once(series); };
  while (true) {
    const auto volumes = reader_->next(at_once);
    if (volumes.empty()) break;
    auto made = engine.engine(volumes, progress, [](const std::string&) {});
    for (std::size_t i = 0; i < made.size(); ++i) {
      auto& notes = made[i].reconstruction.report.notes;
      if (!note.empty() && volumes[i].number == 0) notes.push_back(note);
      results_.add(volumes[i].number, std::move(made[i]));
    }
  }
  reader_.reset();
}

void ScanJob::require_writable(const std::string& prefix, const std::vector<std::string>& inputs) const {
  const RunOptions& options = settings->options;
  io::check_writable(prefix, inputs, options.phase, options.noise_map.given());
  SeriesFormats(options, prefix).check(prefix, inputs);
}

void ScanJob::require_replaceable(const std::string& prefix) const {
  const RunOptions& options = settings->options;
  const std::string& checksum = results_.provenance().input_checksum;
  io::require_replaceable(prefix, results_.path(), checksum, options.phase, options.noise_map.given());
  SeriesFormats(options, prefix).require_can(file_->summary(), io::ChecksumInBackground::of(checksum), false);
}

void ScanJob::require_replaceable_in_batch(const std::string& prefix,
                                           const std::vector<std::string>& own) const {
  constexpr auto remedy = "move it, or choose another folder (-o)";
  const RunOptions& options = settings->options;
  const bool with_noise = options.noise_map.given();
  const auto formats = SeriesFormats(options, prefix);
  const auto names = io::files_of_results(prefix, options.phase, with_noise), of_formats = formats.names();
  std::error_code status;
  const auto is_own = [&](const std::string& name) {
    return std::any_of(own.begin(), own.end(), [&](const std::string& file) {
      return name.ends_with('/') ? file.starts_with(name) : file == name;
    });
  };
  const auto is_strange = [&](const std::string& name) {
    return std::filesystem::exists(std::filesystem::symlink_status(name, status)) && !is_own(name);
  };
  const std::string& checksum = results_.provenance().input_checksum;
  if (std::any_of(names.begin(), names.end(), is_strange))
    io::require_replaceable(prefix, results_.path(), checksum, options.phase, with_noise,
                            {.remedy = remedy, .earlier_content = true});
  if (std::any_of(of_formats.begin(), of_formats.end(), is_strange))
    formats.require_can(file_->summary(), io::ChecksumInBackground::of(checksum), false);
}

std::vector<std::string> ScanJob::result_names(const std::string& prefix) const {
  const RunOptions& options = settings->options;
  auto names = io::files_of_results(prefix, options.phase);
  for (std::size_t i = 0; i < results_.noise_map_count(); ++i) names.push_back(prefix + io::noise_endings[i]);
  for (auto& name : SeriesFormats(options, prefix).names()) names.push_back(std::move(name));
  return names;
}

void ScanJob::write(const std::string& prefix) {
  SeriesFormats(settings->options, prefix).add_to(results_);
  results_.write(io::OutputLock(prefix), prefix, settings->options.phase, settings->options.compression);
}

std::vector<std::string> own_files(const std::string& prefix, const io::Manifest& manifest) {
  std::vector<std::string> paths;
  for (const auto& product : manifest.products)
    paths.push_back((std::filesystem::path(prefix).parent_path() / product.stamp.name).string());
  return paths;
}

void ScanJob::write(const std::string& prefix, io::Manifest& manifest) {
  results_.require_trust(settings->options.strict);
  require_writable(prefix, results_.inputs());
  require_replaceable_in_batch(prefix, own_files(prefix, manifest));
  write(prefix);
  manifest.images = static_cast<std::int64_t>(results_.volumes().size());
  for (const auto& report : results_.reports()) {
    manifest.cache_hits += report.trajectory_hits;
    manifest.converged = manifest.converged && report.converged;
    manifest.data_residual = std::max(manifest.data_residual, report.data_residual);
    for (const auto* found : {&report.suspicions, &report.warnings})
      for (const auto& sentence : *found)
        manifest.warnings.push_back(std::string(suspicious_mark) + sentence);
    if (const auto& c = report.certificate; c && !c->passed)
      manifest.warnings.push_back("less accurate than asked: " + certificate_line(*c));
    if (report.relative_residuals.empty()) continue;
    manifest.iterations =
        std::max(manifest.iterations, static_cast<std::int64_t>(report.relative_residuals.size()) - 1);
    manifest.residual = std::max(manifest.residual, report.relative_residuals.back());
  }
}

}  // namespace fhd::app

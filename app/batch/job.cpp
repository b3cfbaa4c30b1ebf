#include "app/batch/job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "app/commands.hpp"
#include "io/hdf5.hpp"
#include "recon/error.hpp"

namespace fhd::app {

namespace fs = std::filesystem;

JobOptions::JobOptions() = default;
JobOptions::~JobOptions() = default;

JobOptions::JobOptions(const std::vector<std::string>& arguments)
    : parser_(std::make_unique<CLI::App>("options of fhd recon")) {
  add_to(*parser_);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    parser_->parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw UsageError(Error(error.what(), "", "", "see 'fhd recon --help'"));
  }
}

void JobOptions::add_to(CLI::App& app) {
  selection.add_to(app);
  app.add_flag("--no-gridded-image", no_gridded_image,
               "leave out the gridded image that NAME.h5 holds beside the other, as /gridded");
  recon.set_default_cache("auto");
  device.add_to(app);
  recon.add_to(app);
  scan.add_to(app);
}

JobOptionNames job_option_names() {
  CLI::App app;
  JobOptions options;
  options.add_to(app);
  JobOptionNames names;
  for (const auto* option : app.get_options()) {
    const auto name = option->get_name();
    if (name == "--help") continue;
    const bool shared = name == "--device" || name == "--device-memory-mib" || name == "--threads" ||
                        name == "--verbose" || name == "--cache";
    (shared ? names.of_batch : names.of_scans).insert(name);
  }
  return names;
}

JobSettings::JobSettings(const std::vector<std::string>& arguments)
    : options(arguments), settings(of_options([&] { return options.recon.settings(); })) {}

JobEngine::JobEngine(std::shared_ptr<const JobSettings> settings)
    : settings_(std::move(settings)),
      device_(settings_->options.device.choose()),
      engine_(settings_->settings, {}, device_, settings_->options.recon.trajectory_cache(),
              !settings_->options.no_gridded_image) {}

ReconResult JobEngine::operator()(const Scan& scan, const ProgressCallback& progress) {
  return engine_(scan, progress, [](const std::string&) {});  // the report of the scan says it
}

ScanJob::ScanJob(const std::string& path, std::shared_ptr<const JobSettings> settings,
                 std::string command_line, std::string input_sha256)
    : settings_(std::move(settings)),
      file_(io::open_scan(path, settings_->options.scan.read_options())),
      results_(path, file_->summary(), settings_->options.selection, std::move(command_line),
               std::move(input_sha256)) {}

std::uint64_t ScanJob::planned_bytes() const {
  const auto& summary = file_->summary();
  const ScanSizes sizes = header_sizes(summary);
  EstimateSettings how{settings_->settings};
  const auto companion = companion_settings(how.settings);
  if (companion && !settings_->options.no_gridded_image) how.companion = &*companion;
  const auto one = static_cast<double>(estimate(sizes, how).host.peak_bytes());
  // Images that wait for the last one, and the file of all of them, which is made in memory.
  const double results = static_cast<double>(results_.volumes().size()) *
                         static_cast<double>(summary.geometry.voxel_count()) * sizeof(Complex<float>) * 4;
  constexpr double margin = 1.15;  // the plan is right within 15 %
  return static_cast<std::uint64_t>(std::min(margin * one + results, 9e18));
}

void ScanJob::load() {
  const auto& [repetition, slice] = results_.volumes().front();
  first_ = file_->read(slice, repetition);
}

void ScanJob::compute(JobEngine& engine, const ProgressCallback& progress) {
  results_.set_device(engine.device());
  for (const auto& [repetition, slice] : results_.volumes()) {
    if (!first_) first_ = file_->read(slice, repetition);
    ReconResult made = engine(*first_, progress);
    first_.reset();
    results_.add(std::move(made));
  }
  results_.note_positions();
}

void ScanJob::write(const std::string& prefix, io::Manifest& manifest) {
  io::check_writable(prefix, results_.path());
  results_.write(prefix);
  manifest.images = static_cast<std::int64_t>(results_.volumes().size());
  for (const auto& report : results_.reports()) {
    manifest.cache_hits += report.trajectory_hits;
    manifest.converged = manifest.converged && report.converged;
    manifest.data_residual = std::max(manifest.data_residual, report.data_residual);
    if (const auto& c = report.certificate; c && !c->passed)
      manifest.warnings.push_back("less accurate than asked: " + certificate_line(*c));
    if (report.relative_residuals.empty()) continue;
    manifest.iterations =
        std::max(manifest.iterations, static_cast<std::int64_t>(report.relative_residuals.size()) - 1);
    manifest.residual = std::max(manifest.residual, report.relative_residuals.back());
  }
}

std::vector<std::string> ScanJob::result_names(const std::string& name) {
  return {name + ".h5", name + ".nii.gz", name + ".png", name + ".json"};
}

ScanSizes header_sizes(const io::ScanSummary& summary) {
  ScanSizes sizes;
  sizes.matrix_size = summary.geometry.matrix_size;
  sizes.samples.all = summary.samples_per_scan;
  sizes.coils = summary.coil_count;
  sizes.readout_length = summary.readout_length;
  sizes.has_maps = summary.has_sensitivity_maps;
  sizes.has_field_map = summary.has_field_map;
  sizes.has_sample_time = summary.has_sample_time;
  return sizes;
}

void require_readable_kind(const std::string& path) {
  std::error_code status;
  const auto found = fs::status(path, status);
  if (!fs::exists(found)) {
    if (fs::exists(path + ".cfl", status)) return;  // BART
    throw Error(path, "a scan", "no such file");
  }
  if (!fs::is_regular_file(found) && !fs::is_directory(found))
    throw Error(path, "a file", "a pipe, a device or a socket", "save the scan as a file first");
  if (::access(path.c_str(), R_OK) != 0) throw Error(path, "a readable file", std::strerror(errno));
}

bool holds_only_images(const std::string& path) {
  try {
    const auto file = io::hdf5::File::open(path);
    return file.has("/image") && !file.has("/kspace") && !file.has("/trajectory") && !file.has("/dataset");
  } catch (const Error&) {
    return false;
  }
}

}  // namespace fhd::app

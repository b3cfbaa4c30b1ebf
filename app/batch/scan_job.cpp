#include "app/batch/scan_job.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/batch/summary.hpp"
#include "app/run/scan_cost.hpp"
#include "app/terminal/console.hpp"
#include "io/result/results.hpp"

namespace fhd::app {

std::shared_ptr<const RunSettings> settings_of_job(RunOptions options, const std::string& device) {
  options.device.set_name(device);
  RunSettings settings(std::move(options));
  settings.is_sparing = true;
  return std::make_shared<const RunSettings>(std::move(settings));
}

// --- Memory

namespace {

ScanSizes sizes_of(const ScanRun& run) {
  const auto& summary = run.file->summary();
  ScanSizes sizes = header_sizes(summary);
  const bool in_double = run.settings->settings.precision == Precision::double_precision;
  sizes.in_double = in_double && summary.format == "fhd";  // the others hold single precision
  sizes.has_field_map = sizes.has_field_map || run.lacks_field_map;
  return sizes;
}

/// Returns the estimate of a run whose images wait in memory.
Estimate estimate_of(const ScanRun& run, Device device) {
  const RunOptions& options = run.settings->options;
  const auto& summary = run.file->summary();
  EstimateSettings how{run.settings->settings, device};
  how.images = static_cast<std::int64_t>(run.results.volumes().size());
  how.images_wait_in_memory = true;
  if (const auto request = options.noise_map.request()) how.noise_replicas = request->replicas;
  if (options.frames.asks())
    how.frames = options.frames.sizes(summary.samples_per_scan, summary.readout_length);
  how.companion = least_squares(how.settings) && !options.no_gridded_image;
  return estimate(sizes_of(run), how);
}

}  // namespace

std::uint64_t planned_host_bytes(const ScanRun& run) {
  return planned_bytes(estimate_of(run, Device::cpu())).host;
}

std::uint64_t planned_device_bytes(const ScanRun& run, Device device, std::uint64_t available) {
  if (device.is_cpu()) return 0;
  auto made = estimate_of(run, device);
  if (run.results.volumes().size() > 1 && !run.settings->options.frames.asks())
    made.device.hold_at_peak(bytes_of_volumes_together(static_cast<double>(available)));
  return planned_bytes(made).device;
}

// --- Results

std::vector<std::string> own_files(const std::string& prefix, const io::Manifest& manifest) {
  std::vector<std::string> paths;
  for (const auto& product : manifest.products)
    paths.push_back((std::filesystem::path(prefix).parent_path() / product.name).string());
  return paths;
}

void require_replaceable_in_batch(const ScanRun& run, const std::string& prefix,
                                  const std::vector<std::string>& own) {
  const auto request = request_of(run.settings->options, prefix);
  const auto names = io::files_of_results(request);
  std::error_code status;
  const auto is_own = [&](const std::string& name) {
    return std::any_of(own.begin(), own.end(), [&](const std::string& file) {
      return name.ends_with('/') ? file.starts_with(name) : file == name;
    });
  };
  const auto is_strange = [&](const std::string& name) {
    return std::filesystem::exists(std::filesystem::symlink_status(name, status)) && !is_own(name);
  };
  if (std::any_of(names.begin(), names.end(), is_strange))
    io::require_replaceable(request, run.results.path(),
                            io::ChecksumInBackground::of(run.results.provenance().input_checksum),
                            {.earlier_content = true, .remedy = "move it, or choose another folder (-o)"});
}

void write_results(ScanRun& run, const std::string& prefix, io::Manifest& manifest) {
  run.results.require_trust(run.settings->options.strict);
  io::check_writable(request_of(run.settings->options, prefix), run.results.inputs());
  require_replaceable_in_batch(run, prefix, own_files(prefix, manifest));
  manifest.products =
      io::products_of(std::filesystem::path(prefix).parent_path().string(),
                      write_results(run, io::OutputLock(prefix), prefix));
  manifest.images = static_cast<std::int64_t>(run.results.volumes().size());
  for (const auto& report : run.results.reports()) {
    manifest.cache_hits += report.trajectory_hits;
    manifest.converged = manifest.converged && report.converged;
    manifest.data_residual = std::max(manifest.data_residual, report.data_residual);
    std::copy_if(report.messages.begin(), report.messages.end(), std::back_inserter(manifest.messages),
                 is_doubt);
    if (const auto& c = report.certificate; c && !c->passed)
      manifest.messages.push_back(
          {codes::certificate, Severity::warning, "less accurate than asked: " + certificate_line(*c)});
    if (report.relative_residuals.empty()) continue;
    manifest.iterations =
        std::max(manifest.iterations, static_cast<std::int64_t>(report.relative_residuals.size()) - 1);
    manifest.residual = std::max(manifest.residual, report.relative_residuals.back());
  }
}

}  // namespace fhd::app

// fhd recon: from a scan file to an image.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "app/commands.hpp"
#include "app/console.hpp"
#include "app/device_option.hpp"
#include "app/mpi_team.hpp"
#include "app/recon_engine.hpp"
#include "app/recon_options.hpp"
#include "app/scan_options.hpp"
#include "io/result/nifti.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

struct ReconCommand {
  std::string scan, slices = "all", repetitions = "all";
  std::optional<std::string> output;
  bool quiet = false, verbose = false, no_gridded_image = false;
  ScanOptions scan_options;
  ReconOptions recon_options;
  DeviceOption device_option;

  int run();
  int reconstruct(const std::shared_ptr<MpiProcessGroup>& team);
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

std::string describe(const Report& report) {
  std::string line;
  for (const auto& [name, seconds] : report.stages)
    line += fmt::format("{}{} {:.2f} s", line.empty() ? "" : ", ", name, seconds);
  if (!report.relative_residuals.empty())
    line += fmt::format("; {} iterations, residual {:.1e}{}, |F rho - d| / |d| = {:.3f}",
                        report.relative_residuals.size() - 1, report.relative_residuals.back(),
                        report.converged ? "" : " (stopped by --iterations)", report.data_residual);
  return line;
}

int ReconCommand::run() {
  const auto joined = join_team();
  if (!joined) return reconstruct(nullptr);
  try {
    const int status = reconstruct(joined);
    joined->leave();
    return status;
  } catch (const std::exception& error) {
    // What fails in every process is told by the first, which ends the others before they speak.
    if (joined->rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    fmt::print(stderr, "fhd: {}{}\n", joined->rank() > 0 ? fmt::format("process {}: ", joined->rank()) : "",
               error.what());
    std::fflush(stderr);
    throw;
  }
}

int ReconCommand::reconstruct(const std::shared_ptr<MpiProcessGroup>& team) {
  const Settings settings = of_options([&] { return recon_options.settings(); });
  Execution execution;
  of_options([&] { validate(settings); });
  const bool first = !team || team->rank() == 0;
  if (team) {
    execution.processes = team;
    if (!first) quiet = true;
    if (!recon_options.threads_are_given()) share_processors(team->local_size());
  }
  if (!output) output = default_output(scan);
  if (first) io::check_writable(*output, scan);

  const auto file = io::open_scan(scan, scan_options.read_options());
  const io::ScanSummary& summary = file->summary();
  if (!quiet) print_scan(summary);
  const auto chosen_slices = parse_selection(slices, summary.slice_count, "--slices");
  const auto chosen_repetitions = parse_selection(repetitions, summary.repetition_count, "--repetitions");

  const ChosenDevice device = device_option.choose(team ? team->local_rank() : 0);
  if (!quiet) fmt::print("device    {}\n", device.text);
  if (team && !quiet) fmt::print("team      {} processes share samples and coils\n", team->size());
  ReconEngine engine(settings, execution, device, recon_options.trajectory_cache(), first && !no_gridded_image);
  ProgressLine progress(quiet);
  const auto on_fallback = [&](const std::string& reason) {
    progress.clear();
    print_fallback(reason);
  };

  io::Provenance provenance{program_version,
                            command_line(),
                            scan,
                            io::sha256_of(scan),
                            utc_now(),
                            ReconOptions::environment(),
                            {},
                            chosen_repetitions,
                            chosen_slices};
  io::ImageSeries series;
  series.repetition_count = static_cast<std::int64_t>(chosen_repetitions.size());
  series.slice_count = static_cast<std::int64_t>(chosen_slices.size());
  io::ImageSeries gridded{series.repetition_count, series.slice_count, {}};
  io::CompanionResults beside;

  for (const auto& entry : device.environment()) provenance.environment.push_back(entry);
  for (const auto repetition : chosen_repetitions)
    for (const auto slice : chosen_slices) {
      const std::size_t done = series.images.size(), total = chosen_repetitions.size() * chosen_slices.size();
      if (total > 1) progress.set_context(fmt::format("image {} of {}", done + 1, total));
      ReconResult made = engine(file->read(slice, repetition), progress.callback(), on_fallback);
      Reconstruction& result = made.reconstruction;
      progress.clear();
      if (const auto& c = result.report.certificate; c && !c->passed)
        fmt::print(stderr, "fhd: warning: image {}: the result is less accurate than asked: {}\n", done + 1,
                   certificate_line(*c));
      if (!quiet) {
        if (done == 0 && verbose && !result.report.device_memory.empty()) {
          const auto print_memory = [](std::size_t bytes, const std::string& what) {
            fmt::print("memory    {:>9.1f} MiB  {}\n", static_cast<double>(bytes) / (1 << 20), what);
          };
          for (const auto& [what, bytes] : result.report.device_memory) print_memory(bytes, what);
          print_memory(result.report.device_peak_bytes, "measured");
        }
        if (done == 0)
          for (const auto& note : result.report.notes) fmt::print("note      {}\n", note);
        fmt::print("image     {}{}\n", total > 1 ? fmt::format("{} of {}: ", done + 1, total) : "",
                   describe(result.report));
        if (result.report.certificate && (done == 0 || verbose))
          fmt::print("accuracy  {}\n", certificate_line(*result.report.certificate));
      }
      if (done == 0) beside.diagnostic_images = std::move(result.diagnostic_images);
      if (made.gridded) gridded.images.push_back(std::move(*made.gridded));
      series.images.push_back(std::move(result.image));
      provenance.reports.push_back(std::move(result.report));
    }
  if (!first) return 0;
  if (!io::lie_on_affine(series)) {
    const std::string note =
        "the slices are not equally spaced in the order chosen: the NIfTI file places them at their mean "
        "distance";
    provenance.reports.front().notes.push_back(note);
    if (!quiet) fmt::print("note      {}\n", note);
  }
  if (gridded.images.size() == series.images.size()) beside.gridded = std::move(gridded);
  io::write_results(*output, series, provenance, beside);
  if (!quiet) fmt::print("wrote     {0}.png {0}.nii.gz {0}.h5 {0}.json\n", *output);
  return 0;
}

}  // namespace

Run add_recon(CLI::App& app) {
  const auto command = std::make_shared<ReconCommand>();
  app.add_option("SCAN", command->scan, "ISMRMRD or fhd HDF5 file, BART .cfl, or IMPATIENT directory")
      ->required();
  app.add_option("-o,--output", command->output,
                 "prefix of the results: OUT.h5 .nii.gz .png .json [SCAN_recon]");
  app.add_option("--slices", command->slices, "which slices: all, or such as 0-3,7")->capture_default_str();
  app.add_option("--repetitions", command->repetitions, "which repetitions: all, or such as 0-3,7")
      ->capture_default_str();
  app.add_flag("--quiet", command->quiet, "print nothing but errors");
  app.add_flag("--verbose", command->verbose, "also print what is planned of a GPU's memory");
  app.add_flag("--no-gridded-image", command->no_gridded_image,
               "leave out the gridded image that OUT.h5 holds beside the other, as /gridded");
  command->device_option.add_to(app);
  command->recon_options.add_to(app);
  command->scan_options.add_to(app);
  return [command] { return command->run(); };
}

}  // namespace fhd::app

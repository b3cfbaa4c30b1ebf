// fhd recon: from a scan file to an image.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/batch/scans.hpp"
#include "app/commands/commands.hpp"
#include "app/options/recipe.hpp"
#include "app/options/run_options.hpp"
#include "app/run/outputs.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/scan_run.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/processes.hpp"
#include "app/terminal/run_printer.hpp"
#include "app/terminal/timeline.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {
namespace {

struct ReconCommand {
  std::string scan;
  std::optional<std::string> output;
  bool quiet = false, verbose = false, force = false;
  RunOptions options;

  int run(const std::shared_ptr<MpiTeam>& team);
  std::string checked_prefix() const;
  void require_output(const RunOptions& of_run, const std::string& prefix) const;
  void require_stacks(const ScanRun& run, const std::string& prefix,
                      const io::ChecksumInBackground& checksum) const;
  void keep_in_folder(ScanResults& results, const std::string& prefix,
                      const io::ChecksumInBackground& checksum, RunPrinter& printer) const;
  void finish(ScanRun& run, const io::OutputLock& lock, const std::string& prefix,
              const io::ChecksumInBackground& checksum) const;
};

std::string ReconCommand::checked_prefix() const {
  // Beside the user, not beside the data, and never the input's own name.
  if (!output) return plain_name(scan) + "_recon";
  return prefix_of(*output);
}

/// Throws Error where the results cannot be written, or would overwrite what is read.
void ReconCommand::require_output(const RunOptions& of_run, const std::string& prefix) const {
  auto inputs = inputs_of({scan}, of_run.read_options);
  if (const auto& girf = of_run.correction.girf; !girf.empty()) inputs.push_back(girf);
  for (const auto& [what, file] : of_run.frames.files()) inputs.push_back(file);
  io::check_writable(request_of(of_run, prefix), inputs);
}

/// Throws Error where a file of the results cannot be written or replaced, those of every stack of slices among them.
void ReconCommand::require_stacks(const ScanRun& run, const std::string& prefix,
                                  const io::ChecksumInBackground& checksum) const {
  const auto request = request_of(run, prefix);
  if (request.stack_count > 1) io::check_writable(request, run.results.inputs());
  io::require_replaceable(request, scan, checksum, {.force = force});
}

/// Prints the memory that the run is planned to take.
void say_plan(const ScanRun& run, Device device) {
  const Estimate made =
      estimate_of(run, device, /*images_wait_in_memory=*/run.settings->options.frames.asks());
  const auto images = run.results.volumes().size();
  auto text = fmt::format("{} image{}: {} of this machine's memory", images, images == 1 ? "" : "s",
                          memory_text(static_cast<double>(made.host.peak_bytes())));
  if (device.is_cuda())
    text += fmt::format(", {} of the GPU's", memory_text(static_cast<double>(made.device.peak_bytes())));
  say("planned", text);
}

int ReconCommand::run(const std::shared_ptr<MpiTeam>& team) {
  const auto settings = of_options([&] { return std::make_shared<const RunSettings>(options); });
  const bool is_first = !team || team->rank() == 0;
  Execution execution;
  if (team) {
    share_work(*team, *settings);
    execution.processes = team;
  }
  quiet = quiet || !is_first;
  const auto prefix = checked_prefix();
  std::optional<io::OutputLock> lock;
  if (is_first) {
    require_output(settings->options, prefix);
    lock.emplace(prefix);
  }
  // The checksum begins ahead of the scan, and is of the same content if the files have not changed by then.
  io::complete_interrupted_set(scan);
  const io::InputStamps stamps(io::files_of_scan(scan));
  const io::ChecksumInBackground checksum(scan);
  auto opened = io::read_unchanged(
      stamps, [&] { return open_and_start_devices(scan, *settings, team ? team->local_rank() : -1); });
  const auto run = open_run(std::move(opened.first), scan, settings, command_line());
  if (!quiet) print_scan(run->file->summary());
  if (is_first) require_stacks(*run, prefix, checksum);
  RunPrinter printer(quiet, verbose);
  // The processes of a team would all have to know which volumes are left.
  if (!team && !options.frames.asks() && run->results.volumes().size() > 1)
    keep_in_folder(run->results, prefix, checksum, printer);
  run->takes_series = [&, takes_series = run->takes_series](const Scan& volume) {
    const bool is_shared = options.device.names_several() && shares_volumes(*run, opened.second->get());
    return !team && !is_shared && takes_series(volume);
  };
  if (run->results.volumes().size() > 1) keep_freed_memory();
  start_reading(*run);
  if (!is_first) run->scan_warnings.clear();  // the first process prints them
  const auto& devices = opened.second->get();
  if (!quiet) say("device", text_of(devices));
  if (team && !quiet) say("team", fmt::format("{} processes share samples and coils", team->size()));
  if (verbose && !quiet) say_plan(*run, devices.front().device);
  reconstruct(*run, engines_of(*run, devices, execution), printer.events());
  printer.print_summary();
  if (team) require_unchanged_for_all(*team, run->file->summary());
  if (is_first) finish(*run, *lock, prefix, checksum);
  return 0;
}

/// Stores the images of a long series in a folder, in which an interrupted run of the same series goes on.
void ReconCommand::keep_in_folder(ScanResults& results, const std::string& prefix,
                                  const io::ChecksumInBackground& checksum, RunPrinter& printer) const {
  const auto identity = [&results, &checksum, this] {
    results.set_checksum(checksum.get());
    return identity_of(options, results.provenance());
  };
  const auto host = [&results] { return results.host(); };
  const auto total = results.volumes().size();
  const auto folder = std::make_shared<io::SeriesFolder>(prefix, total, identity, host, force);
  if (const auto there = folder->finished_count(); there > 0 && !quiet)
    say("note", fmt::format("{} of {} images are in {} from an earlier run{}", there, total, folder->path(),
                            there < total ? "; the others follow" : ""));
  results.keep_in(folder, [&](const Report& report) { printer.count_earlier(report, total); });
}

/// Writes the results, and prints what was written and which files there are of an earlier run.
void ReconCommand::finish(ScanRun& run, const io::OutputLock& lock, const std::string& prefix,
                          const io::ChecksumInBackground& checksum) const {
  run.results.require_trust(options.strict);
  run.results.set_checksum(checksum.get());
  require_stacks(run, prefix, checksum);  // their number is certain now
  const auto written = write_results(run, lock, prefix);
  if (const auto note = run.results.note_of_patient(request_of(options, prefix)); !note.empty() && !quiet)
    say("note", note);
  if (tells_events())
    tell_event("written", {{"files", written}});
  else if (!quiet)
    print_out("wrote     {}\n", fmt::format("{}", fmt::join(written, " ")));
  // A phase, map or picture of an earlier run is no part of this result, nor are files of other stacks of slices.
  io::ResultRequest maps(prefix, {{"phase", ""}}), of_stacks(prefix, {{"phase", ""}});
  maps.add_noise_maps();
  of_stacks.stack_count = stacks_of(run.file->summary().slice_geometries).size() + 1;  // of all slices
  if (of_stacks.stack_count < 2) of_stacks.stack_count = 2;
  auto may_be_there = io::files_of_results(maps);
  std::ranges::copy(io::files_of_results(of_stacks), std::back_inserter(may_be_there));
  for (const auto& older : may_be_there) {
    std::error_code status;
    const auto result = io::without_result_ending(older);
    const bool is_older = std::filesystem::exists(older, status) &&
                          std::find(written.begin(), written.end(), older) == written.end() &&
                          (result == prefix || !std::filesystem::exists(result + ".json", status));
    if (is_older && !quiet) say("note", fmt::format("{} is of an earlier run; this one makes none", older));
  }
}

}  // namespace

Run add_recon(CLI::App& app) {
  const auto command = std::make_shared<ReconCommand>();
  RunOptions& options = command->options;
  app.add_option("SCAN", command->scan,
                 "ISMRMRD or fhd HDF5 file, BART .cfl, IMPATIENT directory, or Siemens .dat")
      ->required();
  app.add_option("-o,--output", command->output,
                 "prefix of the results: OUT.h5 .nii.gz .png .json [SCAN_recon]");
  app.add_flag("--force", command->force,
               "overwrite what is there under these names, also a result of another scan");
  app.add_flag("--quiet", command->quiet, "print nothing but errors");
  app.add_flag("--verbose", command->verbose,
               "also print the memory that is planned, before the work, and what a GPU took");
  add_options(app, options, in_recon);
  const auto run = [command] {
    return run_in_team([&](const std::shared_ptr<MpiTeam>& team) { return command->run(team); });
  };
  return with_event_lines(app, with_recipe(app, options, in_recon, with_timeline(app, run)));
}

}  // namespace fhd::app

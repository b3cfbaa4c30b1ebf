// fhd batch: many scans, one command, nothing lost.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/batch/log.hpp"
#include "app/batch/noise_files.hpp"
#include "app/batch/scans.hpp"
#include "app/batch/scheduler.hpp"
#include "app/batch/summary.hpp"
#include "app/batch/work.hpp"
#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/options/table.hpp"
#include "app/run/outputs.hpp"
#include "app/run/scan_run.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/ending.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/processes.hpp"
#include "app/terminal/processors.hpp"
#include "app/terminal/timeline.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/sha256.hpp"
#include "io/page/page_parts.hpp"
#include "io/page/report_page.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

using Clock = std::chrono::steady_clock;

struct BatchCommand {
  std::vector<std::string> scans;
  std::string output, recipe, name;
  int at_once = 0;
  std::uint64_t memory_mib = 0;
  bool quiet = false, accept_version = false, lists_missing = false;
  std::vector<std::string> only;
  std::string shard;
  RunOptions options;
  CLI::App* app = nullptr;

  int run();
  BatchList listed() const;
  bool is_part() const { return !only.empty() || !shard.empty(); }
  void plan_workers_of(BatchWork& work, int gpus, BatchLog& log) const;
  bool do_scans(const BatchWork& work, BatchLog& log, Clock::time_point start) const;
  bool summarise(std::vector<Outcome> outcomes, BatchLog& log, double seconds) const;
};

void print_missing(const BatchWork& work) {
  for (std::size_t scan = 0; scan < work.scans.size(); ++scan)
    if (const auto missing = missing_in_folder(work, scan))
      print_json(
          {{"name", work.scans[scan].name}, {"path", work.scans[scan].path}, {"reason", missing->code}}, -1);
}

int BatchCommand::run() {
  const auto start = Clock::now();
  std::optional<GpuCount> gpus;
  if (options.device.name != "cpu" && !lists_missing) gpus.emplace();
  BatchList list = of_options([&] { return listed(); });
  BatchWork work =
      of_options([&] { return plan_work(*app, options, recipe, output, std::move(list.scans)); });
  work.accepts_version = accept_version;
  work.names = std::move(list.names);
  if (lists_missing) {
    print_missing(work);
    return 0;
  }
  make_folder("-o", output);
  io::require_writable_folder((std::filesystem::path(output) / "summary.json").string());
  if (!is_part()) {
    require_own_summaries(output);
    io::require_own_page((std::filesystem::path(output) / "index.html").string(),
                         "move it, or choose another folder (-o)");
  }
  BatchLog log(output, quiet, is_part(), work.scans.size());
  if (log.has_locks()) remove_leftovers(output);
  static_cast<void>(io::Sha256(output));  // libcrypto begins once, and not in each worker
  plan_workers_of(work, gpus ? gpus->get() : 0, log);
  for (const auto& note : list.notes) log.line("note      " + note);

  const bool complete = do_scans(work, log, start);
  if (const int signal = StopRequests::caught()) {
    tell_end_by_signal(signal);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  return complete ? 0 : 1;
}

/// Plans the workers, and prints how many they are.
void BatchCommand::plan_workers_of(BatchWork& work, int gpus, BatchLog& log) const {
  const auto& device = options.device.name;
  const int scan_count = static_cast<int>(work.scans.size());
  work.threads = options.threads > 0 ? bounded_threads(options.threads) : default_threads();
  const int wanted = at_once > 0 ? at_once : work.threads;
  const int device_count = static_cast<int>(devices_of(device, gpus).size());
  const bool are_few = scan_count < std::max(wanted, device_count);
  work.workers = plan_workers(device, gpus, work.threads, are_few ? std::max(1, scan_count) : at_once);
  work.memory_bytes = memory_to_use(memory_mib);
  const auto counted = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const int used = std::min(device_count, static_cast<int>(work.workers.size()));
  log.line(fmt::format("{} scans, {} at a time on {}{}, results in {}", scan_count,
                       engine_count(work.workers, false), counted(work.threads, "thread"),
                       used > 0 ? " and " + counted(used, "GPU") : "", output));
}

/// Returns whether all scans have results and the summary is written. Signals only stop the work meanwhile.
bool BatchCommand::do_scans(const BatchWork& work, BatchLog& log, Clock::time_point start) const {
  const StopRequests stop_requests;
  // Also where an error ends the batch, after the workers have gone.
  const std::shared_ptr<void> at_the_end(nullptr, [&](void*) {
    try {
      if (log.has_locks()) remove_leftovers(output);
    } catch (const std::exception&) {  // the next batch removes them
    }
  });
  const auto [outcomes, stopped, workers] = do_batch(work, log);
  const bool summarised =
      summarise(outcomes, log, std::chrono::duration<double>(Clock::now() - start).count());
  if (!stopped.empty()) log.failure("stopped: " + stopped);
  using enum Outcome::Status;
  const auto ends = totals(outcomes);
  return summarised && ends[failed] == 0 && ends[open] == 0 &&
         (is_part() || ends[finished] + ends[unchanged] > 0);
}

BatchList BatchCommand::listed() const {
  const bool are_named = app->get_option("--name")->count() > 0;
  const auto name_of = are_named ? names_by(name, options.selection, options.read_options) : NameOfScan();
  BatchList list = list_scans(scans, output, name_of);
  serve_noise(list);
  if (!only.empty()) keep_named(list.scans, only);
  if (!shard.empty()) keep_shard(list.scans, shard);
  return list;
}

/// Prints the summary and, of a whole batch, writes it and the index page: parts leave that to a run after them, which
/// finds all scans done. Returns false where one could not be written.
bool BatchCommand::summarise(std::vector<Outcome> outcomes, BatchLog& log, double seconds) const {
  std::vector<std::string> written;
  bool complete = true;
  if (!is_part()) {
    add_earlier(output, outcomes);
    try {
      written = write_summary(output, outcomes, seconds);
      written.push_back(io::write_batch_pages(output, false).index);
    } catch (const Error& error) {
      log.failure(error.what());
      complete = false;
    }
  }
  log.text(summary_table(outcomes, seconds));
  if (complete) {
    tell_event("summary", json_of(totals(outcomes)));
    tell_event("written", {{"files", written}});
  }
  return complete;
}

}  // namespace

Run add_batch(CLI::App& app) {
  const auto command = std::make_shared<BatchCommand>();
  command->app = &app;
  app.add_option(
         "SCANS", command->scans,
         "scan files, patterns such as 'scans/*.h5', folders (the scans in them, not in folders inside), "
         "or @LIST, a text file with one of these per line")
      ->required();
  app.add_option("-o,--output", command->output, "folder of the results: DIR/NAME.h5 .nii.gz .png .json")
      ->type_name("DIR")
      ->required();
  app.add_option("--recipe", command->recipe,
                 "TOML or JSON file with options of 'fhd recon' for scans that fit a pattern")
      ->type_name("FILE");
  app.add_option(
         "--name", command->name,
         "what results are called, in place of NAME: text with {stem}, {scan}, {folder}, {subject}, "
         "{protocol}, {series}, {study}, {date}, {slice}, such as '{subject}_{protocol}_{slice}' [{stem}]")
      ->type_name("PATTERN");
  add_whole(app, "--at-once", command->at_once,
            "scans at a time, at most [as many as threads; on a GPU up to sixteen]", 1, 4096);
  add_whole(app, "--memory-mib", command->memory_mib, "memory to use, at most [four fifths of what is free]",
            1)
      ->type_name("MIB");
  app.add_flag(
      "--list", command->lists_missing,
      "print the scans that are not done yet, a JSON object a line (name, path, reason), and do nothing");
  app.add_option("--only", command->only,
                 "do the scan with this name alone, and write no summary (may be given several times)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  app.add_option(
         "--shard", command->shard,
         "do part K of N, 1 to N, and write no summary: N commands do all scans, at the same time or not")
      ->type_name("K/N");
  app.add_flag("--accept-version", command->accept_version,
               "keep results that another version of fhd made, where input and options are the same");
  app.add_flag("--quiet", command->quiet, "print nothing but errors");
  command->options.cache = "auto";
  add_options(app, command->options, in_batch);
  return with_event_lines(app, with_timeline(app, [command] { return command->run(); }));
}

}  // namespace fhd::app

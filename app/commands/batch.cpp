// fhd batch: many scans, one command, nothing lost.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "app/batch/log.hpp"
#include "app/batch/name_pattern.hpp"
#include "app/batch/scans.hpp"
#include "app/batch/scheduler.hpp"
#include "app/batch/state.hpp"
#include "app/batch/stop_requests.hpp"
#include "app/batch/summary.hpp"
#include "app/batch/work.hpp"
#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/options/table.hpp"
#include "app/run/scan_run.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/processes.hpp"
#include "app/terminal/processors.hpp"
#include "app/terminal/timeline.hpp"
#include "io/files/atomic_file.hpp"
#include "io/page/page_parts.hpp"
#include "io/page/report_page.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

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
  void print_missing(const BatchWork& work) const;
  BatchLimits limits(const BatchWork& work) const;
  bool do_scans(const BatchWork& work, const BatchLimits& limited, BatchLog& log,
                const std::function<double()>& elapsed) const;
  bool summarise(const BatchWork& work, const std::vector<Outcome>& outcomes, BatchLog& log,
                 double seconds) const;
};

/// Makes the folder of the results and those that it lies in. Throws Error.
void make_folder(const std::string& output) {
  std::error_code status;
  std::filesystem::create_directories(output, status);
  if (status) throw Error("-o " + output, "a folder, or a place where one can be made", status.message());
  io::require_writable_folder((std::filesystem::path(output) / "summary.json").string());
}

int BatchCommand::run() {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  BatchList list = of_options([&] { return listed(); });
  BatchWork work =
      of_options([&] { return plan_work(*app, options, recipe, output, std::move(list.scans)); });
  work.accepts_version = accept_version;
  if (lists_missing) {
    print_missing(work);
    return 0;
  }
  if (work.device != "cpu") work.gpus = gpu_count();
  make_folder(output);
  if (!is_part()) {
    require_own_summaries(output);
    io::require_own_page((std::filesystem::path(output) / "index.html").string(),
                         "move it, or choose another folder (-o)");
  }
  BatchLog log(output, quiet, is_part() ? BatchLog::Part::part : BatchLog::Part::whole, work.scans.size());
  if (log.has_locks()) remove_leftovers(output);

  const BatchLimits limited = limits(work);
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const std::size_t gpus = std::min(devices_of(work.device, work.gpus).size(), limited.workers.size());
  log.line(fmt::format("{} scans, {} at a time on {}{}, results in {}", work.scans.size(),
                       WorkerPool(limited.workers).engine_count(false),
                       counted(static_cast<std::size_t>(limited.threads), "thread"),
                       gpus > 0 ? " and " + counted(gpus, "GPU") : "", output));
  for (const auto& note : list.notes) log.line("note      " + note);

  const bool complete = do_scans(work, limited, log, elapsed);
  if (const int signal = StopRequests::caught()) {
    tell_end_by_signal(signal);
    std::fflush(stdout);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  return complete ? 0 : 1;
}

/// Returns whether all scans have results and the summary is written. Signals only stop the work meanwhile.
bool BatchCommand::do_scans(const BatchWork& work, const BatchLimits& limited, BatchLog& log,
                            const std::function<double()>& elapsed) const {
  const StopRequests stop_requests;
  BatchState state(work, log);
  std::string stopped;
  {
    BatchScheduler scheduler(work, limited, state, log);
    scheduler.run();
    stopped = scheduler.stopped();
  }  // its workers are gone; what they were writing when an error came, the next batch removes
  if (log.has_locks()) remove_leftovers(output);
  log.clear();
  const bool summarised = summarise(work, state.outcomes(), log, elapsed());
  if (!stopped.empty()) log.failure("stopped: " + stopped);
  const auto ends = totals(state.outcomes());
  return summarised && (is_part() ? ends.failed == 0 && ends.open == 0 : ends.complete());
}

void BatchCommand::print_missing(const BatchWork& work) const {
  for (std::size_t scan = 0; scan < work.scans.size(); ++scan)
    if (const auto missing = missing_in_folder(work, scan))
      print_json({{"name", work.scans[scan].name},
                  {"path", work.scans[scan].path},
                  {"reason", code(missing->reason)}},
                 -1);
}

BatchList BatchCommand::listed() const {
  NameOfScan name_of;
  if (app->get_option("--name")->count() > 0)
    name_of = [this, pattern = NamePattern(name)](const std::string& path) {
      return pattern.name_of(path, options.selection, options.read_options);
    };
  BatchList list = list_scans(scans, output, name_of);
  if (!only.empty()) keep_named(list.scans, only);
  if (!shard.empty()) keep_shard(list.scans, shard);
  return list;
}

BatchLimits BatchCommand::limits(const BatchWork& work) const {
  BatchLimits limits;
  limits.threads = options.threads > 0 ? bounded_threads(options.threads) : default_threads();
  BatchResources resources{work.device, work.gpus, limits.threads, at_once, work.cpu_stands_in};
  const std::size_t wanted = static_cast<std::size_t>(std::max(at_once > 0 ? at_once : limits.threads, 1));
  const std::size_t gpus = devices_of(work.device, work.gpus).size();
  if (work.scans.size() < std::max(wanted, gpus))
    resources.at_once = std::max(1, static_cast<int>(work.scans.size()));
  limits.workers = plan_workers(resources);
  limits.memory_bytes = memory_to_use(memory_mib);
  return limits;
}

/// Prints the summary and, of a whole batch, writes it and the index page: parts leave that to a run after them, which
/// finds all scans done. Returns false where one could not be written.
bool BatchCommand::summarise(const BatchWork& work, const std::vector<Outcome>& outcomes, BatchLog& log,
                             double seconds) const {
  auto all_scans = work.scans;
  auto all_outcomes = outcomes;
  std::vector<std::string> written;
  bool complete = true;
  if (!is_part()) {
    add_earlier(output, all_scans, all_outcomes);
    try {
      written = write_summary(output, all_scans, all_outcomes, seconds, command_line());
      written.push_back(io::write_batch_pages(output, false).index);
    } catch (const Error& error) {
      print_error(error.what());
      complete = false;
    }
  }
  log.text(summary_table(all_scans, all_outcomes, seconds));
  if (complete) {
    tell_event("summary", json_of(totals(all_outcomes)));
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
  app.add_option("--name", command->name,
                 "what results are called, in place of NAME: text with {stem}, {scan}, {folder}, {subject}, "
                 "{protocol}, "
                 "{series}, {study}, {date}, {slice}, such as '{subject}_{protocol}_{slice}' [{stem}]")
      ->type_name("PATTERN");
  add_whole(app, "--at-once", command->at_once,
            "scans at a time, at most [as many as threads; on a GPU up to sixteen]", 1, 4096);
  add_whole(app, "--memory-mib", command->memory_mib, "memory to use, at most [four fifths of what is free]", 1)
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

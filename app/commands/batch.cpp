// fhd batch: many scans, one command, nothing lost.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "app/batch/ledger.hpp"
#include "app/batch/log.hpp"
#include "app/batch/name_pattern.hpp"
#include "app/batch/scans.hpp"
#include "app/batch/scheduler.hpp"
#include "app/batch/summary.hpp"
#include "app/batch/work.hpp"
#include "app/commands/commands.hpp"
#include "app/options/checks.hpp"
#include "app/options/table.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/processes.hpp"
#include "app/terminal/processors.hpp"
#include "app/terminal/timeline.hpp"
#include "io/files/atomic_file.hpp"
#include "io/page/own_page.hpp"
#include "io/page/report_page.hpp"
#include "io/result/manifest.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

struct BatchCommand {
  std::vector<std::string> scans;
  std::string output, recipe, name;
  int at_once = 0;
  std::uint64_t memory_mib = 0;
  bool quiet = false, accept_version = false;
  RunOptions options;
  CLI::App* app = nullptr;

  int run();
  BatchList listed() const;
  BatchLimits limits(const Ranks& ranks, const BatchWork& work) const;
  void require_no_timeline_among(const std::vector<BatchScan>& scans) const;
  std::vector<std::string> summarise(const std::vector<BatchScan>& all, const std::vector<Outcome>& outcomes,
                                     double seconds) const;
};

/// Bytes that may be used: `limit_mib`, else four fifths of what is free now, shared with the ranks of this
/// machine.
std::uint64_t memory_budget(std::uint64_t limit_mib, int ranks_here) {
  if (limit_mib > 0) return limit_mib << 20;
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (file >> name >> kib && name != "MemAvailable:") file.ignore(1 << 10, '\n');
  // Where that cannot be read: without what the system keeps of files, and would give back.
  const std::uint64_t bytes = name == "MemAvailable:"
                                  ? kib * 1024
                                  : static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
                                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes / 5 * 4 / static_cast<std::uint64_t>(ranks_here);
}

/// Of the results, with those that it lies in.
void make_folder(const std::string& output) {
  std::error_code status;
  std::filesystem::create_directories(output, status);
  if (status) throw Error("-o " + output, "a folder, or a place where one can be made", status.message());
  io::require_writable_folder((std::filesystem::path(output) / "summary.json").string());
}

void tell_summary(const std::vector<Outcome>& outcomes, const std::vector<std::string>& written) {
  const auto t = totals(outcomes);
  tell_event("summary", {{"finished", t.finished},
                         {"unchanged", t.unchanged},
                         {"failed", t.failed},
                         {"suspicious", t.suspicious},
                         {"no_scans", t.images},
                         {"not_run", t.open},
                         {"earlier", t.earlier}});
  tell_event("written", {{"files", written}});
}

/// What workers were writing when an error ended the batch, and with it them, is removed after they have gone.
class RemovesStraysOnError {
 public:
  explicit RemovesStraysOnError(std::string directory) : directory_(std::move(directory)) {}
  ~RemovesStraysOnError() {
    if (std::uncaught_exceptions() == before_) return;
    try {
      remove_strays(directory_);
    } catch (const std::exception&) {  // the error that ended it is told; the next batch removes them
    }
  }
  RemovesStraysOnError(const RemovesStraysOnError&) = delete;
  RemovesStraysOnError& operator=(const RemovesStraysOnError&) = delete;

 private:
  std::string directory_;
  int before_ = std::uncaught_exceptions();
};

int BatchCommand::run() {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Ranks ranks = Ranks::of_environment();
  BatchList list = of_options([&] { return listed(); });
  BatchWork work =
      of_options([&] { return plan_work(*app, options, recipe, output, ranks, std::move(list.scans)); });
  work.accepts_version = accept_version;
  require_no_timeline_among(work.scans);
  make_folder(output);
  require_own_summaries(output);
  io::require_own_page((std::filesystem::path(output) / "index.html").string(),
                       "move it, or choose another folder (-o)");
  remove_strays(output);

  const BatchLimits limited = limits(ranks, work);
  BatchLog log(output, quiet, ranks, work.scans.size());
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const std::size_t gpus = std::min(devices_of(work.device, work.gpus).size(), limited.crews.size());
  log.line(fmt::format("{} scans, {} at a time on {}{}, results in {}", work.scans.size(),
                       Roster(limited.crews).engine_count(false),
                       counted(static_cast<std::size_t>(limited.threads), "thread"),
                       gpus > 0 ? " and " + counted(gpus, "GPU") : "", output));
  for (const auto& note : list.notes) log.line("note      " + note);

  std::optional<StopRequests> stop_requests(std::in_place);
  const RemovesStraysOnError of_ended_workers(output);
  BatchLedger ledger(work, log);
  BatchScheduler scheduler(work, limited, ledger, log);
  scheduler.run();
  log.clear();
  auto all_scans = work.scans;
  auto all_outcomes = ledger.outcomes();
  add_earlier(output, all_scans, all_outcomes);
  const auto written = summarise(all_scans, all_outcomes, elapsed());
  const bool summarised = !written.empty();
  if (ranks.first()) {
    log.text(summary_table(all_scans, all_outcomes, elapsed()));
    if (summarised) tell_summary(all_outcomes, written);
  }
  if (!scheduler.stopped().empty()) log.failure("stopped: " + scheduler.stopped());
  stop_requests.reset();
  if (const int signal = StopRequests::caught()) {
    tell_end_by_signal(signal);
    std::fflush(stdout);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  return summarised && totals(ledger.outcomes()).complete() ? 0 : 1;
}

BatchList BatchCommand::listed() const {
  if (app->get_option("--name")->count() == 0) return list_scans(scans, output);
  const NamePattern pattern(name);
  return list_scans(scans, output, [&](const std::string& path) {
    return pattern.name_of(path, options.selection, options.read_options);
  });
}

BatchLimits BatchCommand::limits(const Ranks& ranks, const BatchWork& work) const {
  BatchLimits limits;
  const int given = options.threads;
  limits.threads = given > 0                  ? bounded_threads(given)
                   : threads_of_environment() ? default_threads()
                                              : std::max(1, usable_processors() / ranks.here());
  BatchResources resources{work.device, work.gpus, limits.threads, at_once, work.cpu_stands_in};
  const std::size_t wanted = static_cast<std::size_t>(std::max(at_once > 0 ? at_once : limits.threads, 1));
  const std::size_t gpus = devices_of(work.device, work.gpus).size();
  if (work.scans.size() < std::max(wanted, gpus))
    resources.at_once = std::max(1, static_cast<int>(work.scans.size()));
  limits.crews = crews_of(resources);
  limits.memory_bytes = memory_budget(memory_mib, ranks.here());
  return limits;
}

/// Beside the results of these scans, which are there before it.
void BatchCommand::require_no_timeline_among(const std::vector<BatchScan>& all) const {
  if (app->get_option("--trace")->count() == 0) return;
  std::vector<std::string> results;
  for (const auto& scan : all) {
    const auto prefix = (std::filesystem::path(output) / scan.name).string();
    for (const auto& files : {io::files_of_results(prefix, options.phase, options.noise_map.given()),
                              SeriesFormats(options, prefix).names()})
      results.insert(results.end(), files.begin(), files.end());
    results.push_back(io::manifest_path(output, scan.name));
  }
  require_other_than_timeline(*app, results);
}

/// Writes the summaries and the index page: their names; none where one of them could not be written.
std::vector<std::string> BatchCommand::summarise(const std::vector<BatchScan>& all,
                                                 const std::vector<Outcome>& outcomes, double seconds) const {
  bool complete = true;
  std::vector<std::string> written;
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (const Error& error) {
      print_error(error.what());
      complete = false;
    }
  };
  attempt([&] { written = write_summary(output, all, outcomes, seconds, command_line()); });
  attempt([&] {
    if (!complete) return;
    const Claim claim =
        Claim::wait(output, "index");  // without it another process takes the half-written page for a stray
    written.push_back(io::write_batch_index(output));
  });
  attempt([&] { remove_strays(output); });  // also where a full disk has no room for a summary
  return complete ? written : std::vector<std::string>{};
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
  app.add_option("--at-once", command->at_once,
                 "scans at a time, at most [as many as threads; on a GPU up to sixteen]")
      ->type_name("N")
      ->check(whole_number(1, 4096));
  app.add_option("--memory-mib", command->memory_mib, "memory to use, at most [four fifths of what is free]")
      ->type_name("MIB")
      ->check(whole_number(1));
  app.add_flag("--accept-version", command->accept_version,
               "keep results that another version of fhd made, where input and options are the same");
  app.add_flag("--quiet", command->quiet, "print nothing but errors");
  command->options.cache = "auto";
  add_options(app, command->options, in_batch);
  return with_event_lines(app, with_timeline(app, [command] { return command->run(); }));
}

}  // namespace fhd::app

// fhd batch: many scans, one command, nothing lost.
#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "app/batch/claims.hpp"
#include "app/batch/job.hpp"
#include "app/batch/log.hpp"
#include "app/batch/ranks.hpp"
#include "app/batch/recipe.hpp"
#include "app/batch/scans.hpp"
#include "app/batch/summary.hpp"
#include "app/batch/worker.hpp"
#include "app/commands.hpp"
#include "io/result/atomic_file.hpp"
#include "io/page/report_page.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stop_signal = 0;

/// While it lives, signals that ask the process to end only raise a flag.
class StopRequests {
 public:
  StopRequests() {
    for (const int number : numbers) {
      struct sigaction action {};
      sigaction(number, nullptr, &action);
      before_.push_back(action);
      if (action.sa_handler == SIG_IGN) continue;  // nohup
      action.sa_handler = [](int caught) { stop_signal = caught; };
      action.sa_flags = 0;  // interrupts poll
      sigaction(number, &action, nullptr);
    }
  }
  ~StopRequests() {
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
  }
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

 private:
  static constexpr std::array numbers{SIGHUP, SIGINT, SIGTERM};
  std::vector<struct sigaction> before_;
};

struct BatchCommand {
  std::vector<std::string> scans;
  std::string output, recipe;
  int at_once = 0;
  std::uint64_t memory_mib = 0;
  bool quiet = false;
  JobOptions options;
  CLI::App* app = nullptr;

  int run();
  BatchWork plan(Ranks& ranks, BatchList list) const;
};

/// "--name=value" of every option that was given and is among `names`.
std::map<std::string, std::vector<std::string>> given(const CLI::App& app,
                                                      const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto* option : app.get_options())
    if (option->count() > 0 && names.count(option->get_name()))
      values[option->get_name()] = option->results();
  return values;
}

/// What a manifest tells of an option: a file also by its content.
std::string recorded(const std::string& value) {
  std::error_code status;
  return fs::is_regular_file(value, status) ? value + " sha256 " + io::sha256_of(value) : value;
}

BatchWork BatchCommand::plan(Ranks& ranks, BatchList list) const {
  BatchWork work;
  work.directory = output;
  work.command_line = command_line();
  const auto names = job_option_names();
  const auto common = given(*app, names.of_scans);
  auto shared = given(*app, names.of_batch);
  shared.erase("--threads");  // of the whole batch: shared out over the scans
  shared.erase("--verbose");
  if (const auto device = ranks.choose_device(app->get_option("--device")->as<std::string>());
      !device.empty())
    shared["--device"] = {device};
  const auto entries = recipe.empty() ? std::vector<RecipeEntry>{} : read_recipe(recipe, names.of_scans);
  // Every line by itself first: its mistakes are its own.
  for (const auto& entry : entries) try {
      JobOptions{{entry.option + "=" + entry.value}};
    } catch (const Error& error) {
      throw Error(entry.where, "", error.what());
    }

  std::map<std::vector<std::string>, std::size_t> known;
  for (const auto& scan : list.scans) {
    BatchSettings settings;
    auto values = common;
    for (const auto& entry : entries)
      if (fits(entry.pattern, scan.path)) {
        values[entry.option] = {entry.value};
        settings.where += (settings.where.empty() ? "" : ", ") + entry.where;
      }
    for (const auto& [name, texts] : values)
      for (const auto& text : texts) settings.arguments.push_back(name + "=" + text);
    const auto [place, is_new] = known.emplace(settings.arguments, work.settings.size());
    work.settings_of.push_back(place->second);
    if (!is_new) continue;
    for (const auto& [name, texts] : values)
      settings.recorded.emplace_back(name, recorded(fmt::format("{}", fmt::join(texts, " "))));
    for (const auto& [name, texts] : shared)
      for (const auto& text : texts) settings.arguments.push_back(name + "=" + text);
    try {
      const JobOptions parsed(settings.arguments);
      validate(parsed.recon.settings());
    } catch (const Error& error) {
      throw Error(settings.where.empty() ? scan.path : scan.path + " with " + settings.where, "",
                  error.what());
    }
    work.settings.push_back(std::move(settings));
  }
  work.scans = std::move(list.scans);
  return work;
}

/// Bytes that may be used: `limit_mib`, else four fifths of what is free now, shared with the ranks of this
/// machine.
std::uint64_t memory_budget(std::uint64_t limit_mib, int ranks_here) {
  if (limit_mib > 0) return limit_mib << 20;
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemAvailable:") break;
    file.ignore(1 << 10, '\n');
  }
  return kib * 1024 / 5 * 4 / static_cast<std::uint64_t>(ranks_here);
}

/// Hands out the scans to workers and follows them to their end.
class Batch {
 public:
  Batch(const BatchWork& work, int threads, int at_once, std::uint64_t budget, BatchLog& log)
      : work_(work),
        threads_(threads),
        at_once_(at_once),
        budget_(budget),
        log_(log),
        outcomes_(work.scans.size()),
        state_(work.scans.size()) {
    for (std::size_t i = 0; i < work.scans.size(); ++i) open_.push_back(i);
    // Scans with the same settings one after the other: they share what depends on the trajectory.
    std::stable_sort(open_.begin(), open_.end(),
                     [&](std::size_t a, std::size_t b) { return work.settings_of[a] < work.settings_of[b]; });
  }

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  /// Why the batch ended early; empty when it did not.
  const std::string& stopped() const { return stopped_; }

  void run() {
    while (true) {
      if (stop_signal != 0) stopped_ = strsignal(stop_signal);
      if (!stopped_.empty()) return abandon();
      hand_out();
      start_planned();
      if (in_flight() == 0 && open_.empty() && elsewhere_.empty()) return;
      wait_for_events();
      log_.show(totals(outcomes_), in_flight());
    }
  }

 private:
  struct State {
    std::optional<Claim> claim;
    std::string reason;       // why it is done again
    std::uint64_t bytes = 0;  // planned
    bool alone = false;       // a worker that did it died: nothing else is given to its next one
  };
  struct ReconstructingWorker {
    explicit ReconstructingWorker(const BatchWork& work) : worker(work) {}
    Worker worker;
    std::set<std::size_t> examined, planned, running, writing;
    std::size_t size() const { return examined.size() + planned.size() + running.size() + writing.size(); }
    bool alone = false;
  };

  std::size_t in_flight() const {
    std::size_t count = 0;
    for (const auto& team : teams_) count += team.size();
    return count;
  }

  // --- Giving out work

  void hand_out() {
    const auto now = Clock::now();
    if (open_.empty() && !elsewhere_.empty() && now - looked_ > std::chrono::milliseconds(200)) {
      looked_ = now;
      open_.swap(elsewhere_);
    }
    while (!open_.empty() && stop_signal == 0) {
      ReconstructingWorker* team = free_team();
      if (!team) return;
      const std::size_t scan = open_.front();
      // A scan that killed a worker gets one for itself.
      if (state_[scan].alone && team->size() > 0) return;
      open_.pop_front();
      if (!take(scan)) continue;
      team->alone = state_[scan].alone;
      team->examined.insert(scan);
      team->worker.examine(scan);
    }
  }

  /// A worker that can look at one more scan: one that has nothing waiting, the least busy first.
  ReconstructingWorker* free_team() {
    ReconstructingWorker* best = nullptr;
    for (auto& team : teams_)
      if (!team.alone && team.examined.empty() && team.planned.empty() && team.running.size() < 2 &&
          team.size() < 4 && (!best || team.size() < best->size()))
        best = &team;
    if ((!best || best->size() > 0) && static_cast<int>(teams_.size()) < at_once_) {
      teams_.emplace_back(work_);
      best = &teams_.back();
    }
    return best;
  }

  /// Whether the scan is left to us to do. Otherwise it is done, or another process has it.
  bool take(std::size_t scan) {
    State& state = state_[scan];
    if (adopt(scan)) return false;
    if (!state.claim) {
      auto claim = Claim::take(work_.directory, work_.scans[scan].name);
      if (!claim) {
        elsewhere_.push_back(scan);
        return false;
      }
      state.claim.emplace(std::move(*claim));
      if (adopt(scan)) {  // ended by another process since we looked
        state.claim.reset();
        return false;
      }
    }
    remove_temporaries(work_.directory, work_.scans[scan].name);
    return true;
  }

  /// Takes the outcome from the manifest if nothing is left to do; else finds out why the scan is done again.
  bool adopt(std::size_t scan) {
    auto manifest = io::read_manifest(io::manifest_path(work_.directory, work_.scans[scan].name));
    std::string& reason = state_[scan].reason;
    reason.clear();
    if (!manifest) return false;
    const bool now = manifest->ended_ns >= began_ns_;
    if (manifest->status == io::Manifest::Status::failed) {
      reason = "failed before";
      // Another process of this run has tried it, or will tell the same.
      if (!now || !same_work(*manifest, scan)) return false;
      end(scan, Outcome::Status::failed, manifest->error);
      return true;
    }
    if (manifest->program_version != program_version) reason = "made by version " + manifest->program_version;
    if (manifest->settings != work_.settings[work_.settings_of[scan]].recorded) reason = "settings changed";
    if (reason.empty())
      if (const auto missing = io::missing_product(work_.directory, *manifest))
        reason = *missing + " is missing or changed";
    if (!reason.empty()) return false;
    try {
      if (io::same_stamps(*manifest, io::stamps_of(work_.scans[scan].path)) ||
          (now && same_work(*manifest, scan))) {
        end(scan, now ? Outcome::Status::finished : Outcome::Status::unchanged);
        return true;
      }
    } catch (const Error&) {
      // The scan is gone: that is for the worker to tell.
    }
    reason = "input changed";
    return false;
  }

  bool same_work(const io::Manifest& manifest, std::size_t scan) const {
    return manifest.scan == absolute_path(work_.scans[scan].path) &&
           manifest.settings == work_.settings[work_.settings_of[scan]].recorded &&
           manifest.program_version == program_version;
  }

  // --- Memory

  std::uint64_t bytes_in_use() const {
    std::uint64_t bytes = 0;
    for (const auto& team : teams_)
      for (const auto* group : {&team.running, &team.writing})
        for (const auto scan : *group) bytes += state_[scan].bytes;
    return bytes;
  }

  void start_planned() {
    for (auto& team : teams_)
      while (!team.planned.empty()) {
        const std::size_t scan = *team.planned.begin();
        const std::uint64_t bytes = state_[scan].bytes;
        if (bytes > budget_) {
          team.planned.erase(scan);
          team.worker.forget(scan);
          fail_here(scan, fmt::format(
                              "{}: expected a scan that fits into memory, found {} MiB planned and {} MiB to "
                              "use; give --memory-mib if there is more, or run it on a larger machine",
                              work_.scans[scan].path, (bytes >> 20) + 1, budget_ >> 20));
          continue;
        }
        if (bytes_in_use() + bytes > budget_) return;
        team.planned.erase(scan);
        team.running.insert(scan);
        // Small scans take one thread each; of large ones as many share the threads as fit into memory.
        const auto fit = static_cast<int>(std::min<std::uint64_t>(budget_ / bytes, 1 << 20));
        team.worker.reconstruct(scan, std::max(1, threads_ / std::max(1, std::min(at_once_, fit))));
      }
  }

  // --- Events

  void wait_for_events() {
    std::vector<pollfd> descriptors;
    for (const auto& team : teams_) descriptors.push_back({team.worker.descriptor(), POLLIN, 0});
    ::poll(descriptors.data(), descriptors.size(), 100);
    for (auto team = teams_.begin(); team != teams_.end();) {
      for (const auto& event : team->worker.events()) handle(*team, event);
      const auto next = std::next(team);
      if (!team->worker.alive()) bury(team);
      team = next;
    }
  }

  void handle(ReconstructingWorker& team, const WorkerEvent& event) {
    const std::string kind = event.at("event");
    const std::size_t scan = event.at("scan");
    if (kind == "planned") {
      team.examined.erase(scan);
      team.planned.insert(scan);
      state_[scan].bytes = event.at("bytes");
    } else if (kind == "progress") {
      log_.set_progress(work_.scans[scan].name, event.at("stage"), event.at("done"), event.at("total"),
                        event.at("residual"));
    } else if (kind == "computed") {
      team.running.erase(scan);
      team.writing.insert(scan);
    } else if (kind == "ended") {
      for (auto* group : {&team.examined, &team.planned, &team.running, &team.writing}) group->erase(scan);
      if (team.size() == 0) team.alone = false;
      const std::string status = event.at("status"), line = event.at("line");
      end(scan,
          status == "finished"    ? Outcome::Status::finished
          : status == "unchanged" ? Outcome::Status::unchanged
          : status == "images"    ? Outcome::Status::images
                                  : Outcome::Status::failed,
          line);
      // Further scans would be computed for nothing.
      for (const int full : {ENOSPC, EDQUOT})
        if (status == "failed" && line.find(std::strerror(full)) != std::string::npos)
          stopped_ =
              fmt::format("{}: {}; run again when there is space", work_.directory, std::strerror(full));
    }
  }

  /// A worker has died. With one scan under way that scan is the reason; of several each gets a second
  /// chance, alone.
  void bury(std::list<ReconstructingWorker>::iterator dead) {
    ReconstructingWorker& team = *dead;
    const auto cause = team.worker.cause();
    std::vector<std::size_t> scans;
    for (const auto* group : {&team.examined, &team.planned, &team.running, &team.writing})
      scans.insert(scans.end(), group->begin(), group->end());
    teams_.erase(dead);
    for (const auto scan : scans) {
      remove_temporaries(work_.directory, work_.scans[scan].name);
      if (scans.size() > 1 && !state_[scan].alone) {
        state_[scan].alone = true;
        open_.push_front(scan);
        log_.line(fmt::format("{}: done again alone, because a worker that had it {}", work_.scans[scan].name,
                              cause));
      } else {
        fail_here(scan, fmt::format("{}: the process that worked on it {}", work_.scans[scan].path, cause));
      }
    }
    if (scans.empty()) log_.line("an idle worker " + cause);
  }

  /// A failure that no worker could record.
  void fail_here(std::size_t scan, const std::string& line) {
    io::Manifest manifest;
    manifest.error = line;
    manifest.scan = absolute_path(work_.scans[scan].path);
    manifest.settings = work_.settings[work_.settings_of[scan]].recorded;
    manifest.program_version = program_version;
    manifest.ended_ns = io::now_ns();
    try {
      io::write_manifest(io::manifest_path(work_.directory, work_.scans[scan].name), manifest);
    } catch (const Error&) {
      // The summary still tells it.
    }
    end(scan, Outcome::Status::failed, line);
  }

  void end(std::size_t scan, Outcome::Status status, const std::string& line = {}) {
    Outcome& outcome = outcomes_[scan];
    const bool ours = state_[scan].claim.has_value();
    outcome.status = status;
    outcome.error = line;
    outcome.reason = status == Outcome::Status::finished ? state_[scan].reason : "";
    if (status == Outcome::Status::finished || status == Outcome::Status::unchanged)
      if (auto manifest = io::read_manifest(io::manifest_path(work_.directory, work_.scans[scan].name)))
        outcome.manifest = std::move(*manifest);
    state_[scan].claim.reset();
    log_.ended(work_.scans[scan], outcome, ours, totals(outcomes_));
  }

  /// Nothing more is finished; what is half done leaves no trace.
  void abandon() {
    std::vector<std::size_t> scans;
    for (const auto& team : teams_)
      for (const auto* group : {&team.examined, &team.planned, &team.running, &team.writing})
        scans.insert(scans.end(), group->begin(), group->end());
    teams_.clear();
    for (const auto scan : scans) {
      if (adopt(scan)) continue;  // it ended just now
      remove_temporaries(work_.directory, work_.scans[scan].name);
      state_[scan].claim.reset();
    }
  }

  const BatchWork& work_;
  const int threads_, at_once_;
  const std::uint64_t budget_;
  BatchLog& log_;
  std::vector<Outcome> outcomes_;
  std::vector<State> state_;
  std::deque<std::size_t> open_, elsewhere_;
  std::list<ReconstructingWorker> teams_;
  Clock::time_point looked_{};
  const std::int64_t began_ns_ = io::now_ns();
  std::string stopped_;
};

int BatchCommand::run() {
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Ranks ranks = Ranks::of_environment();
  std::error_code status;
  fs::create_directories(output, status);
  io::require_writable_folder((fs::path(output) / "summary.json").string());

  BatchList list = of_options([&] { return list_scans(scans, output); });
  const auto notes = list.notes;
  const BatchWork work = of_options([&] { return plan(ranks, std::move(list)); });
  remove_strays(output);

  const auto* threads_option = app->get_option("--threads");
  const int given_threads = threads_option->count() > 0 ? threads_option->as<int>() : 0;
  const int threads = given_threads > 0 ? given_threads : std::max(1, omp_get_num_procs() / ranks.here());
  const int most = std::max(1, static_cast<int>(work.scans.size()));
  const int together = std::min(most, at_once > 0 ? at_once : ranks.gpu_in_use() ? 1 : threads);

  BatchLog log(output, quiet, ranks, work.scans.size());
  log.line(fmt::format("{} scans, {} at a time on {} thread{}, results in {}", work.scans.size(), together,
                       threads, threads == 1 ? "" : "s", output));
  for (const auto& note : notes) log.line("note      " + note);

  std::optional<StopRequests> stop_requests(std::in_place);
  Batch batch(work, threads, together, memory_budget(memory_mib, ranks.here()), log);
  batch.run();
  log.clear();
  bool written = true;
  try {
    write_summary(output, work.scans, batch.outcomes(), elapsed(), work.command_line);
    remove_strays(output);
    io::write_batch_index(output);
  } catch (const Error& error) {
    written = false;
    fmt::print(stderr, "fhd: {}\n", error.what());
  }
  if (ranks.first()) log.text(summary_table(work.scans, batch.outcomes(), elapsed()));
  if (!batch.stopped().empty()) log.failure("stopped: " + batch.stopped());
  stop_requests.reset();
  if (stop_signal != 0) {
    std::fflush(stdout);
    std::signal(stop_signal, SIG_DFL);
    std::raise(stop_signal);
  }
  return written && totals(batch.outcomes()).complete() ? 0 : 1;
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
  app.add_option("--at-once", command->at_once, "scans at a time, at most [as many as threads]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--memory-mib", command->memory_mib, "memory to use, at most [four fifths of what is free]")
      ->type_name("MIB")
      ->check(CLI::PositiveNumber);
  app.add_flag("--quiet", command->quiet, "print nothing but errors");
  command->options.add_to(app);
  return [command] { return command->run(); };
}

}  // namespace fhd::app

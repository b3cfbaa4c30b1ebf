#include "app/batch/scheduler.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "app/batch/worker.hpp"
#include "app/terminal/ending.hpp"
#include "app/terminal/timeline.hpp"
#include "version.hpp"

namespace fhd::app {

namespace {

class BatchScheduler {
 public:
  BatchScheduler(const BatchWork& work, BatchLog& log)
      : work_(work), log_(log), tasks_(work.scans.size()), waiting_(work.scans.size()) {
    for (const auto& scan : work.scans) outcomes_.push_back({scan});
    for (const auto& plan : work.workers) slots_.push_back({plan});
    std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
    // Scans with the same settings follow each other: they share what depends on the trajectory.
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [&](std::size_t a, std::size_t b) { return work.settings_of[a] < work.settings_of[b]; });
  }

  /// Does all scans, or stops where a signal (StopRequests) or a full disk stops it.
  BatchEnd run() {
    while (true) {
      if (const int signal = StopRequests::caught()) stopped_ = strsignal(signal);
      if (!stopped_.empty()) break;
      hand_out();
      start_planned();
      const bool rest = std::ranges::all_of(slots_, [](const Slot& slot) { return slot.scans.empty(); });
      if (rest && waiting_.empty()) break;
      wait_for_events();
      log_.show(totals(outcomes_));
    }
    // All end at the same time. Of those that have scans nothing more is finished afterwards.
    for (auto& slot : slots_)
      if (slot.worker) slot.worker->lines.close();
    for (auto& slot : slots_) {
      if (slot.scans.empty()) continue;
      slot.worker.reset();
      for (const auto scan : slot.scans) end_by_manifest(scan);
    }
    return {std::move(outcomes_), stopped_, std::make_shared<std::vector<Slot>>(std::move(slots_))};
  }

 private:
  /// The place of a worker process, which is started for its first scan.
  struct Slot {
    WorkerPlan plan;
    std::unique_ptr<Worker> worker{};
    std::set<std::size_t> scans{};  ///< that it has
    bool is_lost = false;           ///< its device is: it gets no more scans
  };
  /// The state of a scan on its way.
  struct Task {
    enum class Stage { examined, planned, running } stage = Stage::examined;
    std::uint64_t bytes = 0;        ///< planned
    bool alone = false;             ///< a worker that did it died
    std::set<std::size_t> gave_up;  ///< slots whose device could not do it
    std::string because;            ///< why the last of them
  };

  // --- Giving out work

  void hand_out() {
    for (auto scan = waiting_.begin(); scan != waiting_.end();)
      if (give(*scan))
        scan = waiting_.erase(scan);
      else if (tasks_[*scan].gave_up.empty())
        return;  // other scans find no worker either
      else
        ++scan;
  }

  /// Returns whether a worker has the scan now, or it has failed because none is left.
  bool give(std::size_t scan) {
    Task& task = tasks_[scan];
    const auto slots = slots_for(task);
    if (slots.empty()) {
      fail(scan, task.because.empty() ? lost_ : task.because);
      return true;
    }
    // The least busy one, of idle ones rather one that is started. A scan that killed a worker gets one for itself.
    const auto business = [](const Slot* slot) {
      return std::pair(slot->scans.size(), slot->worker == nullptr);
    };
    const auto has_room = [&](const Slot& slot) {
      return slot.scans.size() < static_cast<std::size_t>(task.alone ? 1 : slot.plan.scans) &&
             std::ranges::none_of(slot.scans, [&](std::size_t other) { return tasks_[other].alone; });
    };
    Slot* best = nullptr;
    for (auto* slot : slots)
      if (has_room(*slot) && (!best || business(slot) < business(best))) best = slot;
    if (!best) return false;
    if (!best->worker) best->worker = std::make_unique<Worker>(work_, best->plan);
    best->scans.insert(scan);
    task.stage = Task::Stage::examined;
    const bool stands_in = best->plan.is_last_resort && task.because.empty();
    best->worker->lines.send({{"scan", scan}, {"because", stands_in ? lost_ : task.because}});
    return true;
  }

  /// Returns the workers that may take the scan, by their devices: the last resort only where no other may.
  std::vector<Slot*> slots_for(const Task& task) {
    std::vector<Slot*> devices, last_resort;
    for (std::size_t number = 0; number < slots_.size(); ++number)
      if (Slot& slot = slots_[number]; !slot.is_lost && !task.gave_up.contains(number))
        (slot.plan.is_last_resort ? last_resort : devices).push_back(&slot);
    return devices.empty() ? last_resort : devices;
  }

  /// Starts planned scans as far as memory reaches: small ones with one thread each; of large ones as many share the
  /// threads as fit into memory.
  void start_planned() {
    std::uint64_t in_use = 0;
    for (const auto& slot : slots_)
      for (const auto scan : slot.scans)
        if (tasks_[scan].stage == Task::Stage::running) in_use += tasks_[scan].bytes;
    for (auto& slot : slots_)
      for (const auto scan : slot.scans) {
        Task& task = tasks_[scan];
        if (task.stage != Task::Stage::planned) continue;
        if (in_use + task.bytes > work_.memory_bytes) return;
        in_use += task.bytes;
        task.stage = Task::Stage::running;
        const std::uint64_t fit = work_.memory_bytes / std::max<std::uint64_t>(task.bytes, 1);
        const auto engines =
            static_cast<std::uint64_t>(engine_count(work_.workers, slot.plan.is_last_resort));
        const int sharing = static_cast<int>(std::min(engines, fit));  // at least 1
        slot.worker->lines.send({{"scan", scan}, {"threads", std::max(1, work_.threads / sharing)}});
      }
  }

  // --- Events

  void wait_for_events() {
    std::vector<pollfd> descriptors;
    for (const auto& slot : slots_)
      if (slot.worker) descriptors.push_back({slot.worker->lines.descriptor(), POLLIN, 0});
    ::poll(descriptors.data(), descriptors.size(), 100);
    for (auto& slot : slots_) {
      if (!slot.worker) continue;
      for (const auto& event : slot.worker->lines.receive(MSG_DONTWAIT)) handle(slot, event);
      if (slot.is_lost && slot.scans.empty())
        slot.worker.reset();
      else if (!slot.worker->lines.is_open())
        end_dead_worker(slot);
    }
  }

  void handle(Slot& slot, const nlohmann::json& event) {
    if (event.contains("timeline")) add_to_timeline(event["timeline"].get<std::string>());
    const std::string kind = event.at("event");
    const std::size_t scan = event.at("scan");
    if (kind == "planned") {
      tasks_[scan].stage = Task::Stage::planned;
      tasks_[scan].bytes = event.at("bytes");
    } else if (kind == "progress") {
      log_.set_progress(work_.scans[scan].name, {event.at("stage").get<std::string>(), event.at("done"),
                                                 event.at("total"), event.value("residual", -1.0)});
    } else if (kind == "refused") {
      give_back(slot, scan, event.at("why"), event.at("lost"));
    } else if (kind == "ended") {
      slot.scans.erase(scan);
      end(scan, event.at("status").get<Outcome::Status>(), event.at("line"), event.at("reason"));
      if (const int number = event.at("no_room"); number != 0)  // further scans would be computed for nothing
        stopped_ =
            fmt::format("{}: {}; run again when there is space", work_.directory, std::strerror(number));
    }
  }

  /// Lets other workers do a scan that a device could not do.
  void give_back(Slot& slot, std::size_t scan, const std::string& why, bool lost) {
    Task& task = tasks_[scan];
    slot.scans.erase(scan);
    task.gave_up.insert(static_cast<std::size_t>(&slot - slots_.data()));
    task.because = fmt::format("{} failed: {}", slot.plan.device, why);
    if (lost && !slot.is_lost) {
      slot.is_lost = true;
      lost_ = task.because;
      log_.line(fmt::format("{}: {}", task.because,
                            slots_for({}).empty() ? "nothing else is left" : "its scans go on elsewhere"));
    }
    log_.line(fmt::format("{}: given back, because {}", work_.scans[scan].name, task.because));
    waiting_.push_front(scan);
  }

  /// Blames the scan that the worker had; where it had several, each gets a second chance, alone.
  void end_dead_worker(Slot& slot) {
    const auto cause = slot.worker->cause();
    const auto scans = std::exchange(slot.scans, {});
    slot.worker.reset();
    if (log_.has_locks()) remove_leftovers(work_.directory);
    for (const auto scan : scans) {
      const BatchScan& lost = work_.scans[scan];
      if (end_by_manifest(scan)) continue;
      if (scans.size() > 1 && !tasks_[scan].alone) {
        tasks_[scan].alone = true;
        waiting_.push_front(scan);
        log_.line(fmt::format("{}: done again alone, because a worker that had it {}", lost.name, cause));
      } else {
        fail(scan, fmt::format("{}: the process that worked on it {}", lost.path, cause));
      }
    }
    if (scans.empty()) log_.line("an idle worker " + cause);
  }

  // --- Ends of scans

  /// Records how a scan ended. `reason`: why it was done again.
  void end(std::size_t scan, Outcome::Status status, const std::string& error = {},
           const std::string& reason = {}) {
    Outcome& outcome = outcomes_[scan];
    outcome.status = status;
    outcome.error = error;
    if (has_results(outcome))
      if (auto manifest = io::read_manifest(io::manifest_path(work_.directory, work_.scans[scan].name)))
        outcome.manifest = std::move(*manifest);
    if (status == Outcome::Status::finished) outcome.reason = reason;
    if (status == Outcome::Status::unchanged && outcome.manifest.version != program_version)
      outcome.reason = "made by version " + outcome.manifest.version + ", kept";
    log_.ended(outcome, totals(outcomes_));
  }

  /// Ends a scan for which no worker could write a manifest.
  void fail(std::size_t scan, const std::string& error) {
    const auto path = io::manifest_path(work_.directory, work_.scans[scan].name);
    io::Manifest manifest;
    if (auto before = io::read_manifest(path)) manifest.products = std::move(before->products);
    manifest.error = error;
    manifest.scan = absolute_path(work_.scans[scan].path);
    manifest.settings = work_.settings[work_.settings_of[scan]].recorded;
    manifest.version = program_version;
    manifest.ended_ns = io::now_ns();
    try {
      io::write_manifest(path, manifest);
    } catch (const Error&) {  // the summary still reports it
    }
    end(scan, Outcome::Status::failed, error);
  }

  /// Ends a scan whose manifest a worker has written that died before it reported, and returns true; else returns false.
  bool end_by_manifest(std::size_t scan) {
    const auto manifest = io::read_manifest(io::manifest_path(work_.directory, work_.scans[scan].name));
    if (!manifest || manifest->ended_ns < began_ns_) return false;
    const bool failed = manifest->status == io::Manifest::Status::failed;
    end(scan, failed ? Outcome::Status::failed : Outcome::Status::finished, manifest->error);
    return true;
  }

  const BatchWork& work_;
  BatchLog& log_;
  const std::int64_t began_ns_ = io::now_ns();
  std::vector<Slot> slots_;
  std::vector<Task> tasks_;          ///< of the scans
  std::vector<Outcome> outcomes_;    ///< of the scans
  std::deque<std::size_t> waiting_;  ///< scans that no worker has; those that one gave back come first
  std::string lost_;                 ///< how the last device was lost
  std::string stopped_;
};

}  // namespace

BatchEnd do_batch(const BatchWork& work, BatchLog& log) { return BatchScheduler(work, log).run(); }

}  // namespace fhd::app

#include "app/batch/scheduler.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace fhd::app {

std::size_t BatchScheduler::WorkerLoad::count(Stage stage) const {
  return static_cast<std::size_t>(
      std::count_if(scans.begin(), scans.end(), [&](const auto& each) { return each.second == stage; }));
}

BatchScheduler::BatchScheduler(const BatchWork& work, const BatchLimits& limits, BatchLedger& ledger,
                               BatchLog& log)
    : work_(work), limits_(limits), ledger_(ledger), log_(log), needs_(work.scans.size()) {
  for (std::size_t i = 0; i < work.scans.size(); ++i) open_.push_back(i);
  // Scans with the same settings one after the other: they share what depends on the trajectory.
  std::stable_sort(open_.begin(), open_.end(),
                   [&](std::size_t a, std::size_t b) { return work.settings_of[a] < work.settings_of[b]; });
}

void BatchScheduler::run() {
  while (true) {
    if (const int signal = StopRequests::caught()) stopped_ = strsignal(signal);
    if (!stopped_.empty()) return abandon();
    hand_out();
    start_planned();
    if (under_way() == 0 && open_.empty() && of_others_.empty()) return;
    wait_for_events();
    log_.show(totals(ledger_.outcomes()), under_way());
  }
}

std::size_t BatchScheduler::under_way() const {
  std::size_t count = 0;
  for (const auto& load : loads_) count += load.scans.size();
  return count;
}

// --- Giving out work

void BatchScheduler::hand_out() {
  const auto now = Clock::now();
  if (open_.empty() && !of_others_.empty() && now - looked_ > std::chrono::milliseconds(200)) {
    looked_ = now;
    open_.swap(of_others_);
  }
  while (!open_.empty() && StopRequests::caught() == 0) {
    WorkerLoad* load = free_worker();
    if (!load) return;
    const std::size_t scan = open_.front();
    // A scan that killed a worker gets one for itself.
    if (needs_[scan].alone && !load->scans.empty()) return;
    open_.pop_front();
    const auto turn = ledger_.take(scan);
    if (turn == BatchLedger::Turn::of_another) of_others_.push_back(scan);
    if (turn != BatchLedger::Turn::ours) continue;
    load->alone = needs_[scan].alone;
    load->scans[scan] = Stage::examined;
    load->worker.examine(scan);
  }
}

/// A worker that can look at one more scan: one that has nothing waiting, the least busy first. Null without.
BatchScheduler::WorkerLoad* BatchScheduler::free_worker() {
  WorkerLoad* best = nullptr;
  for (auto& load : loads_)
    if (!load.alone && load.count(Stage::examined) + load.count(Stage::planned) == 0 &&
        load.count(Stage::running) < 2 && load.scans.size() < 4 &&
        (!best || load.scans.size() < best->scans.size()))
      best = &load;
  if ((!best || !best->scans.empty()) && static_cast<int>(loads_.size()) < limits_.at_once)
    best = &loads_.emplace_back(work_);
  return best;
}

std::uint64_t BatchScheduler::bytes_in_use() const {
  std::uint64_t bytes = 0;
  for (const auto& load : loads_)
    for (const auto& [scan, stage] : load.scans)
      if (stage == Stage::running || stage == Stage::writing) bytes += needs_[scan].bytes;
  return bytes;
}

/// Planned scans begin as far as memory reaches.
void BatchScheduler::start_planned() {
  for (auto& load : loads_)
    for (auto& [scan, stage] : load.scans) {
      if (stage != Stage::planned) continue;
      const std::uint64_t bytes = needs_[scan].bytes;
      if (bytes > limits_.memory_bytes) {
        load.worker.forget(scan);
        ledger_.fail(
            scan, fmt::format("{}: expected a scan that fits into memory, found {} MiB planned and {} MiB to "
                              "use; give --memory-mib if there is more, or run it on a larger machine",
                              work_.scans[scan].path, (bytes >> 20) + 1, limits_.memory_bytes >> 20));
        load.scans.erase(scan);
        break;  // a worker has at most one that is planned
      }
      if (bytes_in_use() + bytes > limits_.memory_bytes) return;
      stage = Stage::running;
      // Small scans take one thread each; of large ones as many share the threads as fit into memory.
      const auto fit = static_cast<int>(std::min<std::uint64_t>(limits_.memory_bytes / bytes, 1 << 20));
      load.worker.reconstruct(scan,
                              std::max(1, limits_.threads / std::max(1, std::min(limits_.at_once, fit))));
    }
}

// --- Events

void BatchScheduler::wait_for_events() {
  std::vector<pollfd> descriptors;
  for (const auto& load : loads_) descriptors.push_back({load.worker.descriptor(), POLLIN, 0});
  ::poll(descriptors.data(), descriptors.size(), 100);
  for (auto load = loads_.begin(); load != loads_.end();) {
    for (const auto& event : load->worker.events()) handle(*load, event);
    const auto next = std::next(load);
    if (!load->worker.alive()) bury(load);
    load = next;
  }
}

void BatchScheduler::handle(WorkerLoad& load, const WorkerEvent& event) {
  const std::string kind = event.at("event");
  const std::size_t scan = event.at("scan");
  if (kind == "planned") {
    load.scans[scan] = Stage::planned;
    needs_[scan].bytes = event.at("bytes");
  } else if (kind == "progress") {
    log_.set_progress(work_.scans[scan].name, event.at("stage"), event.at("done"), event.at("total"),
                      event.at("residual"));
  } else if (kind == "computed") {
    load.scans[scan] = Stage::writing;
  } else if (kind == "ended") {
    end(load, scan, event.at("status").get<Outcome::Status>(), event.at("line"));
  }
}

void BatchScheduler::end(WorkerLoad& load, std::size_t scan, Outcome::Status status,
                         const std::string& line) {
  load.scans.erase(scan);
  if (load.scans.empty()) load.alone = false;
  ledger_.end(scan, status, line);
  // Further scans would be computed for nothing.
  for (const int full : {ENOSPC, EDQUOT})
    if (status == Outcome::Status::failed && line.find(std::strerror(full)) != std::string::npos)
      stopped_ = fmt::format("{}: {}; run again when there is space", work_.directory, std::strerror(full));
}

/// A worker has died. With one scan under way that scan is the reason; of several each gets a second chance,
/// alone.
void BatchScheduler::bury(std::list<WorkerLoad>::iterator dead) {
  const auto cause = dead->worker.cause();
  const auto scans = std::move(dead->scans);
  loads_.erase(dead);
  for (const auto& [scan, stage] : scans) {
    const BatchScan& lost = work_.scans[scan];
    remove_temporaries(work_.directory, lost.name);
    if (scans.size() > 1 && !needs_[scan].alone) {
      needs_[scan].alone = true;
      open_.push_front(scan);
      log_.line(fmt::format("{}: done again alone, because a worker that had it {}", lost.name, cause));
    } else {
      ledger_.fail(scan, fmt::format("{}: the process that worked on it {}", lost.path, cause));
    }
  }
  if (scans.empty()) log_.line("an idle worker " + cause);
}

/// Nothing more is finished.
void BatchScheduler::abandon() {
  std::map<std::size_t, Stage> scans;
  for (auto& load : loads_) scans.merge(load.scans);
  loads_.clear();
  for (const auto& [scan, stage] : scans) ledger_.abandon(scan);
}

}  // namespace fhd::app

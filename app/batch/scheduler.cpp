#include "app/batch/scheduler.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "app/batch/stop_requests.hpp"

namespace fhd::app {

BatchScheduler::BatchScheduler(const BatchWork& work, const BatchLimits& limits, BatchState& state,
                               BatchLog& log)
    : work_(work),
      limits_(limits),
      state_(state),
      log_(log),
      needs_(work.scans.size()),
      pool_(limits.workers) {
  for (std::size_t i = 0; i < work.scans.size(); ++i) open_.push_back(i);
  // Scans with the same settings follow each other: they share what depends on the trajectory.
  std::stable_sort(open_.begin(), open_.end(),
                   [&](std::size_t a, std::size_t b) { return work.settings_of[a] < work.settings_of[b]; });
}

void BatchScheduler::run() {
  while (true) {
    if (const int signal = StopRequests::caught()) stopped_ = strsignal(signal);
    if (!stopped_.empty()) return stop();
    hand_out();
    start_planned();
    if (scans_at_work() == 0 && open_.empty() && given_back_.empty()) return;
    wait_for_events();
    log_.show(totals(state_.outcomes()), scans_at_work());
  }
}

std::size_t BatchScheduler::scans_at_work() const {
  std::size_t count = 0;
  for (const auto& running : running_) count += running.scans.size();
  return count;
}

// --- Giving out work

void BatchScheduler::hand_out() {
  // Other workers may take each of the scans that a device gave back; new scans are alike.
  for (std::size_t i = 0; i < given_back_.size() && StopRequests::caught() == 0;)
    if (!give(given_back_, i)) ++i;
  while (!open_.empty() && StopRequests::caught() == 0)
    if (!give(open_, 0)) return;
}

/// Returns whether the scan has left the queue: to a worker, or because it has ended.
bool BatchScheduler::give(std::deque<std::size_t>& queue, std::size_t place) {
  const std::size_t scan = queue[place];
  const bool hopeless = !pool_.anyone_may_take(needs_[scan].gave_up);
  Running* running = hopeless ? nullptr : free_worker(scan);
  // A scan that killed a worker gets one for itself.
  if (!hopeless && (!running || (needs_[scan].alone && !running->scans.empty()))) return false;
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(place));
  if (state_.end_if_unchanged(scan)) return true;
  if (hopeless) {
    fail_without_device(scan);
    return true;
  }
  running->alone = needs_[scan].alone;
  running->scans[scan] = Stage::examined;
  const bool stands_in = pool_.plans()[running->number].is_last_resort && needs_[scan].because.empty();
  running->worker.examine(scan, stands_in ? lost_ : needs_[scan].because);
  return true;
}

/// Returns the least busy of the workers that may take this scan too, started where there is none; null: all are busy.
BatchScheduler::Running* BatchScheduler::free_worker(std::size_t scan) {
  const auto& plans = pool_.plans();
  std::vector<bool> is_started(plans.size(), false);
  Running* best = nullptr;
  for (auto& running : running_) {
    is_started[running.number] = true;
    const bool has_room =
        !running.alone && running.scans.size() < static_cast<std::size_t>(plans[running.number].scans);
    if (has_room && pool_.may_take(running.number, needs_[scan].gave_up) &&
        (!best || running.scans.size() < best->scans.size()))
      best = &running;
  }
  if (best && best->scans.empty()) return best;
  for (std::size_t number = 0; number < plans.size(); ++number)
    if (!is_started[number] && pool_.may_take(number, needs_[scan].gave_up))
      return &running_.emplace_back(work_, plans[number], number);
  return best;
}

std::uint64_t BatchScheduler::bytes_in_use() const {
  std::uint64_t bytes = 0;
  for (const auto& running : running_)
    for (const auto& [scan, stage] : running.scans)
      if (stage == Stage::running) bytes += needs_[scan].bytes;
  return bytes;
}

/// Returns one thread each for small scans; of large ones as many share the threads as fit into memory.
int BatchScheduler::threads_for(std::uint64_t bytes, const WorkerPlan& plan) const {
  const auto fit = static_cast<int>(
      std::min<std::uint64_t>(limits_.memory_bytes / std::max<std::uint64_t>(bytes, 1), 1 << 20));
  return std::max(1, limits_.threads / std::max(1, std::min(pool_.engine_count(plan.is_last_resort), fit)));
}

/// Starts planned scans as far as memory reaches.
void BatchScheduler::start_planned() {
  for (auto& running : running_)
    for (auto next = running.scans.begin(); next != running.scans.end();) {
      auto& [scan, stage] = *next;
      const std::uint64_t bytes = needs_[scan].bytes;
      if (stage == Stage::planned && bytes > limits_.memory_bytes) {
        running.worker.reconstruct(scan, 0);
        state_.fail(
            scan, fmt::format("{}: expected a scan that fits into memory, found {} MiB planned and {} MiB to "
                              "use; give --memory-mib if there is more, or run it on a larger machine",
                              work_.scans[scan].path, (bytes >> 20) + 1, limits_.memory_bytes >> 20));
        next = running.scans.erase(next);
        continue;
      }
      if (stage == Stage::planned) {
        if (bytes_in_use() + bytes > limits_.memory_bytes) return;
        stage = Stage::running;
        running.worker.reconstruct(scan, threads_for(bytes, pool_.plans()[running.number]));
      }
      ++next;
    }
}

// --- Events

void BatchScheduler::wait_for_events() {
  std::vector<pollfd> descriptors;
  for (const auto& running : running_) descriptors.push_back({running.worker.descriptor(), POLLIN, 0});
  ::poll(descriptors.data(), descriptors.size(), 100);
  for (auto running = running_.begin(); running != running_.end();) {
    for (const auto& event : running->worker.events()) handle(*running, event);
    const auto next = std::next(running);
    if (pool_.is_retired(running->number) && running->scans.empty())
      running_.erase(running);
    else if (!running->worker.is_alive())
      end_dead_worker(running);
    running = next;
  }
}

void BatchScheduler::handle(Running& running, const WorkerEvent& event) {
  const std::string kind = event.at("event");
  const std::size_t scan = event.at("scan");
  if (kind == "planned") {
    running.scans[scan] = Stage::planned;
    needs_[scan].bytes = event.at("bytes");
  } else if (kind == "progress") {
    log_.set_progress(work_.scans[scan].name, event.at("stage"), event.at("done"), event.at("total"),
                      event.at("residual"));
  } else if (kind == "refused") {
    give_back(running, scan, event.at("why"), event.at("lost"));
  } else if (kind == "ended") {
    remove(running, scan);
    state_.end(scan, event.at("status").get<Outcome::Status>(), event.at("line"));
    if (const int number = event.at("no_room"); number != 0)  // further scans would be computed for nothing
      stopped_ = fmt::format("{}: {}; run again when there is space", work_.directory, std::strerror(number));
  }
}

void BatchScheduler::remove(Running& running, std::size_t scan) {
  running.scans.erase(scan);
  if (running.scans.empty()) running.alone = false;
}

/// Lets other workers do a scan that a device could not do.
void BatchScheduler::give_back(Running& running, std::size_t scan, const std::string& why, bool lost) {
  Need& need = needs_[scan];
  remove(running, scan);
  need.gave_up.insert(running.number);
  need.because = fmt::format("{} failed: {}", pool_.plans()[running.number].device, why);
  if (lost && !pool_.is_retired(running.number)) {
    pool_.retire(running.number);
    lost_ = need.because;
    const bool others = pool_.anyone_may_take({});
    log_.line(
        fmt::format("{}: {}", need.because, others ? "its scans go on elsewhere" : "nothing else is left"));
  }
  if (!pool_.anyone_may_take(need.gave_up)) return fail_without_device(scan);
  log_.line(fmt::format("{}: given back, because {}", work_.scans[scan].name, need.because));
  given_back_.push_back(scan);
}

void BatchScheduler::fail_without_device(std::size_t scan) {
  state_.fail(scan, needs_[scan].because.empty() ? lost_ : needs_[scan].because);
}

/// Blames the scan that the worker had; where it had several, each gets a second chance, alone.
void BatchScheduler::end_dead_worker(std::list<Running>::iterator dead) {
  const auto cause = dead->worker.cause();
  const auto scans = std::move(dead->scans);
  running_.erase(dead);
  if (log_.has_locks()) remove_leftovers(work_.directory);
  for (const auto& [scan, stage] : scans) {
    const BatchScan& lost = work_.scans[scan];
    if (state_.end_by_manifest(scan)) continue;
    if (scans.size() > 1 && !needs_[scan].alone) {
      needs_[scan].alone = true;
      open_.push_front(scan);
      log_.line(fmt::format("{}: done again alone, because a worker that had it {}", lost.name, cause));
    } else {
      state_.fail(scan, fmt::format("{}: the process that worked on it {}", lost.path, cause));
    }
  }
  if (scans.empty()) log_.line("an idle worker " + cause);
}

/// Ends the workers: nothing more is finished.
void BatchScheduler::stop() {
  std::map<std::size_t, Stage> scans;
  for (auto& running : running_) scans.merge(running.scans);
  running_.clear();
  for (const auto& [scan, stage] : scans) state_.end_by_manifest(scan);
}

}  // namespace fhd::app

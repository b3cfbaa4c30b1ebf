#include "app/batch/scheduler.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace fhd::app {

std::size_t BatchScheduler::WorkerLoad::count(Stage stage) const {
  return static_cast<std::size_t>(
      std::count_if(scans.begin(), scans.end(), [&](const auto& each) { return each.second == stage; }));
}

BatchScheduler::BatchScheduler(const BatchWork& work, const BatchLimits& limits, BatchState& state,
                               BatchLog& log)
    : work_(work),
      limits_(limits),
      state_(state),
      log_(log),
      needs_(work.scans.size()),
      roster_(limits.crews) {
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
    if (under_way() == 0 && open_.empty() && given_up_.empty()) return;
    wait_for_events();
    log_.show(totals(state_.outcomes()), under_way());
  }
}

std::size_t BatchScheduler::under_way() const {
  std::size_t count = 0;
  for (const auto& load : loads_) count += load.scans.size();
  return count;
}

// --- Giving out work

void BatchScheduler::hand_out() {
  // Each of those that a device gave up has crews of its own; the others are alike.
  for (std::size_t i = 0; i < given_up_.size() && StopRequests::caught() == 0;)
    if (!give(given_up_.begin() + static_cast<std::ptrdiff_t>(i), given_up_)) ++i;
  while (!open_.empty() && StopRequests::caught() == 0)
    if (!give(open_.begin(), open_)) return;
}

/// Whether the scan has left `open`: to a worker, or because nothing is left to do.
bool BatchScheduler::give(std::deque<std::size_t>::iterator next, std::deque<std::size_t>& open) {
  const std::size_t scan = *next;
  const bool hopeless = !roster_.anyone_may_take(needs_[scan].gave_up);
  WorkerLoad* load = hopeless ? nullptr : free_worker(scan);
  // A scan that killed a worker gets one for itself.
  if (!hopeless && (!load || (needs_[scan].alone && !load->scans.empty()))) return false;
  open.erase(next);
  if (state_.end_if_unchanged(scan)) return true;
  if (hopeless) {
    fail_without_device(scan);
    return true;
  }
  load->alone = needs_[scan].alone;
  load->scans[scan] = Stage::examined;
  const bool stands_in = roster_.crews()[load->crew].is_last_resort && needs_[scan].because.empty();
  load->worker.examine(scan, stands_in ? lost_ : needs_[scan].because);
  return true;
}

bool BatchScheduler::WorkerLoad::has_room(const Crew& its) const {
  return !alone && count(Stage::examined) + count(Stage::planned) < its.most_examined() &&
         count(Stage::running) < its.most_running() && scans.size() < its.most_scans();
}

/// A worker that can look at this scan, too: the least busy of those that may. Null without.
BatchScheduler::WorkerLoad* BatchScheduler::free_worker(std::size_t scan) {
  const auto& crews = roster_.crews();
  std::vector<bool> has_worker(crews.size(), false);
  WorkerLoad* best = nullptr;
  for (auto& load : loads_) {
    has_worker[load.crew] = true;
    if (roster_.may_take(load.crew, needs_[scan].gave_up) && load.has_room(crews[load.crew]) &&
        (!best || load.scans.size() < best->scans.size()))
      best = &load;
  }
  if (best && best->scans.empty()) return best;
  for (std::size_t crew = 0; crew < crews.size(); ++crew)
    if (!has_worker[crew] && roster_.may_take(crew, needs_[scan].gave_up))
      return &loads_.emplace_back(work_, crews[crew], crew);
  return best;
}

std::uint64_t BatchScheduler::bytes_in_use() const {
  std::uint64_t bytes = 0;
  for (const auto& load : loads_)
    for (const auto& [scan, stage] : load.scans)
      if (stage == Stage::running || stage == Stage::writing) bytes += needs_[scan].bytes;
  return bytes;
}

/// Small scans take one thread each; of large ones as many share the threads as fit into memory.
int BatchScheduler::threads_for(std::uint64_t bytes, const Crew& crew) const {
  const auto fit = static_cast<int>(
      std::min<std::uint64_t>(limits_.memory_bytes / std::max<std::uint64_t>(bytes, 1), 1 << 20));
  return std::max(1, limits_.threads / std::max(1, std::min(roster_.engine_count(crew.is_last_resort), fit)));
}

/// Planned scans begin as far as memory reaches.
void BatchScheduler::start_planned() {
  for (auto& load : loads_)
    for (auto next = load.scans.begin(); next != load.scans.end();) {
      auto& [scan, stage] = *next;
      const std::uint64_t bytes = needs_[scan].bytes;
      if (stage == Stage::planned && bytes > limits_.memory_bytes) {
        load.worker.forget(scan);
        state_.fail(
            scan, fmt::format("{}: expected a scan that fits into memory, found {} MiB planned and {} MiB to "
                              "use; give --memory-mib if there is more, or run it on a larger machine",
                              work_.scans[scan].path, (bytes >> 20) + 1, limits_.memory_bytes >> 20));
        next = load.scans.erase(next);
        continue;
      }
      if (stage == Stage::planned) {
        if (bytes_in_use() + bytes > limits_.memory_bytes) return;
        stage = Stage::running;
        load.worker.reconstruct(scan, threads_for(bytes, roster_.crews()[load.crew]));
      }
      ++next;
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
    if (roster_.is_retired(load->crew) && load->scans.empty())
      loads_.erase(load);
    else if (!load->worker.alive())
      bury(load);
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
  } else if (kind == "refused") {
    give_up(load, scan, event.at("why"), event.at("lost"));
  } else if (kind == "ended") {
    end(load, scan, event.at("status").get<Outcome::Status>(), event.at("line"));
    if (const int number = event.at("no_room"); number != 0)  // further scans would be computed for nothing
      stopped_ = fmt::format("{}: {}; run again when there is space", work_.directory, std::strerror(number));
  }
}

void BatchScheduler::end(WorkerLoad& load, std::size_t scan, Outcome::Status status,
                         const std::string& line) {
  load.scans.erase(scan);
  if (load.scans.empty()) load.alone = false;
  state_.end(scan, status, line);
}

/// A device could not do it: others may.
void BatchScheduler::give_up(WorkerLoad& load, std::size_t scan, const std::string& why, bool lost) {
  const std::string& device = roster_.crews()[load.crew].device;
  Need& need = needs_[scan];
  load.scans.erase(scan);
  if (load.scans.empty()) load.alone = false;
  need.gave_up.insert(load.crew);
  need.because = fmt::format("{} failed: {}", device, why);
  if (lost && !roster_.is_retired(load.crew)) {
    roster_.retire(load.crew);
    lost_ = need.because;
    const bool others = roster_.anyone_may_take({});
    log_.line(
        fmt::format("{}: {}", need.because, others ? "its scans go on elsewhere" : "nothing else is left"));
  }
  if (!roster_.anyone_may_take(need.gave_up)) return fail_without_device(scan);
  log_.line(fmt::format("{}: given back, because {}", work_.scans[scan].name, need.because));
  given_up_.push_back(scan);
}

void BatchScheduler::fail_without_device(std::size_t scan) {
  state_.fail(scan, needs_[scan].because.empty() ? lost_ : needs_[scan].because);
}

/// A worker has died. With one scan under way that scan is the reason; of several, and where none is, each gets a second
/// chance, alone.
void BatchScheduler::bury(std::list<WorkerLoad>::iterator dead) {
  const auto cause = dead->worker.cause();
  const auto scans = std::move(dead->scans);
  loads_.erase(dead);
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

/// Nothing more is finished.
void BatchScheduler::abandon() {
  std::map<std::size_t, Stage> scans;
  for (auto& load : loads_) scans.merge(load.scans);
  loads_.clear();
  for (const auto& [scan, stage] : scans) state_.end_by_manifest(scan);
}

}  // namespace fhd::app

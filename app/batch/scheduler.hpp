#pragma once
// Hands out the scans of a batch to workers and follows them to their end.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/batch/crews.hpp"
#include "app/batch/state.hpp"
#include "app/batch/log.hpp"
#include "app/batch/stop_requests.hpp"
#include "app/batch/work.hpp"
#include "app/batch/worker.hpp"

namespace fhd::app {

struct BatchLimits {
  int threads = 1;                 ///< of all workers together
  std::vector<Crew> crews;         ///< of each worker
  std::uint64_t memory_bytes = 0;  ///< planned for all scans under way
};

class BatchScheduler {
 public:
  /// All must outlive it.
  BatchScheduler(const BatchWork& work, const BatchLimits& limits, BatchState& state, BatchLog& log);
  /// To the end of all scans, or until it is stopped. Signals stop it: see StopRequests.
  void run();
  /// Why the batch ended early; empty when it did not.
  const std::string& stopped() const { return stopped_; }

 private:
  enum class Stage { examined, planned, running, writing };
  /// A worker and the scans that it has.
  struct WorkerLoad {
    WorkerLoad(const BatchWork& work, const Crew& of, std::size_t number) : worker(work, of), crew(number) {}
    Worker worker;
    std::size_t crew;
    std::map<std::size_t, Stage> scans;
    bool alone = false;  ///< has a scan that a worker died of, and gets no other
    std::size_t count(Stage stage) const;
    bool has_room(const Crew& its) const;
  };
  struct Need {
    std::uint64_t bytes = 0;        ///< planned
    bool alone = false;             ///< a worker that did it died
    std::set<std::size_t> gave_up;  ///< crews whose device could not do it
    std::string because;            ///< why the last of them
  };

  void hand_out();
  bool give(std::deque<std::size_t>::iterator next, std::deque<std::size_t>& open);
  WorkerLoad* free_worker(std::size_t scan);
  int threads_for(std::uint64_t bytes, const Crew& crew) const;
  std::uint64_t bytes_in_use() const;
  void start_planned();
  void wait_for_events();
  void handle(WorkerLoad& load, const WorkerEvent& event);
  void end(WorkerLoad& load, std::size_t scan, Outcome::Status status, const std::string& line);
  void give_up(WorkerLoad& load, std::size_t scan, const std::string& why, bool lost);
  void fail_without_device(std::size_t scan);
  void bury(std::list<WorkerLoad>::iterator dead);
  void abandon();
  std::size_t under_way() const;

  const BatchWork& work_;
  const BatchLimits limits_;
  BatchState& state_;
  BatchLog& log_;
  std::vector<Need> needs_;
  std::deque<std::size_t> open_, given_up_;  ///< scans that no worker has: new ones; those that a device gave up
  Roster roster_;
  std::string lost_;  ///< how the last device was lost
  std::list<WorkerLoad> loads_;
  std::string stopped_;
};

}  // namespace fhd::app

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

#include "app/batch/log.hpp"
#include "app/batch/state.hpp"
#include "app/batch/work.hpp"
#include "app/batch/worker.hpp"
#include "app/batch/worker_pool.hpp"

namespace fhd::app {

struct BatchLimits {
  int threads = 1;                  ///< of all workers together
  std::vector<WorkerPlan> workers;  ///< one plan each
  std::uint64_t memory_bytes = 0;   ///< planned for all scans that are being done
};

class BatchScheduler {
 public:
  /// All must outlive it.
  BatchScheduler(const BatchWork& work, const BatchLimits& limits, BatchState& state, BatchLog& log);
  /// Does all scans, or stops where a signal (StopRequests) or a full disk stops it.
  void run();
  /// Returns why the batch ended early; empty when it did not.
  const std::string& stopped() const { return stopped_; }

 private:
  enum class Stage { examined, planned, running };
  /// A worker process and the scans that it has.
  struct Running {
    Running(const BatchWork& work, const WorkerPlan& plan, std::size_t of) : worker(work, plan), number(of) {}
    Worker worker;
    std::size_t number;  ///< in the pool
    std::map<std::size_t, Stage> scans;
    bool alone = false;  ///< has a scan that a worker died of, and gets no other
  };
  struct Need {
    std::uint64_t bytes = 0;        ///< planned
    bool alone = false;             ///< a worker that did it died
    std::set<std::size_t> gave_up;  ///< workers whose device could not do it
    std::string because;            ///< why the last of them
  };

  void hand_out();
  bool give(std::deque<std::size_t>& queue, std::size_t place);
  Running* free_worker(std::size_t scan);
  int threads_for(std::uint64_t bytes, const WorkerPlan& plan) const;
  std::uint64_t bytes_in_use() const;
  void start_planned();
  void wait_for_events();
  void handle(Running& running, const WorkerEvent& event);
  void remove(Running& running, std::size_t scan);
  void give_back(Running& running, std::size_t scan, const std::string& why, bool lost);
  void fail_without_device(std::size_t scan);
  void end_dead_worker(std::list<Running>::iterator dead);
  void stop();
  std::size_t scans_at_work() const;

  const BatchWork& work_;
  const BatchLimits limits_;
  BatchState& state_;
  BatchLog& log_;
  std::vector<Need> needs_;
  std::deque<std::size_t> open_,
      given_back_;  ///< scans that no worker has: new ones; those that a device gave back
  WorkerPool pool_;
  std::string lost_;  ///< how the last device was lost
  std::list<Running> running_;
  std::string stopped_;
};

}  // namespace fhd::app

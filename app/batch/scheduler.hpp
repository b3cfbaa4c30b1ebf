#pragma once
// Hands out the scans of a batch to workers and follows them to their end.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "app/batch/ledger.hpp"
#include "app/batch/log.hpp"
#include "app/batch/work.hpp"
#include "app/batch/worker.hpp"

namespace fhd::app {

struct BatchLimits {
  int threads = 1;                 ///< of all workers together
  int at_once = 1;                 ///< workers
  std::uint64_t memory_bytes = 0;  ///< planned for all scans under way
};

class BatchScheduler {
 public:
  /// All must outlive it.
  BatchScheduler(const BatchWork& work, const BatchLimits& limits, BatchLedger& ledger, BatchLog& log);
  /// To the end of all scans, or until it is stopped. Signals stop it: see StopRequests.
  void run();
  /// Why the batch ended early; empty when it did not.
  const std::string& stopped() const { return stopped_; }

 private:
  using Clock = std::chrono::steady_clock;
  /// A worker and the scans that it has, by how far they are.
  struct WorkerLoad {
    explicit WorkerLoad(const BatchWork& work) : worker(work) {}
    Worker worker;
    std::set<std::size_t> examined, planned, running, writing;
    bool alone = false;  ///< has a scan that a worker died of, and gets no other
    std::size_t size() const { return examined.size() + planned.size() + running.size() + writing.size(); }
    std::vector<std::size_t> scans() const;
    void erase(std::size_t scan);
  };
  struct Need {
    std::uint64_t bytes = 0;  ///< planned
    bool alone = false;       ///< a worker that did it died
  };

  void hand_out();
  WorkerLoad* free_worker();
  std::uint64_t bytes_in_use() const;
  void start_planned();
  void wait_for_events();
  void handle(WorkerLoad& load, const WorkerEvent& event);
  void end(WorkerLoad& load, std::size_t scan, const std::string& status, const std::string& line);
  void bury(std::list<WorkerLoad>::iterator dead);
  void abandon();
  std::size_t under_way() const;

  const BatchWork& work_;
  const BatchLimits limits_;
  BatchLedger& ledger_;
  BatchLog& log_;
  std::vector<Need> needs_;
  std::deque<std::size_t> open_, of_others_;  ///< scans that nobody, or another process, has
  std::list<WorkerLoad> loads_;
  Clock::time_point looked_{};
  std::string stopped_;
};

}  // namespace fhd::app

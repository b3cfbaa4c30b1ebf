#pragma once
// Hands out the scans of a batch to workers and follows them to their end.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/batch/log.hpp"
#include "app/batch/work.hpp"
#include "app/batch/worker.hpp"

namespace fhd::app {

class BatchScheduler {
 public:
  /// Both must outlive it.
  BatchScheduler(const BatchWork& work, BatchLog& log);
  /// Does all scans, or stops where a signal (StopRequests) or a full disk stops it.
  void run();
  /// Returns why the batch ended early; empty when it did not.
  const std::string& stopped() const { return stopped_; }
  const std::vector<Outcome>& outcomes() const { return outcomes_; }

 private:
  /// The place of a worker process, which is started for its first scan.
  struct Slot {
    WorkerPlan plan;
    std::unique_ptr<Worker> worker{};
    std::set<std::size_t> scans{};  ///< that it has
    bool is_lost = false;           ///< its device is: it gets no more scans
  };
  /// What is known of a scan on its way.
  struct Task {
    enum class Stage { examined, planned, running } stage = Stage::examined;
    std::uint64_t bytes = 0;        ///< planned
    bool alone = false;             ///< a worker that did it died
    std::set<std::size_t> gave_up;  ///< slots whose device could not do it
    std::string because;            ///< why the last of them
  };

  void hand_out();
  bool give(std::size_t scan);
  std::vector<Slot*> slots_for(const Task& task);
  int threads_for(const Task& task, const WorkerPlan& plan) const;
  void start_planned();
  void wait_for_events();
  void handle(Slot& slot, const nlohmann::json& event);
  void give_back(Slot& slot, std::size_t scan, const std::string& why, bool lost);
  void end_dead_worker(Slot& slot);
  void stop();
  void end(std::size_t scan, Outcome::Status status, const std::string& error = {},
           const std::string& reason = {});
  bool end_by_manifest(std::size_t scan);

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

}  // namespace fhd::app

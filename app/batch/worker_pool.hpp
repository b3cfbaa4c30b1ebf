#pragma once
// The worker processes of a batch: each computes on one device. Which of them may take a scan that a device gave back.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fhd::app {

/// One worker process. Each of its threads does a scan from its file to its results.
struct WorkerPlan {
  std::string device;           ///< as --device names it: "cuda:1", "cpu"; "auto" where there is no GPU
  int engines = 1;              ///< scans that are computed at a time
  int scans = 3;                ///< scans at a time; those beyond `engines` are read or written meanwhile
  bool is_last_resort = false;  ///< takes only what no device can do
};

/// The processors and devices that a batch may use.
struct BatchResources {
  std::string device = "auto";  ///< as --device names it
  int gpus = 0;                 ///< of this machine
  int threads = 1;              ///< for all workers
  int at_once = 0;              ///< scans being computed at a time, at most; 0: as many as threads
  bool has_last_resort = true;  ///< the CPU may take what the devices give up
};

/// Returns "cuda:0", "cuda:1", ...: the devices that `asked` names on a machine with `gpus` GPUs; none where the CPU
/// computes.
std::vector<std::string> devices_of(const std::string& asked, int gpus);

/// Plans one worker for each device, with several engines, so that the device computes while others use the CPU; without
/// devices as many workers as scans at a time.
std::vector<WorkerPlan> plan_workers(const BatchResources& resources);

/// Returns `limit_mib` in bytes; 0: four fifths of the memory that is free now.
std::uint64_t memory_to_use(std::uint64_t limit_mib);

/// The workers, and which of them still have their device.
class WorkerPool {
 public:
  explicit WorkerPool(std::vector<WorkerPlan> plans)
      : plans_(std::move(plans)), retired_(plans_.size(), false) {}
  const std::vector<WorkerPlan>& plans() const { return plans_; }
  /// Notes that the worker's device is lost: it gets no more scans.
  void retire(std::size_t worker) { retired_[worker] = true; }
  bool is_retired(std::size_t worker) const { return retired_[worker]; }
  /// Returns whether the worker may take a scan that the workers `gave_up` gave back: the last resort only when no other
  /// may.
  bool may_take(std::size_t worker, const std::set<std::size_t>& gave_up) const;
  bool anyone_may_take(const std::set<std::size_t>& gave_up) const;
  /// Returns the engines of the workers that are, or are not, a last resort.
  int engine_count(bool last_resort) const;

 private:
  std::vector<WorkerPlan> plans_;
  std::vector<bool> retired_;
};

}  // namespace fhd::app

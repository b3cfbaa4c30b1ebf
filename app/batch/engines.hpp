#pragma once
// The engines of one worker process, which share its device.
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/scan_job.hpp"
#include "app/batch/work.hpp"

namespace fhd::app {

/// Shares the memory of a device among engines. Scans enter in the order in which they come, each with the memory that it
/// is planned to take: a large one waits until enough of the others have left, and those behind it wait, too. An engine
/// that has left keeps its memory (what depends on the trajectory) until the room is needed.
class DeviceShare {
 public:
  explicit DeviceShare(std::size_t engines);
  /// Waits until an engine is at rest, and until `bytes` fit into `available` together with the engines at work, or none is
  /// at work. Returns the engine that has left last. Where room is needed, calls free_engine(i) of all others at rest.
  std::size_t enter(std::size_t bytes, std::size_t available,
                    const std::function<void(std::size_t)>& free_engine);
  void leave(std::size_t engine);

 private:
  std::mutex entry_, mutex_;
  std::condition_variable left_;
  std::vector<std::size_t> bytes_;    ///< taken by each engine, at work or at rest
  std::vector<std::size_t> at_rest_;  ///< the engine that has left last is at the end
};

class Engines {
 public:
  explicit Engines(const WorkerPlan& plan);
  /// Starts the device while the first scan is read. What fails here fails again, and is reported, where a scan needs
  /// it.
  void open() const noexcept;
  /// Reconstructs as soon as an engine is free and the device has room for the scan; calls `begin` then. `because`: why
  /// another device gave the scan back, else empty. Throws DeviceError where the device is to blame.
  void compute(ScanRun& run, const ProgressCallback& progress, const std::string& because,
               const std::function<void()>& begin);
  /// Returns whether the device takes further work: an error of a kernel stays with the process.
  bool are_of_use();
  bool are_on_gpu() const { return device_.is_cuda(); }

 private:
  /// An engine that goes on with the next scan of the same settings, with what it knows of the trajectory.
  struct Cached {
    std::shared_ptr<const RunSettings> settings;
    std::shared_ptr<ReconEngine> engine;
  };
  void compute_at_once(ScanRun& run, const ProgressCallback& progress, const std::string& because,
                       const std::function<void()>& begin, bool alone);
  const ChosenDevice& chosen_device(const RunSettings& settings);

  const Device device_;
  DeviceShare share_;
  std::vector<Cached> engines_;
  std::mutex choosing_;
  std::optional<ChosenDevice> chosen_;
};

}  // namespace fhd::app

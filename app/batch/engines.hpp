#pragma once
// The engines of one worker process, which share its device.
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/device_share.hpp"
#include "app/batch/scan_job.hpp"
#include "app/batch/worker_pool.hpp"

namespace fhd::app {

class Engines {
 public:
  explicit Engines(const WorkerPlan& plan);
  /// Starts the device while the first scan is read. What fails here fails again, and is reported, where a scan needs
  /// it.
  void open() const noexcept;
  /// Reconstructs by engine `number`, which one thread at a time uses, as soon as the device has room for the scan.
  /// `because`: why another device gave it back, else empty. Throws DeviceError where the device is to blame.
  void compute(std::size_t number, ScanRun& run, const ProgressCallback& progress,
               const std::string& because);
  /// Returns whether the device takes further work: an error of a kernel stays with the process.
  bool are_of_use();
  bool are_on_gpu() const { return device_.is_cuda(); }

 private:
  /// An engine that goes on with the next scan of the same settings, with what it knows of the trajectory.
  struct Cached {
    std::shared_ptr<const RunSettings> settings;
    std::shared_ptr<ReconEngine> engine;
  };
  class Place;
  void compute_at_once(std::size_t number, ScanRun& run, const ProgressCallback& progress,
                       const std::string& because, bool alone);
  const ChosenDevice& chosen_device(const RunSettings& settings);

  const Device device_;
  DeviceShare share_;
  std::vector<Cached> engines_;
  std::mutex choosing_;
  std::optional<ChosenDevice> chosen_;
};

}  // namespace fhd::app

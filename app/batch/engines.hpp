#pragma once
// The engines of one worker process, which share its device.
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/crews.hpp"
#include "app/batch/device_share.hpp"
#include "app/batch/scan_job.hpp"

namespace fhd::app {

class Engines {
 public:
  explicit Engines(const Crew& crew);
  /// Starts the device, beside the reading of the first scan. What fails here fails again, and is told, where a scan
  /// needs it.
  void open() const noexcept;
  /// Reconstructs by engine `number`, of one thread at a time, as soon as the device has room for the scan. `because`:
  /// why another device gave it back, else empty. Throws DeviceError where the device is to blame.
  void compute(std::size_t number, ScanJob& scan, const ProgressCallback& progress,
               const std::string& because);
  /// Whether the device takes further work: an error of a kernel stays with the process.
  bool are_of_use();
  bool are_on_gpu() const { return device_.is_cuda(); }

 private:
  class Place;
  void compute_at_once(std::size_t number, ScanJob& scan, const ProgressCallback& progress,
                       const std::string& because, bool alone);
  const ChosenDevice& chosen_device(const JobSettings& settings);

  const Device device_;
  DeviceShare share_;
  std::vector<std::unique_ptr<JobEngine>>
      engines_;  ///< kept from scan to scan, with what they know of the trajectory
  std::mutex choosing_;
  std::optional<ChosenDevice> chosen_;
};

}  // namespace fhd::app

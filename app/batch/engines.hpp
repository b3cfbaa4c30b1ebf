#pragma once
// The engines of one worker process, which share its device, and the memory that scans are planned to take.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/batch/work.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/scan_run.hpp"
#include "recon/error.hpp"

namespace fhd::app {

/// Returns how many bytes of host memory the run takes at most, until it is written.
inline std::uint64_t planned_host_bytes(const ScanRun& run) {
  return planned_bytes(estimate_of(run, Device::cpu(), true)).host;
}

/// Returns how many bytes of a GPU the run takes at most, where `available` can be had; 0 for the CPU.
inline std::uint64_t planned_device_bytes(const ScanRun& run, Device device, std::uint64_t available) {
  if (device.is_cpu()) return 0;
  auto made = estimate_of(run, device, true);
  if (run.results.volumes().size() > 1 && !run.settings->options.frames.asks())
    made.device.hold_at_peak(bytes_of_volumes_together(static_cast<double>(available)));
  return planned_bytes(made).device;
}

/// Shares the memory of a device among engines. Scans enter in the order in which they come, each with the memory that it
/// is planned to take: a large one waits until enough of the others have left, and those behind it wait, too. An engine
/// that has left keeps its memory (what depends on the trajectory) until the room is needed.
class DeviceShare {
 public:
  explicit DeviceShare(int engines) : bytes_(static_cast<std::size_t>(engines)), at_rest_(bytes_.size()) {
    std::iota(at_rest_.rbegin(), at_rest_.rend(), std::size_t{0});
  }

  /// Waits until an engine is at rest, and until `bytes` fit into `available` together with the engines at work, or none is
  /// at work. Returns the engine that has left last. Where room is needed, calls free_engine(i) of all others at rest.
  std::size_t enter(std::size_t bytes, std::size_t available,
                    const std::function<void(std::size_t)>& free_engine) {
    bytes = std::min(bytes, available);
    const std::lock_guard entry(entry_);
    std::unique_lock lock(mutex_);
    const auto taken = [&] { return std::accumulate(bytes_.begin(), bytes_.end(), std::size_t{0}); };
    left_.wait(lock, [&] {
      std::size_t at_work = taken();
      for (const auto engine : at_rest_) at_work -= bytes_[engine];
      return at_rest_.size() == bytes_.size() || (!at_rest_.empty() && at_work <= available - bytes);
    });
    const auto engine = at_rest_.back();
    at_rest_.pop_back();
    bytes_[engine] = bytes;
    if (taken() > available)
      for (const auto other : at_rest_)
        if (std::exchange(bytes_[other], 0) > 0) free_engine(other);
    return engine;
  }

  void leave(std::size_t engine) {
    const std::lock_guard lock(mutex_);
    at_rest_.push_back(engine);
    left_.notify_all();
  }

 private:
  std::mutex entry_, mutex_;
  std::condition_variable left_;
  std::vector<std::size_t> bytes_;    ///< taken by each engine, at work or at rest
  std::vector<std::size_t> at_rest_;  ///< the engine that has left last is at the end
};

class Engines {
 public:
  explicit Engines(const WorkerPlan& plan)
      : share_(plan.engines), engines_(static_cast<std::size_t>(plan.engines)) {
    const auto numbers = gpu_numbers_of(plan.device);
    if (numbers.size() == 1) device_ = Device::cuda(numbers.front());
  }

  /// Starts the device while the first scan is read. What fails here fails again, and is reported, where a scan needs
  /// it.
  void open() const noexcept { device::warm_up(device_); }

  /// Reconstructs as soon as an engine is free and the device has room for the scan; calls `begin` then. `because`: why
  /// another device gave the scan back, else empty. Throws DeviceError where the device is to blame.
  void compute(ScanRun& run, const ProgressCallback& progress, const std::string& because,
               const std::function<void()>& begin) {
    try {
      return compute_at_once(run, progress, because, begin, false);
    } catch (const DeviceError&) {
      if (engines_.size() == 1 || !are_of_use()) throw;
    }
    // While others work a plan may fall short: once more, with the device to itself.
    start_reading(run);
    compute_at_once(run, progress, because, begin, true);
  }

  /// Returns whether the device takes further work: an error of a kernel stays with the process.
  bool are_of_use() try {
    {
      const std::lock_guard lock(choosing_);
      if (!chosen_) return false;
    }
    device::synchronize(device_);
    return true;
  } catch (const Error&) {
    return false;
  }
  bool are_on_gpu() const { return device_.is_cuda(); }

 private:
  /// Starts the device for the first scan that needs it. Throws DeviceError.
  const ChosenDevice& chosen_device(const RunSettings& settings) {
    const std::lock_guard lock(choosing_);
    if (!chosen_) try {
        chosen_ = settings.options.device.choose();
        chosen_->automatic = false;  // the batch as a whole decides what becomes of a scan when a GPU fails
      } catch (const Error& error) {
        throw DeviceError(error.what(), "", "");
      }
    return *chosen_;
  }

  void compute_at_once(ScanRun& run, const ProgressCallback& progress, const std::string& because,
                       const std::function<void()>& begin, bool alone) {
    const ChosenDevice& chosen = chosen_device(*run.settings);
    const CurrentDevice current(device_);
    const auto use = device::memory_use(device_);
    const std::size_t available = use.free_bytes + use.used_bytes;
    const std::size_t bytes = alone ? available : planned_device_bytes(run, device_, available);
    const auto number = share_.enter(bytes, available, [&](std::size_t other) { engines_[other] = {}; });
    const std::shared_ptr<void> leaves(nullptr, [&](void*) { share_.leave(number); });  // at the end
    begin();
    const auto where = device_.is_cuda() ? fmt::format("GPU {}", device_.number()) : "the CPU";
    const auto note = because.empty() ? "" : fmt::format("computed on {}, because {}", where, because);
    auto& cached = engines_[number];
    const auto take = [&](const ChosenDevice& device, int) {
      if (cached.settings != run.settings) {
        cached = {};
        cached = {run.settings, make_engine(*run.settings, device)};
      }
      return cached.engine;
    };
    try {
      reconstruct(run, {{chosen}, take}, {.progress = progress}, note);
    } catch (const DeviceError&) {
      cached = {};  // its memory is for the others
      throw;
    }
  }

  /// An engine that goes on with the next scan of the same settings, with what it knows of the trajectory.
  struct Cached {
    std::shared_ptr<const RunSettings> settings;
    std::shared_ptr<ReconEngine> engine;
  };
  Device device_ = Device::cpu();
  DeviceShare share_;
  std::vector<Cached> engines_;
  std::mutex choosing_;
  std::optional<ChosenDevice> chosen_;
};

}  // namespace fhd::app

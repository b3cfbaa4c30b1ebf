#include "app/batch/engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "recon/error.hpp"

namespace fhd::app {

DeviceShare::DeviceShare(std::size_t engines) : bytes_(engines), at_rest_(engines) {
  std::iota(at_rest_.rbegin(), at_rest_.rend(), std::size_t{0});
}

std::size_t DeviceShare::enter(std::size_t bytes, std::size_t available,
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
    for (const auto other : at_rest_) {
      if (bytes_[other] > 0) free_engine(other);
      bytes_[other] = 0;
    }
  return engine;
}

void DeviceShare::leave(std::size_t engine) {
  {
    const std::lock_guard lock(mutex_);
    at_rest_.push_back(engine);
  }
  left_.notify_all();
}

namespace {

/// Returns Device::cuda(1) for "cuda:1", and the CPU for every other name.
Device device_named(const std::string& name) {
  const auto numbers = gpu_numbers_of(name);
  return numbers.size() == 1 ? Device::cuda(numbers.front()) : Device::cpu();
}

}  // namespace

Engines::Engines(const WorkerPlan& plan)
    : device_(device_named(plan.device)),
      share_(static_cast<std::size_t>(plan.engines)),
      engines_(static_cast<std::size_t>(plan.engines)) {}

void Engines::open() const noexcept {
  if (device_.is_cpu()) return;
  try {
    device::start(device_);
    device::warm_up(device_);
  } catch (const std::exception&) {
  }
}

/// Starts the device for the first scan that needs it. Throws DeviceError.
const ChosenDevice& Engines::chosen_device(const RunSettings& settings) {
  const std::lock_guard lock(choosing_);
  if (!chosen_) try {
      chosen_ = settings.options.device.choose();
      chosen_->automatic = false;  // the batch as a whole decides what becomes of a scan when a GPU fails
    } catch (const Error& error) {
      throw DeviceError(error.what(), "", "");
    }
  return *chosen_;
}

void Engines::compute(ScanRun& run, const ProgressCallback& progress, const std::string& because,
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

void Engines::compute_at_once(ScanRun& run, const ProgressCallback& progress, const std::string& because,
                              const std::function<void()>& begin, bool alone) {
  const ChosenDevice& chosen = chosen_device(*run.settings);
  const CurrentDevice current(device_);
  const auto use = device::memory_use(device_);
  const std::size_t available = use.free_bytes + use.used_bytes;
  const std::size_t bytes = alone ? available : planned_device_bytes(run, device_, available);
  const auto number = share_.enter(bytes, available, [&](std::size_t other) { engines_[other] = {}; });
  const std::shared_ptr<void> leaves(nullptr, [&](void*) { share_.leave(number); });  // at the end
  begin();
  const auto where = device_.is_cuda() ? fmt::format("GPU {}", device_.number()) : std::string("the CPU");
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

bool Engines::are_of_use() {
  {
    const std::lock_guard lock(choosing_);
    if (!chosen_) return false;
  }
  try {
    device::synchronize(device_);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace fhd::app

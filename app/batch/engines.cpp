#include "app/batch/engines.hpp"

#include <fmt/format.h>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// Returns Device::cuda(1) for "cuda:1", and the CPU for every other name.
Device device_named(const std::string& name) {
  const auto numbers = gpu_numbers_of(name);
  return numbers.size() == 1 ? Device::cuda(numbers.front()) : Device::cpu();
}

}  // namespace

/// Holds its part of the device's memory for an engine at work.
class Engines::Place {
 public:
  Place(Engines& all, std::size_t number, const ScanRun& run, bool alone) : all_(all), number_(number) {
    const auto use = device::memory_use(all.device_);
    const std::size_t available = use.free_bytes + use.used_bytes;
    const std::size_t bytes = alone ? available : planned_device_bytes(run, all.device_, available);
    all.share_.enter(number, bytes, available, [&](std::size_t other) { all.engines_[other] = {}; });
  }
  ~Place() { all_.share_.leave(number_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  Engines& all_;
  std::size_t number_;
};

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

void Engines::compute(std::size_t number, ScanRun& run, const ProgressCallback& progress,
                      const std::string& because) {
  try {
    return compute_at_once(number, run, progress, because, false);
  } catch (const DeviceError&) {
    if (engines_.size() == 1 || !are_of_use()) throw;
  }
  // While others work a plan may fall short: once more, with the device to itself.
  start_reading(run);
  compute_at_once(number, run, progress, because, true);
}

void Engines::compute_at_once(std::size_t number, ScanRun& run, const ProgressCallback& progress,
                              const std::string& because, bool alone) {
  const ChosenDevice& chosen = chosen_device(*run.settings);
  const CurrentDevice current(device_);
  const Place place(*this, number, run, alone);
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

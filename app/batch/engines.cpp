#include "app/batch/engines.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// "cuda:1" -> Device::cuda(1); the CPU for every other name.
Device device_named(const std::string& name) {
  constexpr std::string_view prefix = "cuda:";
  int number = 0;
  if (!name.starts_with(prefix)) return Device::cpu();
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  return error == std::errc() && number >= 0 ? Device::cuda(number) : Device::cpu();
}

}  // namespace

/// An engine at work, with what it needs of the device's memory.
class Engines::Place {
 public:
  Place(Engines& all, std::size_t number, const ScanJob& scan, bool alone) : all_(all), number_(number) {
    const auto use = device::memory_use(all.device_);
    const std::size_t available = use.free_bytes + use.used_bytes;
    const std::size_t bytes = alone ? available : scan.planned_bytes(all.device_, available);
    all.share_.enter(number, bytes, available, [&](std::size_t other) { all.engines_[other].reset(); });
  }
  ~Place() { all_.share_.leave(number_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  Engines& all_;
  std::size_t number_;
};

Engines::Engines(const Crew& crew)
    : device_(device_named(crew.device)),
      share_(static_cast<std::size_t>(crew.engines)),
      engines_(static_cast<std::size_t>(crew.engines)) {}

void Engines::open() const noexcept {
  if (device_.is_cpu()) return;
  try {
    device::start(device_);
    device::warm_up(device_);
  } catch (const std::exception&) {
  }
}

/// Started by the first scan that needs it. Throws DeviceError.
const ChosenDevice& Engines::chosen_device(const JobSettings& settings) {
  const std::lock_guard lock(choosing_);
  if (!chosen_) try {
      chosen_ = settings.options.device.choose();
    } catch (const Error& error) {
      throw DeviceError(error.what(), "", "");
    }
  return *chosen_;
}

void Engines::compute(std::size_t number, ScanJob& scan, const ProgressCallback& progress,
                      const std::string& because) {
  try {
    return compute_at_once(number, scan, progress, because, false);
  } catch (const DeviceError&) {
    if (engines_.size() == 1 || !are_of_use()) throw;
  }
  // Beside others a plan may fall short: once more, with the device to itself.
  scan.load();
  compute_at_once(number, scan, progress, because, true);
}

void Engines::compute_at_once(std::size_t number, ScanJob& scan, const ProgressCallback& progress,
                              const std::string& because, bool alone) {
  const ChosenDevice& chosen = chosen_device(*scan.settings);
  const CurrentDevice current(device_);
  const Place place(*this, number, scan, alone);
  const auto where = device_.is_cuda() ? fmt::format("GPU {}", device_.number()) : std::string("the CPU");
  const auto note = because.empty() ? "" : fmt::format("computed on {}, because {}", where, because);
  auto& engine = engines_[number];
  try {
    if (!engine || engine->settings != scan.settings) {
      engine.reset();
      engine = std::make_unique<JobEngine>(scan.settings, chosen);
    }
    scan.compute(*engine, progress, note);
  } catch (const DeviceError&) {
    engine.reset();  // its memory is for the others
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

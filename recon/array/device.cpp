#include "recon/array/device.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>

#include "recon/array/device_cuda.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd {

void refuse_cuda() {
  throw Error(Field{"device", "cuda"}, "", "this program was built without CUDA",
              "build it with the CUDA toolkit and FHD_CUDA=ON, or use " + option_words("device", "cpu"));
}

CurrentDevice::CurrentDevice(Device device) {
  if constexpr (built_with_cuda)
    if (device.is_cuda()) before_ = device::cuda::exchange_current(device.number());
}
CurrentDevice::~CurrentDevice() {
  if constexpr (built_with_cuda)
    if (before_ >= 0) device::cuda::restore_current(before_);
}

namespace device {

State& state_of(Device device) {
  static std::array<State, 64> states;
  const auto number = static_cast<std::size_t>(device.number());
  if (number >= states.size())
    throw Error("GPU", "a number below " + std::to_string(states.size()), std::to_string(device.number()));
  return states[number];
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string Description::text() const {
  return name + ", " + std::to_string(memory_bytes >> 30) + " GiB, compute capability " +
         std::to_string(compute_major) + "." + std::to_string(compute_minor) + ", driver for CUDA " +
         version_text(driver_version);
}

Inventory inventory() {
  if constexpr (built_with_cuda)
    return cuda::inventory();
  else
    return {{}, "this program was built without CUDA"};
}

namespace {
std::atomic<bool> started = false;
}
bool any_started() noexcept { return started; }

Description start(Device device) {
  if constexpr (built_with_cuda) {
    started = true;
    auto description = cuda::start(device);
    state_of(device).may_work = true;
    return description;
  } else {
    refuse_cuda();
  }
}

void warm_up(Device device) noexcept {
  if constexpr (built_with_cuda)
    if (device.is_cuda()) try {
        start(device);
        cuda::warm_up(device);
      } catch (const std::exception&) {  // the first use throws it again
      }
}

int multiprocessor_count(Device device) {
  constexpr int of_an_h100 = 132;
  int count = 0;
  if constexpr (built_with_cuda)
    if (device.is_cuda()) count = cuda::multiprocessor_count(device);
  return count > 0 ? count : of_an_h100;
}

std::size_t shared_bytes_of_block(Device device) {
  constexpr std::size_t of_an_h100 = 227 << 10;
  std::size_t bytes = 0;
  if constexpr (built_with_cuda)
    if (device.is_cuda()) bytes = cuda::shared_bytes_of_block(device);
  return bytes > 0 ? bytes : of_an_h100;
}

void synchronize(Device device) {
  if constexpr (built_with_cuda)
    if (device.is_cuda() && state_of(device).may_work) cuda::synchronize(device);
}

MemoryUse memory_use(Device device) {
  MemoryUse use;
  if constexpr (built_with_cuda)
    if (device.is_cuda()) {
      const State& state = state_of(device);
      const std::size_t limit = state.limit_bytes;
      use = {state.used_bytes, state.peak_bytes, cuda::free_bytes(device)};
      if (limit != 0) use.free_bytes = std::min(use.free_bytes, limit - std::min(limit, use.used_bytes));
    }
  return use;
}
void reset_peak_memory(Device device) {
  if (device.is_cuda()) state_of(device).peak_bytes = state_of(device).used_bytes.load();
}
void limit_memory(Device device, std::size_t bytes) {
  if (device.is_cuda()) state_of(device).limit_bytes = bytes;
}

}  // namespace device
}  // namespace fhd

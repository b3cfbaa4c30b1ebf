#pragma once
// The CUDA side of device.hpp and memory.hpp: device_cuda.cu, memory_cuda.cu. Its functions are named only
// inside `if constexpr (built_with_cuda)`, and make the device that they work on the current one.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

#include "recon/array/device.hpp"

namespace fhd::device {

/// What the program holds on one GPU.
struct State {
  std::atomic<std::size_t> used_bytes{0}, peak_bytes{0}, limit_bytes{0};  // of arrays; no limit: 0
  // The sums of the blocks of a dot product, made by the first, and anew by a larger one. The mutex and the order of
  // the default stream keep one product at a time in it.
  std::mutex dot_mutex;
  double* dot_sums = nullptr;
  std::int64_t dot_capacity = 0;
  // While a thread records a graph, CUDA lets no other wait for the device.
  std::shared_mutex recording;
};
State& state_of(Device device);

namespace cuda {

Inventory inventory();
Description start(Device device);
void synchronize(Device device);
void warm_up(Device device) noexcept;  ///< cufft.cu
/// 0 where there is no such device.
int multiprocessor_count(Device device) noexcept;
std::size_t free_bytes(Device device);

/// Makes `number` the current device of this thread. Returns the one to go back to; -1: none.
int exchange_current(int number);
void restore_current(int number) noexcept;

void* allocate(std::size_t bytes, Device device);
void release(void* data, std::size_t bytes, Device device) noexcept;  ///< `bytes` as allocated
void fill_zero(void* data, std::size_t bytes, Device device);
/// At least one of the devices is a GPU.
void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);

}  // namespace cuda
}  // namespace fhd::device

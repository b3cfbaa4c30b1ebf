#pragma once
// The CUDA side of device.hpp and memory.hpp: device_cuda.cu, memory_cuda.cu. Its functions are named only
// inside `if constexpr (built_with_cuda)`, and make the device that they work on the current one.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <shared_mutex>

#include "recon/array/device.hpp"

namespace fhd::device {

/// Tells what the program has on one GPU.
struct State {
  std::atomic<bool> may_work{false};  ///< it has started, or is asked for memory
  std::atomic<std::size_t> used_bytes{0}, peak_bytes{0}, limit_bytes{0};  // of arrays; no limit: 0
  // Memory comes from cudaMalloc and not from the pool: other devices read it.
  std::atomic<bool> is_shared{false};
  std::atomic<void*> pool{nullptr};  ///< cudaMemPool_t, once it is open
  // To wait for all of a device would spoil what another thread records in a graph: that one holds it alone.
  std::shared_mutex recording;
};
State& state_of(Device device);

// CUDA calls that fail, for tests: what becomes of the work is to be tried for every one of them.

/// The `number`-th checked call of CUDA or cuFFT from now on, of all threads, is told as one that failed, although it was
/// done; 0: none, which is how a program begins.
void fail_call(std::int64_t number);
/// Since fail_call() with a number > 0.
std::int64_t checked_calls();
/// For the places that check: counts this call, and tells whether it is that one.
bool call_fails() noexcept;

namespace cuda {

Inventory inventory();
Description start(Device device);
void synchronize(Device device);
/// Returns the default stream of the calling thread on the current device.
CUstream_st* default_stream() noexcept;
void warm_up(Device device);  ///< cufft.cu
/// 0 where there is no such device.
int multiprocessor_count(Device device) noexcept;
std::size_t shared_bytes_of_block(Device device) noexcept;
std::size_t free_bytes(Device device);

/// Makes `number` the current device of this thread. Returns the one to go back to; -1: none.
int exchange_current(int number);
void restore_current(int number) noexcept;

/// From the device's memory pool, in the order of the calling thread's work.
void* allocate(std::size_t bytes, Device device);
/// Allocations of `device` from now on can be read by other devices.
void share_memory(Device device);
/// `bytes` as allocated. `by_owner`, the thread that allocated them: in the order of its work, which may still use them;
/// else after the work of all threads.
void release(void* data, std::size_t bytes, Device device, bool by_owner) noexcept;
void fill_zero(void* data, std::size_t bytes, Device device);
/// At least one of the devices is a GPU.
void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);

}  // namespace cuda
}  // namespace fhd::device

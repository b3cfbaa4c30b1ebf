// Memory of a GPU, all counted, so that a plan can be checked against it and the end of memory can be tried out with
// limit_memory(). It comes from the device's memory pool: to take and give back costs microseconds there and waits for
// nothing, where cudaMalloc and cudaFree wait for the work of all threads.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <shared_mutex>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/memory.hpp"
#include "recon/array/staged_copy.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::device::cuda {
namespace {

/// The pool keeps so much of the memory given back, for the next scan.
constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 30;

/// Null where the device has none, or other devices read its memory.
cudaMemPool_t pool_of(Device device) {
  State& state = state_of(device);
  if (state.is_shared) return nullptr;
  if (void* known = state.pool) return static_cast<cudaMemPool_t>(known);
  int has_pools = 0;
  check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device.number()),
        "asking for memory pools");
  if (has_pools == 0) {
    state.is_shared = true;
    return nullptr;
  }
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device.number()), "opening the memory pool");
  std::uint64_t threshold = kept_bytes;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
        "opening the memory pool");
  state.pool = pool;
  return pool;
}

/// Held by the pool, and not by arrays.
std::size_t idle_bytes(cudaMemPool_t pool) {
  std::uint64_t reserved = 0, used = 0;
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "reading the memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "reading the memory pool");
  return reserved - std::min(reserved, used);
}

cudaError_t wait_for_all(Device device) {
  const std::shared_lock lock(state_of(device).recording);
  return cudaDeviceSynchronize();
}

cudaError_t take(void** data, std::size_t bytes, Device device) {
  const cudaMemPool_t pool = pool_of(device);
  if (pool == nullptr) return cudaMalloc(data, bytes);
  const cudaError_t status = cudaMallocAsync(data, bytes, default_stream());
  if (status != cudaErrorMemoryAllocation) return status;
  // Memory given back by others may be in pieces: ask the device once more.
  cudaGetLastError();
  check(wait_for_all(device), "waiting for the device");
  check(cudaMemPoolTrimTo(pool, 0), "giving back the memory pool");
  return cudaMallocAsync(data, bytes, default_stream());
}

/// Bytes that are in use from before they are taken on; no longer where taking them fails.
struct CountedBytes {
  CountedBytes(std::atomic<std::size_t>& in_use, std::size_t count)
      : used(in_use), bytes(count), total(in_use.fetch_add(count) + count) {}
  ~CountedBytes() {
    if (!are_kept) used -= bytes;
  }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  std::atomic<std::size_t>& used;
  const std::size_t bytes, total;
  bool are_kept = false;
};

}  // namespace

std::size_t free_bytes(Device device) {
  const CurrentDevice current(device);
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "reading the free memory");
  const cudaMemPool_t pool = pool_of(device);
  return pool == nullptr ? available : available + idle_bytes(pool);
}

void share_memory(Device device) { state_of(device).is_shared = true; }

void* allocate(std::size_t bytes, Device device) {
  const CurrentDevice current(device);
  State& state = state_of(device);
  state.may_work = true;
  auto &peak = state.peak_bytes, &limit = state.limit_bytes;
  CountedBytes counted(state.used_bytes, bytes);
  const auto give_up = [&](std::size_t available) {
    throw DeviceError(
        "CUDA device memory",
        mebibytes(bytes) + " more beside the " + mebibytes(counted.total - bytes) + " in use",
        mebibytes(available) + " free",
        "use fewer coils, a smaller matrix, a larger device, or " + option_words("device", "cpu"));
  };
  if (limit != 0 && counted.total > limit)
    give_up(limit - std::min<std::size_t>(limit, counted.total - bytes));
  void* data = nullptr;
  const cudaError_t status = call_fails() ? cudaErrorUnknown : take(&data, bytes, device);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    give_up(free_bytes(device));
  }
  if (status != cudaSuccess) check(status, "allocating " + mebibytes(bytes));
  counted.are_kept = true;
  for (std::size_t seen = peak; counted.total > seen && !peak.compare_exchange_weak(seen, counted.total);) {
  }
  return data;
}

void release(void* data, std::size_t bytes, Device device, bool by_owner) noexcept {
  State& state = state_of(device);
  state.used_bytes -= bytes;
  try {
    const CurrentDevice current(device);
    if (by_owner && !state.is_shared) {
      cudaFreeAsync(data, default_stream());
    } else {  // also of the pool, which does not wait by itself
      wait_for_all(device);
      cudaFree(data);
    }
  } catch (const Error&) {  // a failure here was reported by the work that caused it
  }
}

void fill_zero(void* data, std::size_t bytes, Device device) {
  const CurrentDevice current(device);
  check(cudaMemsetAsync(data, 0, bytes, nullptr), "zeroing an array");
}

void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  const CurrentDevice current(to_device.is_cuda() ? to_device : from_device);
  if (to_device.is_cpu() != from_device.is_cpu() && copy_staged(to, to_device, from, bytes)) return;
  if (from_device.is_cpu())
    check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
  else if (to_device.is_cpu())
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying to the host");
  else if (to_device == from_device)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr), "copying on the device");
  else {  // nothing orders the work of two devices
    synchronize(from_device);
    check(cudaMemcpyPeerAsync(to, to_device.number(), from, from_device.number(), bytes, default_stream()),
          "copying between devices");
    synchronize(to_device);
  }
}

}  // namespace fhd::device::cuda

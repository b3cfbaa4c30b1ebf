// Memory of the current CUDA device: plain allocations, all counted, so that a plan can be checked against
// them and the end of memory can be tried out with limit_memory().
#include <algorithm>
#include <atomic>
#include <string>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device.hpp"
#include "recon/array/device_memory.hpp"
#include "recon/error.hpp"

namespace fhd::device {
namespace {

std::atomic<std::size_t> used{0}, peak{0}, limit{0};

std::string mebibytes(std::size_t bytes) { return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB"; }

std::size_t free_bytes() {
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "reading the free memory");
  return available;
}

[[noreturn]] void throw_exhausted(std::size_t bytes, std::size_t available) {
  throw DeviceError(
      "CUDA device memory", mebibytes(bytes) + " more beside the " + mebibytes(used) + " in use",
      mebibytes(available) + " free", "use fewer coils, a smaller matrix, a larger device, or --device cpu");
}

}  // namespace

void* allocate(std::size_t bytes) {
  const std::size_t total = used.fetch_add(bytes) + bytes;
  const auto give_up = [&](std::size_t available) {
    used -= bytes;
    throw_exhausted(bytes, available);
  };
  if (limit != 0 && total > limit) give_up(limit - std::min<std::size_t>(limit, total - bytes));
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    give_up(free_bytes());
  }
  if (status != cudaSuccess) used -= bytes;
  check(status, "allocating " + mebibytes(bytes));
  for (std::size_t seen = peak; total > seen && !peak.compare_exchange_weak(seen, total);) {
  }
  return data;
}

void release(void* data, std::size_t bytes) noexcept {
  used -= bytes;
  cudaFree(data);  // a failure here was reported by the work that caused it
}

void fill_zero(void* data, std::size_t bytes) {
  check(cudaMemsetAsync(data, 0, bytes, nullptr), "zeroing an array");
}
void copy_to_device(void* device, const void* host, std::size_t bytes) {
  check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copying to the device");
}
void copy_to_host(void* host, const void* device, std::size_t bytes) {
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copying to the host");
}
void copy_on_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr), "copying on the device");
}

MemoryUse memory_use() {
  const std::size_t in_use = used, most = limit, available = free_bytes();
  return {in_use, peak, most == 0 ? available : std::min(available, most - std::min(most, in_use))};
}
void reset_peak_memory() { peak = used.load(); }
void limit_memory(std::size_t bytes) { limit = bytes; }

}  // namespace fhd::device

// Memory of a GPU: plain allocations, all counted, so that a plan can be checked against them and the end of
// memory can be tried out with limit_memory().
#include <algorithm>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/memory.hpp"
#include "recon/error.hpp"

namespace fhd::device::cuda {

std::size_t free_bytes(Device device) {
  const CurrentDevice current(device);
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "reading the free memory");
  return available;
}

void* allocate(std::size_t bytes, Device device) {
  const CurrentDevice current(device);
  State& state = state_of(device);
  auto &used = state.used_bytes, &peak = state.peak_bytes, &limit = state.limit_bytes;
  const std::size_t total = used.fetch_add(bytes) + bytes;
  const auto give_up = [&](std::size_t available) {
    used -= bytes;
    throw DeviceError("CUDA device memory",
                      mebibytes(bytes) + " more beside the " + mebibytes(used) + " in use",
                      mebibytes(available) + " free",
                      "use fewer coils, a smaller matrix, a larger device, or execution.device = cpu");
  };
  if (limit != 0 && total > limit) give_up(limit - std::min<std::size_t>(limit, total - bytes));
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    give_up(free_bytes(device));
  }
  if (status != cudaSuccess) used -= bytes;
  check(status, "allocating " + mebibytes(bytes));
  for (std::size_t seen = peak; total > seen && !peak.compare_exchange_weak(seen, total);) {
  }
  return data;
}

void release(void* data, std::size_t bytes, Device device) noexcept {
  state_of(device).used_bytes -= bytes;
  try {
    const CurrentDevice current(device);
    cudaFree(data);
  } catch (const Error&) {  // a failure here was reported by the work that caused it
  }
}

void fill_zero(void* data, std::size_t bytes, Device device) {
  const CurrentDevice current(device);
  check(cudaMemsetAsync(data, 0, bytes, nullptr), "zeroing an array");
}

void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  const CurrentDevice current(to_device.is_cuda() ? to_device : from_device);
  if (from_device.is_cpu())
    check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
  else if (to_device.is_cpu())
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying to the host");
  else if (to_device == from_device)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr), "copying on the device");
  else  // ordered behind the work of both devices, and before what they do next
    check(cudaMemcpyPeer(to, to_device.number(), from, from_device.number(), bytes),
          "copying between devices");
}

}  // namespace fhd::device::cuda

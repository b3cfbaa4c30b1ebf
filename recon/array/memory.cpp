#include "recon/array/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "recon/array/device_memory.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

constexpr std::size_t alignment = 64;  // one cache line, one AVX-512 register

/// work(first, count) on chunks of `bytes` bytes, in parallel.
template <class Work>
void for_each_chunk(std::size_t bytes, Work work) {
  constexpr std::size_t chunk = std::size_t(1) << 22;
  const auto chunks = static_cast<std::ptrdiff_t>((bytes + chunk - 1) / chunk);
#pragma omp parallel for schedule(static) if (chunks > 4)
  for (std::ptrdiff_t i = 0; i < chunks; ++i) {
    const std::size_t first = static_cast<std::size_t>(i) * chunk;
    work(first, std::min(chunk, bytes - first));
  }
}

// In parallel the pages spread over the memory of all sockets (first touch).
void zero_host(void* data, std::size_t bytes) {
  for_each_chunk(bytes, [&](std::size_t first, std::size_t count) {
    std::memset(static_cast<char*>(data) + first, 0, count);
  });
}

void copy_host(void* to, const void* from, std::size_t bytes) {
  for_each_chunk(bytes, [&](std::size_t first, std::size_t count) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, count);
  });
}

void* allocate_host(std::size_t bytes) {
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
  // Linux promises memory that it does not have and kills the process later; refuse at once instead.
  const std::size_t physical =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const bool possible = padded >= bytes && bytes <= physical;
  void* data = possible ? std::aligned_alloc(alignment, padded) : nullptr;
  if (data == nullptr)
    throw Error("memory", "", std::to_string(bytes >> 20) + " MiB could not be allocated on the host",
                "use a smaller matrix, fewer coils or --precision single");
  // A page fault for every 2 MiB instead of every 4 KiB, where the system grants it.
  constexpr std::size_t worth_huge_pages = std::size_t(16) << 20;
  if (padded >= worth_huge_pages) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(first), padded - page, MADV_HUGEPAGE);  // advice: may be ignored
  }
  return data;
}

}  // namespace

CurrentDevice::CurrentDevice(Device device) {
  if constexpr (built_with_cuda)
    if (device.is_cuda()) before_ = device::exchange_current(device.number());
}
CurrentDevice::~CurrentDevice() {
  if constexpr (built_with_cuda)
    if (before_ >= 0) device::restore_current(before_);
}

Memory::Memory(std::size_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (bytes == 0) return;
  data_ = device.is_cpu() ? allocate_host(bytes) : device::allocate(bytes);
  fill_zero();
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (device_.is_cpu())
    std::free(data_);
  else
    device::release(data_, bytes_);
}

Memory Memory::copy(Device to) const {
  Memory result;
  result.device_ = to;
  if (bytes_ == 0) return result;
  result.data_ = to.is_cpu() ? allocate_host(bytes_) : device::allocate(bytes_);
  result.bytes_ = bytes_;
  if (device_.is_cpu() && to.is_cpu())
    copy_host(result.data_, data_, bytes_);
  else if (device_.is_cpu())
    device::copy_to_device(result.data_, data_, bytes_);
  else if (to.is_cpu())
    device::copy_to_host(result.data_, data_, bytes_);
  else
    device::copy_on_device(result.data_, data_, bytes_);
  return result;
}

void Memory::fill_zero() {
  if (bytes_ == 0) return;
  if (device_.is_cpu())
    zero_host(data_, bytes_);
  else
    device::fill_zero(data_, bytes_);
}

}  // namespace fhd

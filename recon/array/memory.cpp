#include "recon/array/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "recon/array/device_cuda.hpp"
#include "recon/array/interruption.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

constexpr std::size_t alignment = 64;  // one cache line, one AVX-512 register

/// Calls work(first, count) for chunks of `bytes` bytes, in parallel.
template <class Work>
void for_each_chunk(std::size_t bytes, Work work) {
  constexpr std::int64_t chunk = std::int64_t(1) << 22;
  if (bytes <= 4 * chunk) return work(std::size_t(0), bytes);
  for_blocks(static_cast<std::int64_t>(bytes), chunk, [&](std::int64_t first, std::int64_t end) {
    work(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
  });
}

// In parallel the pages spread over the memory of all sockets (first touch).
void zero_host(void* data, std::size_t bytes) {
  for_each_chunk(bytes, [&](std::size_t first, std::size_t count) {
    std::memset(static_cast<char*>(data) + first, 0, count);
  });
}

void* allocate_host(std::size_t bytes) {
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
  // Linux promises memory that it does not have and kills the process later; refuse at once instead.
  static const std::size_t physical =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const bool possible = padded >= bytes && bytes <= physical;
  void* data = possible ? std::aligned_alloc(alignment, padded) : nullptr;
  if (data == nullptr)
    throw OutOfMemory("memory", "", std::to_string(bytes >> 20) + " MiB could not be allocated on the host",
                      "use a smaller matrix, fewer coils or " + option_words("precision", "single"));
  // A page fault for every 2 MiB instead of every 4 KiB, where the system grants it.
  constexpr std::size_t worth_huge_pages = std::size_t(16) << 20;
  if (padded >= worth_huge_pages) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(first), padded - page, MADV_HUGEPAGE);  // advice: may be ignored
  }
  return data;
}

void* allocate(std::size_t bytes, Device device) {
  if (bytes == 0) return nullptr;
  if (device.is_cpu()) return allocate_host(bytes);
  if constexpr (built_with_cuda)
    return device::cuda::allocate(bytes, device);
  else
    refuse_cuda();
}

}  // namespace

std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t number = ++last;
  return number;
}

Memory::Memory(std::size_t bytes, Device device) : Memory(allocate(bytes, device), bytes, device, true) {
  fill_zero();
}

void ReleaseMemory::operator()(void* data) const noexcept {
  if (!owned) return;
  if (device.is_cpu())
    std::free(data);
  else if constexpr (built_with_cuda)
    device::cuda::release(data, bytes, device, owner == this_thread());
}

Memory Memory::copy(Device to) const {
  Memory result(allocate(bytes(), to), bytes(), to, true);
  copy_bytes(result.data(), to, data(), device(), bytes());
  return result;
}

void Memory::fill_zero() {
  if (bytes() == 0) return;
  if (device().is_cpu()) return zero_host(data(), bytes());
  if constexpr (built_with_cuda) device::cuda::fill_zero(data(), bytes(), device());
}

void copy_in_parallel(void* to, const void* from, std::size_t bytes) {
  constexpr std::int64_t of_thread = std::int64_t{1} << 19;
  for_blocks(static_cast<std::int64_t>(bytes), of_thread, [&](std::int64_t first, std::int64_t end) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first,
                static_cast<std::size_t>(end - first));
  });
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  if (bytes == 0) return;
  if (to_device.is_cpu() && from_device.is_cpu())
    for_each_chunk(bytes, [&](std::size_t first, std::size_t count) {
      std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, count);
    });
  else if constexpr (built_with_cuda)
    device::cuda::copy(to, to_device, from, from_device, bytes);
  else
    refuse_cuda();
}

}  // namespace fhd

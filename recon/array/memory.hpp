#pragma once
// Raw memory of a device: 64-byte aligned host memory, or memory of a GPU.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "recon/array/device.hpp"

namespace fhd {

/// Rounded up: "12 MiB".
inline std::string mebibytes(std::size_t bytes) {
  return std::to_string((bytes + (std::size_t{1} << 20) - 1) >> 20) + " MiB";
}

/// Never that of a thread that has ended.
std::uint64_t this_thread();

/// Frees the bytes that Memory owns.
struct ReleaseMemory {
  std::size_t bytes = 0;
  Device device;
  bool owned = false;
  std::uint64_t owner = 0;  ///< the thread that allocated it
  void operator()(void* data) const noexcept;
};

/// Move-only owner of `bytes` zero-initialised bytes on a device, or view of bytes that others own. Throws
/// Error when there is not enough.
class Memory {
 public:
  Memory() = default;
  Memory(std::size_t bytes, Device device);
  /// Others' bytes on `device`, which outlive every use of it.
  static Memory view(void* data, std::size_t bytes, Device device) { return {data, bytes, device, false}; }

  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  std::size_t bytes() const { return data_.get_deleter().bytes; }
  Device device() const { return data_.get_deleter().device; }
  /// A copy of the bytes on `device`, owned.
  Memory copy(Device device) const;
  void fill_zero();

 private:
  Memory(void* data, std::size_t bytes, Device device, bool owned)
      : data_(data, {bytes, device, owned, this_thread()}) {}

  std::unique_ptr<void, ReleaseMemory> data_;
};

/// Copies between any two devices, in the order of the work that was queued there. `from` may be written and host memory
/// be read afterwards; a GPU may still write to `to`, in the order of this thread's work there.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
/// Copies within host memory by all threads, in pieces of half a MiB. Throws Interrupted where the caller wants to end.
void copy_in_parallel(void* to, const void* from, std::size_t bytes);

}  // namespace fhd

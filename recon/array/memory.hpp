#pragma once
// Raw memory of a device: 64-byte aligned host memory, or memory of a GPU.
#include <cstddef>
#include <utility>

#include "recon/array/device.hpp"

namespace fhd {

/// Move-only owner of `bytes` zero-initialised bytes on a device, or view of bytes that others own. Throws
/// Error when there is not enough.
class Memory {
 public:
  Memory() = default;
  Memory(std::size_t bytes, Device device);
  /// Others' bytes on `device`, which outlive every use of it.
  static Memory view(void* data, std::size_t bytes, Device device) { return {data, bytes, device, false}; }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  void* data() { return data_; }
  const void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// A copy of the bytes on `device`, owned.
  Memory copy(Device device) const;
  void fill_zero();
  void swap(Memory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    std::swap(owned_, other.owned_);
  }

 private:
  Memory(void* data, std::size_t bytes, Device device, bool owned)
      : data_(data), bytes_(bytes), device_(device), owned_(owned) {}

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
  bool owned_ = false;
};

/// Copies between any two devices, in the order of the work that was queued there; into and out of host memory
/// it waits.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);

}  // namespace fhd

#pragma once
// Raw memory of a device: 64-byte aligned host memory, or memory of the current CUDA device.
#include <cstddef>
#include <utility>

#include "recon/array/device.hpp"

namespace fhd {

/// Move-only owner of `bytes` zero-initialised bytes on a device. Throws Error when there is not enough.
class Memory {
 public:
  Memory() = default;
  Memory(std::size_t bytes, Device device);
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
  /// A copy of the bytes on `device`.
  Memory copy(Device device) const;
  void fill_zero();
  void swap(Memory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
};

}  // namespace fhd

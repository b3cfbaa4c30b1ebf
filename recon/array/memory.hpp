#pragma once
// Raw memory of a backend: 64-byte aligned host memory, or memory of the current CUDA device.
#include <cstddef>
#include <utility>

namespace fhd {

enum class Backend { cpu, cuda };

/// Move-only owner of `bytes` zero-initialised bytes on a backend. Throws Error when there is not enough.
class Memory {
 public:
  Memory() = default;
  Memory(std::size_t bytes, Backend backend);
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
  Backend backend() const { return backend_; }
  /// A copy of the bytes on `backend`.
  Memory copy(Backend backend) const;
  void fill_zero();
  void swap(Memory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(backend_, other.backend_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Backend backend_ = Backend::cpu;
};

}  // namespace fhd

#pragma once
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace fhd::io {

/// Owns an open file. Move-only.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// Calls move(next, left), as read() or write() are called, until all bytes are moved. Returns false at an end, with errno 0, or a
/// failure.
template <class Byte, class Move>
bool move_all(Byte* next, std::size_t left, Move move) {
  while (left > 0) {
    errno = 0;
    const ssize_t moved = move(next, left);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    next += moved;
    left -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace fhd::io

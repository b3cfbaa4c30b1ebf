#include "io/scan/mrd/global_heap.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

namespace fhd::io::mrd {
namespace {

constexpr std::uint64_t usual_window = 1 << 18;  // stays in a processor's own cache until it is copied
constexpr std::uint64_t head_bytes = 16;         // of a collection, and of an object

template <class T>
T number_at(const char* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

}  // namespace

GlobalHeap::GlobalHeap(int descriptor) : descriptor_(descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && status.st_size > 0)
    file_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

std::optional<std::span<const float>> GlobalHeap::floats(const StoredList& list) {
  static_assert(std::endian::native == std::endian::little);
  if (list.length == 0) return std::span<const float>();
  const std::uint64_t wanted = std::uint64_t{list.length} * sizeof(float);
  if (list.address > file_bytes_) return std::nullopt;
  const char* head = at(list.address, std::max(head_bytes, std::min(usual_size_, file_bytes_ - list.address)));
  if (head == nullptr || std::memcmp(head, "GCOL\1", 5) != 0) return std::nullopt;
  const auto size = number_at<std::uint64_t>(head + 8);
  if (size > file_bytes_ - list.address) return std::nullopt;
  // At once: the way to every list in it begins at its head.
  usual_size_ = std::min(size, usual_window);
  if (size == usual_size_ && at(list.address, size) == nullptr) return std::nullopt;
  constexpr int most_objects = 1 << 16;  // an index has 16 bits
  std::uint64_t offset = head_bytes;
  for (int i = 0; i < most_objects && offset + head_bytes <= size; ++i) {
    const char* object = at(list.address + offset, head_bytes);
    if (object == nullptr) return std::nullopt;
    const auto index = number_at<std::uint16_t>(object);
    const auto bytes = number_at<std::uint64_t>(object + 8);
    offset += head_bytes;
    if (index == 0 || bytes > size - offset) return std::nullopt;
    if (index == list.index) {
      const char* data = bytes == wanted ? at(list.address + offset, bytes) : nullptr;
      if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % alignof(float) != 0) return std::nullopt;
      return std::span(reinterpret_cast<const float*>(data), list.length);
    }
    offset += (bytes + 7) / 8 * 8;
  }
  return std::nullopt;
}

/// Bytes of the file that are in memory from now on; null where it ends before, or cannot be read.
const char* GlobalHeap::at(std::uint64_t offset, std::uint64_t bytes) {
  if (offset > file_bytes_ || bytes > file_bytes_ - offset) return nullptr;
  if (offset < begin_ || offset > end_ || offset + bytes - begin_ > capacity_) {
    begin_ = end_ = offset;
    if (bytes > capacity_) {
      capacity_ = std::max(bytes, usual_window);
      window_.reset(new (std::nothrow) char[capacity_]);
      if (!window_) {
        capacity_ = 0;
        return nullptr;
      }
    }
  }
  while (end_ < offset + bytes) {
    const auto read = pread(descriptor_, window_.get() + (end_ - begin_), offset + bytes - end_,
                            static_cast<off_t>(end_));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return nullptr;
    end_ += static_cast<std::uint64_t>(read);
  }
  return window_.get() + (offset - begin_);
}

}  // namespace fhd::io::mrd

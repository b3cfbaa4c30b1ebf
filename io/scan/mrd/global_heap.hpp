#pragma once
// The global heap of an HDF5 file, where the arrays of readouts lie, read without libhdf5: that copies every array
// three times and lets one thread at a time do so.
//
// A collection (HDF5 File Format Specification, III.E) is "GCOL", version 1, 3 bytes, its size; then objects, each of
// index (2 bytes), references (2), 4 bytes, size, and its data, filled up to 8 bytes; index 0: the rest is free.
// Numbers are little-endian; sizes and addresses have 8 bytes here. Whatever is not so is left to libhdf5, and with it
// the judgement on damaged files.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace fhd::io::mrd {

/// A list of floats, as a record refers to it.
struct StoredList {
  std::uint64_t address = 0;  ///< of its collection
  std::uint32_t length = 0, index = 0;
};

/// Reads whole collections, and keeps some of them. For one thread.
class GlobalHeap {
 public:
  /// Of the file open as `descriptor`, which must outlive it.
  explicit GlobalHeap(int descriptor);
  /// Lives until the next call. Empty where this is not what the file holds.
  std::optional<std::span<const float>> floats(const StoredList& list);

 private:
  const char* at(std::uint64_t offset, std::uint64_t bytes);

  int descriptor_;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<char[]> window_;  ///< bytes [begin_, end_) of the file
  std::uint64_t capacity_ = 0, begin_ = 0, end_ = 0;
  std::uint64_t usual_size_ = 0;  ///< of collections
};

}  // namespace fhd::io::mrd

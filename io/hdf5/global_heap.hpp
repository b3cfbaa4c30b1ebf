#pragma once
// Reads the global heaps of an HDF5 file, where the arrays of ISMRMRD readouts lie: libhdf5 is asked for the references alone,
// because it copies every array three times and lets one thread at a time do so.
//
// A reference is a length (4 bytes), the address of a collection, and an index (4). A collection (HDF5 File Format
// Specification, III.E) is "GCOL", version 1, 3 bytes, its size; then objects, each of index (2 bytes), references (2),
// 4 bytes, size, and its data, filled up to 8 bytes; index 0 is free space, and its size includes its head. Numbers are
// little-endian; heads have 16 bytes, however long the file's sizes are.
#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io::hdf5 {

/// The place of a value that has a length of its own.
struct HeapReference {
  std::uint64_t address = 0;            ///< of its collection; 0: there is no value
  std::uint32_t length = 0, index = 0;  ///< length: of numbers, or characters
};

/// States how a file refers to its heaps.
struct HeapLayout {
  int descriptor = -1;     ///< of the file, open
  std::uint64_t base = 0;  ///< where addresses count from
  std::size_t address_bytes = 8, size_bytes = 8;

  std::size_t reference_bytes() const { return 8 + address_bytes; }
  HeapReference reference_at(const char* bytes) const;
};
constexpr std::size_t most_reference_bytes = 16;

/// Returns the layout of an open file. Throws Error if it is another kind than those read here.
HeapLayout heap_layout_of(hid_t file, const std::string& subject);

/// Returns the type as which values with lengths of their own are read: their references.
Handle reference_type(const HeapLayout& layout, const std::string& subject);
/// Makes that possible. Called once, before the first of them is read.
bool register_references();

/// Reads whole collections and caches the last one. For one thread.
class GlobalHeap {
 public:
  /// Reads a file that must outlive it.
  explicit GlobalHeap(const HeapLayout& layout);
  /// Returns `length` elements of so many bytes each, which live until the next call; none where the reference is to none, and
  /// nothing if the file has no such object of this length.
  std::optional<std::span<const char>> value(const HeapReference& reference, std::size_t element_bytes);

 private:
  bool read_collection(std::uint64_t address);

  HeapLayout layout_;
  std::uint64_t file_bytes_ = 0, address_ = 0;
  std::vector<char> memory_;          ///< never made smaller: it would be zeroed anew for each
  std::span<const char> collection_;  ///< the one at `address_`; empty: none
};

}  // namespace fhd::io::hdf5

#pragma once
// The global heaps of an HDF5 file, where all values lie that have a length of their own: the arrays of readouts, and texts.
// They are read here and nowhere else. libhdf5 follows lengths, addresses and indices of a file without a look (1.10.8:
// H5HG_read and H5T__conv_vlen write behind their memory), copies every array three times, and lets one thread at a time do
// so. What it is asked for are the references themselves.
//
// A reference is a length (4 bytes), the address of a collection, and an index (4). A collection (HDF5 File Format
// Specification, III.E) is "GCOL", version 1, 3 bytes, its size; then objects, each of index (2 bytes), references (2),
// 4 bytes, size, and its data, filled up to 8 bytes; index 0 is free space, and its size that of its head, too. Numbers
// are little-endian; heads have 16 bytes, however long the file's sizes are.
#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io::hdf5 {

/// Where a value of a length of its own lies.
struct HeapReference {
  std::uint64_t address = 0;            ///< of its collection; 0: there is no value
  std::uint32_t length = 0, index = 0;  ///< length: of numbers, or characters
};

/// How a file refers to its heaps.
struct HeapLayout {
  int descriptor = -1;     ///< of the file, open
  std::uint64_t base = 0;  ///< where addresses count from
  std::size_t address_bytes = 8, size_bytes = 8;

  std::size_t reference_bytes() const { return 8 + address_bytes; }
  HeapReference reference_at(const char* bytes) const;
};
constexpr std::size_t most_reference_bytes = 16;

/// Of an open file. Throws Error where it is none that is read here.
HeapLayout heap_layout_of(hid_t file, const std::string& subject);

/// What values that have lengths of their own are read as: their references.
Handle reference_type(const HeapLayout& layout, const std::string& subject);
/// To be called once, before the first of them is read.
bool register_references();

/// A value out of a heap, or what is wrong with it.
struct HeapValue {
  std::span<const char> bytes{};
  const char* wrong = nullptr;  ///< "a ...", behind "found"; null: nothing
};

/// Reads whole collections, and keeps some of them. For one thread.
class GlobalHeap {
 public:
  /// Of a file that must outlive it.
  explicit GlobalHeap(const HeapLayout& layout);
  /// `length` elements of so many bytes each; they live until the next call.
  HeapValue value(const HeapReference& reference, std::size_t element_bytes);
  /// What libhdf5 would stumble over if it followed this reference, anywhere in the collection; null: nothing.
  const char* fault(const HeapReference& reference, std::size_t element_bytes);

 private:
  struct Collection {
    std::uint64_t begin = 0, size = 0;
    const char* wrong = nullptr;
  };
  struct Object {
    std::uint64_t index = 0, begin = 0, bytes = 0, next = 0;
    const char* wrong = nullptr;
  };
  HeapValue object_of(const HeapReference& reference, std::uint64_t wanted);
  const char* fault_of_collection(std::uint64_t address);
  Collection collection_at(std::uint64_t address);
  Object object_at(const Collection& collection, std::uint64_t offset);
  std::uint64_t size_at(const char* bytes) const;
  const char* at(std::uint64_t offset, std::uint64_t bytes);

  HeapLayout layout_;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<char[]> window_;  ///< bytes [begin_, end_) of the file
  std::uint64_t capacity_ = 0, begin_ = 0, end_ = 0;
  std::uint64_t usual_size_ = 0;  ///< of collections
  std::uint64_t sound_ = 0;       ///< the address of one without fault
};

}  // namespace fhd::io::hdf5

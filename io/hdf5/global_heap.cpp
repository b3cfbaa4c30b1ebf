#include "io/hdf5/global_heap.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "io/files/stored_bytes.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {
namespace {

constexpr std::uint64_t usual_window = 1 << 18;  // fits into the cache of a processor core
constexpr std::uint64_t head_bytes = 16;         // of a collection, and of an object

constexpr auto beyond_file = "an address beyond the end of the file";
constexpr auto no_collection = "an address where the file has no heap";
constexpr auto longer_than_file = "a heap that is longer than the file";
constexpr auto broken_collection = "a heap whose objects do not fit into it";
constexpr auto no_object = "an index that its heap does not have";
constexpr auto another_length = "another length than that of what is stored";
constexpr auto unreadable = "a heap that cannot be read, or has no memory left";

std::uint64_t number_at(const char* bytes, std::size_t width) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, width);
  return number;
}

bool is_known_width(std::size_t bytes) { return bytes == 2 || bytes == 4 || bytes == 8; }

/// Converts values with lengths of their own to the bytes that refer to them, which stay as they are.
herr_t keep_references(hid_t from, hid_t to, H5T_cdata_t* conversion, std::size_t, std::size_t, std::size_t,
                       void*, void*, hid_t) {
  if (conversion->command != H5T_CONV_INIT) return 0;
  conversion->need_bkg = H5T_BKG_NO;
  return H5Tget_size(from) == H5Tget_size(to) ? 0 : -1;
}

}  // namespace

HeapReference HeapLayout::reference_at(const char* bytes) const {
  HeapReference reference;
  reference.length = static_cast<std::uint32_t>(number_at(bytes, 4));
  reference.address = number_at(bytes + 4, address_bytes);
  reference.index = static_cast<std::uint32_t>(number_at(bytes + 4 + address_bytes, 4));
  return reference;
}

HeapLayout heap_layout_of(hid_t file, const std::string& subject) {
  constexpr auto readable = "a readable file";
  const Handle creation(H5Fget_create_plist(file), H5Pclose, subject, readable),
      access(H5Fget_access_plist(file), H5Pclose, subject, readable);
  HeapLayout layout;
  hsize_t user_block = 0;
  int* descriptor = nullptr;
  check(H5Pget_userblock(creation.get(), &user_block), subject, readable);
  check(H5Pget_sizes(creation.get(), &layout.address_bytes, &layout.size_bytes), subject, readable);
  if (H5Pget_driver(access.get()) == H5FD_SEC2)
    check(H5Fget_vfd_handle(file, H5P_DEFAULT, reinterpret_cast<void**>(&descriptor)), subject, readable);
  if (descriptor == nullptr || !is_known_width(layout.address_bytes) || !is_known_width(layout.size_bytes))
    throw Error(subject, "one file with addresses of 2, 4 or 8 bytes", "another kind of HDF5 file",
                "'h5repack' makes one of it");
  layout.base = user_block;
  layout.descriptor = *descriptor;
  return layout;
}

Handle reference_type(const HeapLayout& layout, const std::string& subject) {
  return {H5Tcreate(H5T_OPAQUE, layout.reference_bytes()), H5Tclose, subject, "a type"};
}

bool register_references() {
  const hid_t values = H5Tvlen_create(H5T_NATIVE_FLOAT), references = H5Tcreate(H5T_OPAQUE, 1);
  const bool done = values >= 0 && references >= 0 &&
                    H5Tregister(H5T_PERS_SOFT, "fhd: references", values, references, keep_references) >= 0;
  if (values >= 0) H5Tclose(values);
  if (references >= 0) H5Tclose(references);
  return done;
}

GlobalHeap::GlobalHeap(const HeapLayout& layout) : layout_(layout) {
  const auto bytes = stored_bytes(layout.descriptor);
  if (bytes > layout.base) file_bytes_ = bytes - layout.base;
}

std::uint64_t GlobalHeap::size_at(const char* bytes) const { return number_at(bytes, layout_.size_bytes); }

GlobalHeap::Collection GlobalHeap::collection_at(std::uint64_t address) {
  if (address > file_bytes_ || file_bytes_ - address < head_bytes) return {.wrong = beyond_file};
  const char* head = at(address, std::max(head_bytes, std::min(usual_size_, file_bytes_ - address)));
  if (head == nullptr) return {.wrong = unreadable};
  if (std::memcmp(head, "GCOL\1", 5) != 0) return {.wrong = no_collection};
  const auto size = size_at(head + 8);
  if (size > file_bytes_ - address) return {.wrong = longer_than_file};
  if (size < head_bytes) return {.wrong = broken_collection};
  // Reads it at once: the way to every object in it begins at its head.
  usual_size_ = std::min(size, usual_window);
  if (size == usual_size_ && at(address, size) == nullptr) return {.wrong = unreadable};
  return {address, size};
}

GlobalHeap::Object GlobalHeap::object_at(const Collection& collection, std::uint64_t offset) {
  const char* head = at(collection.begin + offset, head_bytes);
  if (head == nullptr) return {.wrong = unreadable};
  Object object{number_at(head, 2), collection.begin + offset + head_bytes, size_at(head + 8)};
  if (object.index == 0) {  // free space: its head counts
    if (object.bytes < head_bytes || object.bytes > collection.size - offset)
      return {.wrong = broken_collection};
    object.next = offset + object.bytes;
    return object;
  }
  if (object.bytes > collection.size - offset - head_bytes) return {.wrong = broken_collection};
  object.next = offset + head_bytes + (object.bytes + 7) / 8 * 8;
  return object;
}

HeapValue GlobalHeap::value(const HeapReference& reference, std::size_t element_bytes) {
  if (reference.length == 0 || reference.address == 0) return {};
  const auto wanted = std::uint64_t{reference.length} * element_bytes;
  const auto collection = collection_at(reference.address);
  if (collection.wrong != nullptr) return {.wrong = collection.wrong};
  constexpr int most_objects = 1 << 16;  // an index has 16 bits
  std::uint64_t offset = head_bytes;
  for (int i = 0; i < most_objects && offset <= collection.size - head_bytes; ++i) {
    const auto object = object_at(collection, offset);
    if (object.wrong != nullptr) return {.wrong = object.wrong};
    if (object.index != 0 && object.index == reference.index) {
      if (object.bytes != wanted) return {.wrong = another_length};
      const char* const bytes = at(object.begin, object.bytes);
      if (bytes == nullptr) return {.wrong = unreadable};
      return {.bytes = {bytes, static_cast<std::size_t>(object.bytes)}};
    }
    offset = object.next;
  }
  return {.wrong = no_object};
}

/// Returns bytes of the file, which stay in memory until the next call; null if it ends before, or cannot be read.
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
    const auto read = pread(layout_.descriptor, window_.get() + (end_ - begin_), offset + bytes - end_,
                            static_cast<off_t>(layout_.base + end_));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return nullptr;
    end_ += static_cast<std::uint64_t>(read);
  }
  return window_.get() + (offset - begin_);
}

}  // namespace fhd::io::hdf5

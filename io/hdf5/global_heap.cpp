#include "io/hdf5/global_heap.hpp"

#include <bit>
#include <cstring>

#include "io/files/input_file.hpp"
#include "io/files/stored_bytes.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {
namespace {

constexpr std::uint64_t head_bytes = 16;  // of a collection, and of an object

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

/// Returns false if the file has no whole collection there.
bool GlobalHeap::read_collection(std::uint64_t address) {
  if (!collection_.empty() && address == address_) return true;
  collection_ = {};
  address_ = address;
  if (address > file_bytes_ || file_bytes_ - address < head_bytes) return false;
  const auto offset = layout_.base + address;
  char head[head_bytes];
  if (!read_at(layout_.descriptor, head, head_bytes, offset) || std::memcmp(head, "GCOL\1", 5) != 0)
    return false;
  const auto size = number_at(head + 8, layout_.size_bytes);
  if (size < head_bytes || size > file_bytes_ - address) return false;
  if (memory_.size() < size) memory_.resize(size);
  if (!read_at(layout_.descriptor, memory_.data(), size, offset)) return false;
  collection_ = {memory_.data(), size};
  return true;
}

std::optional<std::span<const char>> GlobalHeap::value(const HeapReference& reference,
                                                       std::size_t element_bytes) {
  if (reference.length == 0 || reference.address == 0) return std::span<const char>();
  if (!read_collection(reference.address)) return {};
  for (std::uint64_t offset = head_bytes; offset + head_bytes <= collection_.size();) {
    const char* const head = collection_.data() + offset;
    const auto index = number_at(head, 2), bytes = number_at(head + 8, layout_.size_bytes);
    const auto left = collection_.size() - offset;
    const bool is_free = index == 0;  // its head counts
    if (is_free ? bytes < head_bytes || bytes > left : bytes > left - head_bytes) return {};
    if (!is_free && index == reference.index) {
      if (bytes != std::uint64_t{reference.length} * element_bytes) return {};
      return std::span(head + head_bytes, bytes);
    }
    offset += is_free ? bytes : head_bytes + (bytes + 7) / 8 * 8;
  }
  return {};
}

}  // namespace fhd::io::hdf5

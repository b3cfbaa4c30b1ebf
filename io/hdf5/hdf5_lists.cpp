#include "io/hdf5/hdf5_lists.hpp"

#include <algorithm>

#include "io/hdf5/global_heap.hpp"
#include "io/hdf5/hdf5_claims.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {
namespace {

/// A member of a record.
struct List {
  std::string name;
  std::size_t number_bytes;
};

bool has_lists(hid_t type) {
  return H5Tdetect_class(type, H5T_VLEN) != 0 || H5Tdetect_class(type, H5T_STRING) != 0 ||
         H5Tdetect_class(type, H5T_REFERENCE) != 0;
}

std::vector<List> lists_of(hid_t type, const std::string& subject) {
  constexpr auto expected = "records of numbers and of lists of numbers";
  require_sound_type(type, subject);
  if (H5Tget_class(type) != H5T_COMPOUND) throw Error(subject, expected, "another type");
  std::vector<List> lists;
  const int count = H5Tget_nmembers(type);
  for (unsigned i = 0; static_cast<int>(i) < count; ++i) {
    const Handle member(H5Tget_member_type(type, i), H5Tclose, subject, "a readable type");
    if (!has_lists(member.get())) continue;
    if (H5Tget_class(member.get()) != H5T_VLEN) throw Error(subject, expected, "another type");
    const Handle number(H5Tget_super(member.get()), H5Tclose, subject, "a readable type");
    if (has_lists(number.get())) throw Error(subject, expected, "lists of lists");
    char* const name = H5Tget_member_name(type, i);
    if (name != nullptr) lists.push_back({name, H5Tget_size(number.get())});
    H5free_memory(name);
  }
  return lists;
}

/// One reference of each record in its place.
std::vector<char> references_of(hid_t dataset, const HeapLayout& layout, const List& list,
                                const Handle& space, std::int64_t count, const std::string& subject) {
  const auto reference = reference_type(layout, subject);
  const Handle type(H5Tcreate(H5T_COMPOUND, layout.reference_bytes()), H5Tclose, subject, "a type");
  check(H5Tinsert(type.get(), list.name.c_str(), 0, reference.get()), subject, "a type");
  const auto memory_space = space_of({count}, subject);
  std::vector<char> bytes(static_cast<std::size_t>(count) * layout.reference_bytes());
  check(H5Dread(dataset, type.get(), memory_space.get(), space.get(), H5P_DEFAULT, bytes.data()), subject,
        "readable records");
  return bytes;
}

}  // namespace

void require_sound_lists(const File& file, hid_t dataset, const std::string& subject) {
  const Handle type(H5Dget_type(dataset), H5Tclose, subject, "a readable type"),
      space(H5Dget_space(dataset), H5Sclose, subject, "a readable dataspace");
  const auto extents = extents_of(space.get(), subject);
  if (extents.size() != 1) throw Error(subject, "[record]", text_of(extents));
  const auto lists = lists_of(type.get(), subject);
  const auto layout = heap_layout_of(file.id(), subject);
  require_stored(dataset, H5Tget_size(type.get()) - lists.size() * (sizeof(hvl_t) - layout.reference_bytes()),
                 extents, subject);
  constexpr std::int64_t most_records = 1024;
  for (const auto& list : lists) {
    GlobalHeap heap(layout);
    for (std::int64_t first = 0; first < extents[0]; first += most_records) {
      const auto count = std::min(most_records, extents[0] - first);
      const auto start = static_cast<hsize_t>(first), length = static_cast<hsize_t>(count);
      check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr), subject,
            "readable records");
      const auto bytes = references_of(dataset, layout, list, space, count, subject);
      for (std::size_t at = 0; at < bytes.size(); at += layout.reference_bytes())
        if (const char* wrong = heap.fault(layout.reference_at(bytes.data() + at), list.number_bytes))
          throw Error(subject, "lists of numbers in heaps of the file", wrong, "the file is damaged");
    }
  }
}

}  // namespace fhd::io::hdf5

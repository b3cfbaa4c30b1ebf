#pragma once
// Describes structs to HDF5.
#include <hdf5.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io::hdf5 {

struct Member {
  std::string name;
  std::size_t offset;
  hid_t type;
  hsize_t count = 0;  ///< of an array, else 0
};

inline Handle compound_type(std::size_t size, const std::vector<Member>& members,
                            const std::string& subject) {
  constexpr auto expected = "the ISMRMRD type";
  Handle type(H5Tcreate(H5T_COMPOUND, size), H5Tclose, subject, expected);
  for (const auto& [name, offset, member, count] : members) {
    Handle array;
    if (count > 0) array = {H5Tarray_create2(member, 1, &count), H5Tclose, subject, expected};
    check(H5Tinsert(type.get(), name.c_str(), offset, count > 0 ? array.get() : member), subject, expected);
  }
  return type;
}

/// Returns the type of a number in memory; of structs `of_structs`.
template <class T>
hid_t native_type(hid_t of_structs) {
  if constexpr (std::is_same_v<T, std::uint16_t>) return H5T_NATIVE_UINT16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  return of_structs;
}

/// Returns the members of a struct at `begin`. `names`: "first, second".
template <class... Values>
std::vector<Member> members_of(const void* begin, std::string_view names, hid_t of_structs,
                               const Values&... values) {
  std::vector<Member> members;
  const auto add = [&]<class T>(const T& value) {
    const auto end = std::min(names.find(','), names.size());
    const auto offset = reinterpret_cast<const char*>(&value) - static_cast<const char*>(begin);
    members.push_back({std::string(names.substr(0, end)), static_cast<std::size_t>(offset),
                       native_type<std::remove_all_extents_t<T>>(of_structs), std::extent_v<T>});
    names.remove_prefix(std::min(end + 2, names.size()));
  };
  (add(values), ...);
  return members;
}

/// Returns the type of a struct in memory, all of whose members are named, as they are in the file.
#define FHD_COMPOUND(Struct, subject, of_structs, ...)                                              \
  [&] {                                                                                             \
    static const Struct fhd_one{};                                                                  \
    const auto& [__VA_ARGS__] = fhd_one;                                                            \
    return fhd::io::hdf5::compound_type(                                                            \
        sizeof(Struct), fhd::io::hdf5::members_of(&fhd_one, #__VA_ARGS__, of_structs, __VA_ARGS__), \
        subject);                                                                                   \
  }()

}  // namespace fhd::io::hdf5

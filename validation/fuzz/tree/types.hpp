#pragma once
// The types of values in descriptions of HDF5 files (tree.hpp), by their number.
#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fhd::fuzz {

/// Those of files: real numbers, pairs of them, others that no reader expects, then text, then lists and readouts.
struct FileType {
  hid_t id;
  std::size_t bytes;  ///< of a value in a description
};
const std::vector<FileType>& plain_types();

/// Behind the plain ones.
struct OtherTypes {
  std::uint8_t text, padded_text, variable_text, lists, first_readouts, end;
};
OtherTypes other_types();

/// A readout in a description: the head as ISMRMRD packs it, two lengths of 2 bytes, then so many floats.
constexpr std::size_t head_bytes = 340;
/// Readouts: of the format, padded, without trajectory, with doubles, of the other byte order.
constexpr std::uint8_t readout_type_count = 5;
hid_t readout_type(std::uint8_t number);
/// In memory: the head, a blank, two lists.
struct StoredReadout {
  char head[344];
  hvl_t trajectory, values;
};
hid_t memory_readout_type();

/// For reading and writing: libhdf5 clears two buffers of 1 MiB each time unless told otherwise.
hid_t small_buffers();

/// A member of a readout's head: where it is, of how many bytes, and whether it is a float.
struct HeadMember {
  const char* name;
  char type;  ///< as in Python's struct
  unsigned count;
};
const std::vector<HeadMember>& head_members();
std::size_t bytes_of_member(char type);

}  // namespace fhd::fuzz

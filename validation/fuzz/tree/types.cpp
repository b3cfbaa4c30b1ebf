#include "validation/fuzz/tree/types.hpp"

#include <string_view>

namespace fhd::fuzz {
namespace {

hid_t pair_of(const char* first, const char* second, hid_t number, int extra = 0) {
  const auto size = H5Tget_size(number);
  const hid_t type = H5Tcreate(H5T_COMPOUND, size * (2 + static_cast<std::size_t>(extra)));
  H5Tinsert(type, first, 0, number);
  H5Tinsert(type, second, size, number);
  if (extra > 0) H5Tinsert(type, "x", 2 * size, number);
  return type;
}

hid_t half_float() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

hid_t truth_value() {
  const hid_t type = H5Tenum_create(H5T_STD_I8LE);
  signed char value = 0;
  H5Tenum_insert(type, "FALSE", &value);
  value = 1;
  H5Tenum_insert(type, "TRUE", &value);
  return type;
}

hid_t array_of_two() {
  const hsize_t count = 2;
  return H5Tarray_create2(H5T_IEEE_F32LE, 1, &count);
}

std::vector<FileType> made_plain_types() {
  std::vector<FileType> types;
  for (const hid_t id : {H5T_STD_I8LE,
                         H5T_STD_U8LE,
                         H5T_STD_I16LE,
                         H5T_STD_U16LE,
                         H5T_STD_I32LE,
                         H5T_STD_U32LE,
                         H5T_STD_I64LE,
                         H5T_STD_U64LE,
                         H5T_IEEE_F32LE,
                         H5T_IEEE_F64LE,
                         H5T_STD_I32BE,
                         H5T_STD_U16BE,
                         H5T_IEEE_F32BE,
                         H5T_IEEE_F64BE,
                         H5T_NATIVE_LDOUBLE,
                         half_float(),
                         pair_of("r", "i", H5T_IEEE_F32LE),
                         pair_of("r", "i", H5T_IEEE_F64LE),
                         pair_of("real", "imag", H5T_IEEE_F32LE),
                         pair_of("real", "imag", H5T_IEEE_F64LE),
                         pair_of("r", "i", H5T_IEEE_F32BE),
                         pair_of("i", "r", H5T_IEEE_F32LE),
                         pair_of("r", "i", H5T_STD_I32LE),
                         pair_of("r", "i", H5T_IEEE_F32LE, 1),
                         truth_value(),
                         array_of_two(),
                         H5Tcreate(H5T_OPAQUE, 4),
                         H5T_STD_B8LE,
                         H5T_STD_REF_OBJ})
    types.push_back({id, H5Tget_size(id)});
  return types;
}

hid_t head_type(bool big_endian) {
  const auto number = [&](char type) -> hid_t {
    switch (type) {
      case 'H':
        return big_endian ? H5T_STD_U16BE : H5T_STD_U16LE;
      case 'I':
        return big_endian ? H5T_STD_U32BE : H5T_STD_U32LE;
      case 'Q':
        return big_endian ? H5T_STD_U64BE : H5T_STD_U64LE;
      case 'i':
        return big_endian ? H5T_STD_I32BE : H5T_STD_I32LE;
      default:
        return big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE;
    }
  };
  const hid_t head = H5Tcreate(H5T_COMPOUND, head_bytes);
  constexpr std::size_t counter_bytes = 34, counters = 10;
  const hid_t idx = H5Tcreate(H5T_COMPOUND, counter_bytes);
  std::size_t offset = 0, of_counter = 0, left = 0;
  for (const auto& [name, type, count] : head_members()) {
    const hsize_t extent = count;
    const hid_t member = count > 1 ? H5Tarray_create2(number(type), 1, &extent) : number(type);
    if (std::string_view(name) == "kspace_encode_step_1") left = counters;
    if (left > 0) {
      H5Tinsert(idx, name, of_counter, member);
      of_counter += H5Tget_size(member);
      if (--left == 0) H5Tinsert(head, "idx", offset + H5Tget_size(member) - counter_bytes, idx);
    } else {
      H5Tinsert(head, name, offset, member);
    }
    offset += H5Tget_size(member);
  }
  return head;
}

hid_t readouts_of(hid_t head, hid_t number, std::size_t gap, bool has_trajectory) {
  constexpr std::size_t list_bytes = sizeof(hvl_t);
  const hid_t list = H5Tvlen_create(number);
  const hid_t type = H5Tcreate(H5T_COMPOUND, head_bytes + gap + 2 * list_bytes);
  H5Tinsert(type, "head", 0, head);
  if (has_trajectory) H5Tinsert(type, "traj", head_bytes + gap, list);
  H5Tinsert(type, "data", head_bytes + gap + list_bytes, list);
  return type;
}

}  // namespace

const std::vector<FileType>& plain_types() {
  static const auto types = made_plain_types();
  return types;
}

OtherTypes other_types() {
  const auto first = static_cast<std::uint8_t>(plain_types().size());
  const auto at = [&](int number) { return static_cast<std::uint8_t>(first + number); };
  return {at(0), at(1), at(2), at(3), at(4), at(4 + readout_type_count)};
}

hid_t readout_type(std::uint8_t number) {
  static const hid_t types[readout_type_count] = {
      readouts_of(head_type(false), H5T_IEEE_F32LE, 0, true),
      readouts_of(head_type(false), H5T_IEEE_F32LE, 4, true),
      readouts_of(head_type(false), H5T_IEEE_F32LE, 0, false),
      readouts_of(head_type(false), H5T_IEEE_F64LE, 0, true),
      readouts_of(head_type(true), H5T_IEEE_F32BE, 0, true),
  };
  return types[number % readout_type_count];
}

hid_t memory_readout_type() {
  static const hid_t type = readouts_of(head_type(false), H5T_NATIVE_FLOAT, 4, true);
  return type;
}

hid_t small_buffers() {
  static const hid_t transfer = [] {
    constexpr std::size_t bytes = 1 << 14;
    const hid_t properties = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_buffer(properties, bytes, nullptr, nullptr);
    return properties;
  }();
  return transfer;
}

const std::vector<HeadMember>& head_members() {
  static const std::vector<HeadMember> members{{"version", 'H', 1},
                                               {"flags", 'Q', 1},
                                               {"measurement_uid", 'I', 1},
                                               {"scan_counter", 'I', 1},
                                               {"acquisition_time_stamp", 'I', 1},
                                               {"physiology_time_stamp", 'I', 3},
                                               {"number_of_samples", 'H', 1},
                                               {"available_channels", 'H', 1},
                                               {"active_channels", 'H', 1},
                                               {"channel_mask", 'Q', 16},
                                               {"discard_pre", 'H', 1},
                                               {"discard_post", 'H', 1},
                                               {"center_sample", 'H', 1},
                                               {"encoding_space_ref", 'H', 1},
                                               {"trajectory_dimensions", 'H', 1},
                                               {"sample_time_us", 'f', 1},
                                               {"position", 'f', 3},
                                               {"read_dir", 'f', 3},
                                               {"phase_dir", 'f', 3},
                                               {"slice_dir", 'f', 3},
                                               {"patient_table_position", 'f', 3},
                                               {"kspace_encode_step_1", 'H', 1},
                                               {"kspace_encode_step_2", 'H', 1},
                                               {"average", 'H', 1},
                                               {"slice", 'H', 1},
                                               {"contrast", 'H', 1},
                                               {"phase", 'H', 1},
                                               {"repetition", 'H', 1},
                                               {"set", 'H', 1},
                                               {"segment", 'H', 1},
                                               {"user", 'H', 8},
                                               {"user_int", 'i', 8},
                                               {"user_float", 'f', 8}};
  return members;
}

std::size_t bytes_of_member(char type) { return type == 'H' ? 2 : type == 'Q' ? 8 : 4; }

}  // namespace fhd::fuzz

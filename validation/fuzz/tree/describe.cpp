// Of a file a description.
#include <hdf5.h>

#include <algorithm>
#include <cstring>

#include "validation/fuzz/tree/tree.hpp"
#include "validation/fuzz/tree/types.hpp"

namespace fhd::fuzz {
namespace {

constexpr std::size_t most_bytes = 1 << 15;  // of an object: the lengths in a description have 16 bits

/// The number of the type in plain_types() that is like it, or one of text, lists or readouts; none: another.
std::optional<std::uint8_t> number_of(hid_t type) {
  const auto other = other_types();
  const auto& plain = plain_types();
  for (std::size_t i = 0; i < plain.size(); ++i)
    if (H5Tequal(type, plain[i].id) > 0) return static_cast<std::uint8_t>(i);
  for (std::uint8_t i = 0; i < readout_type_count; ++i)
    if (H5Tequal(type, readout_type(i)) > 0) return static_cast<std::uint8_t>(other.first_readouts + i);
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0              ? other.variable_text
             : H5Tget_strpad(type) == H5T_STR_NULLTERM ? other.text
                                                       : other.padded_text;
    case H5T_VLEN:
      return other.lists;
    case H5T_COMPOUND:
      if (H5Tget_member_index(type, "head") >= 0) return other.first_readouts;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

void append(std::string& bytes, const void* from, std::size_t count) {
  bytes.append(static_cast<const char*>(from), count);
}

std::string bytes_of_readouts(const std::vector<char>& memory) {
  std::string bytes;
  for (std::size_t at = 0; at + sizeof(StoredReadout) <= memory.size(); at += sizeof(StoredReadout)) {
    StoredReadout readout;
    std::memcpy(&readout, memory.data() + at, sizeof readout);
    append(bytes, readout.head, head_bytes);
    const std::uint16_t lengths[] = {static_cast<std::uint16_t>(readout.trajectory.len),
                                     static_cast<std::uint16_t>(readout.values.len)};
    append(bytes, lengths, sizeof lengths);
    if (lengths[0] > 0) append(bytes, readout.trajectory.p, lengths[0] * sizeof(float));
    if (lengths[1] > 0) append(bytes, readout.values.p, lengths[1] * sizeof(float));
  }
  return bytes;
}

/// Type, extents and values of a dataset or an attribute; `read` is H5Dread or H5Aread. False: it is left out.
template <class Read>
bool take(hid_t type, hid_t space, Node& node, const Read& read) {
  const auto number = number_of(type);
  const int rank = H5Sget_simple_extent_ndims(space);
  constexpr int most_axes = 8;
  if (!number || rank < 0 || rank > most_axes) return false;
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  node.type = *number;
  node.extents.assign(extents.begin(), extents.end());
  const auto count = H5Sget_simple_extent_npoints(space);
  const auto other = other_types();
  const bool readouts = *number >= other.first_readouts, variable = *number == other.variable_text;
  const hid_t memory_type = readouts ? memory_readout_type() : type;
  const std::size_t each = H5Tget_size(memory_type);
  if (count <= 0 || each == 0 || static_cast<std::uint64_t>(count) > most_bytes / each ||
      *number == other.lists)
    return true;
  std::vector<char> memory(static_cast<std::size_t>(count) * each, 0);
  if (read(memory_type, memory.data()) < 0) return true;
  if (variable) {
    const char* text = nullptr;
    std::memcpy(&text, memory.data(), sizeof text);
    if (text) node.values = text;
  } else {
    node.values = readouts ? bytes_of_readouts(memory) : std::string(memory.begin(), memory.end());
  }
  if (readouts || variable) H5Dvlen_reclaim(memory_type, space, small_buffers(), memory.data());
  return true;
}

struct Visit {
  Tree tree;
  std::string path;
};

herr_t visit_attribute(hid_t object, const char* name, const H5A_info_t*, void* data) {
  auto& visit = *static_cast<Visit*>(data);
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) return 0;
  const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  Node node;
  node.kind = Kind::attribute;
  node.path = visit.path;
  node.attribute = name;
  if (take(type, space, node, [&](hid_t memory, void* to) { return H5Aread(attribute, memory, to); }))
    visit.tree.nodes.push_back(std::move(node));
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
  return 0;
}

Layout layout_of(hid_t dataset) {
  const hid_t properties = H5Dget_create_plist(dataset);
  const auto layout = H5Pget_layout(properties);
  const bool filtered = H5Pget_nfilters(properties) > 0;
  H5Pclose(properties);
  return layout == H5D_COMPACT   ? Layout::compact
         : layout != H5D_CHUNKED ? Layout::contiguous
         : filtered              ? Layout::deflate
                                 : Layout::chunked;
}

herr_t visit_object(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  auto& visit = *static_cast<Visit*>(data);
  const hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  if (object < 0) return 0;
  Node node;
  node.path = visit.path = std::string(name) == "." ? "/" : "/" + std::string(name);
  bool keeps = node.path != "/";
  if (info->type == H5O_TYPE_DATASET) {
    node.kind = Kind::dataset;
    node.layout = layout_of(object);
    const hid_t type = H5Dget_type(object), space = H5Dget_space(object);
    keeps = take(type, space, node, [&](hid_t memory, void* to) {
      return H5Dread(object, memory, H5S_ALL, H5S_ALL, small_buffers(), to);
    });
    H5Sclose(space);
    H5Tclose(type);
  }
  if (keeps) visit.tree.nodes.push_back(std::move(node));
  hsize_t begin = 0;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &begin, visit_attribute, &visit);
  H5Oclose(object);
  return 0;
}

}  // namespace

Tree describe(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Visit visit;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return {};
  H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit_object, &visit, H5O_INFO_BASIC);
  H5Fclose(file);
  H5Eclear2(H5E_DEFAULT);
  return visit.tree;
}

}  // namespace fhd::fuzz

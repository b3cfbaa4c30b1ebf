// Of a description a file.
#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "validation/fuzz/tree/tree.hpp"
#include "validation/fuzz/tree/types.hpp"

namespace fhd::fuzz {
namespace {

/// Closes what libhdf5 opened. What it refused has a negative number.
class Object {
 public:
  Object(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Object() {
    if (id_ >= 0) close_(id_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

constexpr std::uint64_t most_bytes =
    1 << 17;  // of the values of an object; larger ones are claimed, not written

/// How many values the extents claim; most_bytes + 1 for all that are more.
std::uint64_t count_of(const std::vector<std::uint64_t>& extents) {
  std::uint64_t count = 1;
  for (const auto extent : extents) {
    if (extent == 0) return 0;
    count = extent > most_bytes ? most_bytes + 1 : std::min(count * extent, most_bytes + 1);
  }
  return count;
}

/// So many bytes of the values, from the start again at their end.
std::vector<char> filled(const std::string& values, std::size_t bytes) {
  std::vector<char> all(bytes, 0);
  for (std::size_t i = 0; i < bytes && !values.empty(); i += values.size())
    std::memcpy(all.data() + i, values.data(), std::min(values.size(), bytes - i));
  return all;
}

/// Values as libhdf5 takes them, of a type in memory and one in the file.
struct Values {
  hid_t file_type = -1, memory_type = -1;
  bool closes = false;  ///< a type of this node's own
  std::vector<char> bytes;
  std::vector<std::vector<float>> floats;  ///< that lists point to
  ~Values() {
    if (closes) H5Tclose(file_type);
  }
};

hvl_t list_of(Values& values, const char* begin, std::size_t bytes, std::size_t count) {
  auto& floats = values.floats.emplace_back(std::min(count, bytes / sizeof(float)));
  if (!floats.empty()) std::memcpy(floats.data(), begin, floats.size() * sizeof(float));
  return {floats.size(), floats.data()};
}

/// Readouts, one after the other; from the start again at the end.
void take_readouts(const Node& node, std::uint64_t count, Values& values) {
  constexpr std::size_t least = head_bytes + 4;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    StoredReadout readout{};
    if (node.values.size() >= least) {
      if (node.values.size() - at < least) at = 0;
      std::memcpy(readout.head, node.values.data() + at, head_bytes);
      std::uint16_t lengths[2];
      std::memcpy(lengths, node.values.data() + at + head_bytes, sizeof lengths);
      at += least;
      for (auto* list : {&readout.trajectory, &readout.values}) {
        *list = list_of(values, node.values.data() + at, node.values.size() - at,
                        lengths[list == &readout.values]);
        at += list->len * sizeof(float);
      }
    }
    const char* const bytes = reinterpret_cast<const char*>(&readout);
    values.bytes.insert(values.bytes.end(), bytes, bytes + sizeof readout);
  }
}

/// False: the values are too many, or of a type that holds none.
bool take_values(const Node& node, Values& values) {
  const auto& plain = plain_types();
  const auto other = other_types();
  const auto type = static_cast<std::uint8_t>(node.type % other.end);
  const auto count = count_of(node.extents);
  std::size_t each = 1;
  if (type < plain.size()) {
    values.file_type = values.memory_type = plain[type].id;
    each = plain[type].bytes;
  } else if (type == other.variable_text) {
    static const hid_t variable = [] {
      const hid_t text = H5Tcopy(H5T_C_S1);
      H5Tset_size(text, H5T_VARIABLE);
      return text;
    }();
    values.file_type = values.memory_type = variable;
    each = sizeof(char*);
  } else if (type == other.lists) {
    static const hid_t lists = H5Tvlen_create(H5T_NATIVE_FLOAT);
    values.file_type = values.memory_type = lists;
    each = sizeof(hvl_t);
  } else if (type >= other.first_readouts) {
    values.file_type = readout_type(type - other.first_readouts);
    values.memory_type = memory_readout_type();
    each = sizeof(StoredReadout);
  } else {
    each = std::max<std::size_t>(1, node.values.size() / std::max<std::uint64_t>(1, count));
    values.closes = true;
    values.file_type = values.memory_type = H5Tcopy(H5T_C_S1);
    H5Tset_size(values.file_type, each);
    H5Tset_strpad(values.file_type, type == other.text ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
    if (type == other.text) H5Tset_cset(values.file_type, H5T_CSET_UTF8);
  }
  const bool varies =
      type == other.variable_text || type >= other.lists;  // every value may be as long as all bytes
  if (count > most_bytes / (each + (varies ? node.values.size() : 0))) return false;
  if (type == other.variable_text) {
    const std::vector<const char*> texts(count, node.values.c_str());
    values.bytes.resize(count * each);
    if (count > 0) std::memcpy(values.bytes.data(), texts.data(), values.bytes.size());
  } else if (type == other.lists) {
    const auto list = list_of(values, node.values.data(), node.values.size(), node.values.size());
    const std::vector<hvl_t> lists(count, list);
    values.bytes.resize(count * each);
    if (count > 0) std::memcpy(values.bytes.data(), lists.data(), values.bytes.size());
  } else if (type >= other.first_readouts) {
    take_readouts(node, count, values);
  } else {
    values.bytes = filled(node.values, count * each);
  }
  return true;
}

hid_t space_of(const Node& node, bool may_grow) {
  if (node.extents.empty()) return H5Screate(H5S_SCALAR);
  const std::vector<hsize_t> extents(node.extents.begin(), node.extents.end()),
      most(extents.size(), H5S_UNLIMITED);
  return H5Screate_simple(static_cast<int>(extents.size()), extents.data(), may_grow ? most.data() : nullptr);
}

void set_chunks(hid_t properties, const Node& node) {
  std::vector<hsize_t> chunk;
  hsize_t most =
      1 << 14;  // values of a chunk, whatever the extents claim: libhdf5 takes memory for whole ones
  for (const auto extent : node.extents) {
    const auto wanted = node.layout == Layout::small_chunks ? extent / 2 + 1 : extent;
    chunk.push_back(std::clamp<hsize_t>(wanted, 1, std::max<hsize_t>(most, 1)));
    most /= chunk.back();
  }
  if (!chunk.empty()) H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
}

void set_layout(hid_t properties, const Node& node, hid_t space) {
  constexpr unsigned level = 4;
  constexpr H5Z_filter_t nobodys_filter = 299;
  if (node.layout >= Layout::chunked && node.layout <= Layout::scale_offset) set_chunks(properties, node);
  switch (node.layout) {
    case Layout::compact:
      H5Pset_layout(properties, H5D_COMPACT);
      break;
    case Layout::shuffle_deflate:
      H5Pset_shuffle(properties);
      [[fallthrough]];
    case Layout::deflate:
      H5Pset_deflate(properties, level);
      break;
    case Layout::checksum:
      H5Pset_fletcher32(properties);
      break;
    case Layout::absent_filter:
      H5Pset_filter(properties, nobodys_filter, H5Z_FLAG_OPTIONAL, 0, nullptr);
      break;
    case Layout::scale_offset:
      H5Pset_scaleoffset(properties, H5Z_SO_INT, 0);
      break;
    case Layout::outside:
      H5Pset_external(properties, "outside.raw", 0, H5F_UNLIMITED);
      break;
    case Layout::made_of_others:
      H5Pset_virtual(properties, space, "other.h5", "/x", space);
      break;
    default:
      break;
  }
}

void make_dataset(hid_t file, const Node& node) {
  Values values;
  const bool writes = take_values(node, values) && node.layout != Layout::not_written &&
                      node.layout != Layout::outside && node.layout != Layout::made_of_others;
  const Object space(space_of(node, node.layout == Layout::small_chunks || node.layout == Layout::chunked),
                     H5Sclose);
  const Object properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties, false);
  set_layout(properties, node, space);
  static const hid_t with_parents = [] {
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    return links;
  }();
  const Object dataset(
      H5Dcreate2(file, node.path.c_str(), values.file_type, space, with_parents, properties, H5P_DEFAULT),
      H5Dclose);
  if (dataset >= 0 && writes && !values.bytes.empty())
    H5Dwrite(dataset, values.memory_type, H5S_ALL, H5S_ALL, small_buffers(), values.bytes.data());
}

void make_attribute(hid_t file, const Node& node) {
  Values values;
  if (!take_values(node, values)) return;
  const Object object(H5Oopen(file, node.path.c_str(), H5P_DEFAULT), H5Oclose);
  if (object < 0) return;
  const Object space(space_of(node, false), H5Sclose);
  const Object attribute(
      H5Acreate2(object, node.attribute.c_str(), values.file_type, space, H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (attribute >= 0 && !values.bytes.empty()) H5Awrite(attribute, values.memory_type, values.bytes.data());
}

void make(hid_t file, const Node& node) {
  const char *const path = node.path.c_str(), *const target = node.attribute.c_str();
  switch (node.kind) {
    case Kind::group:
      H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      break;
    case Kind::dataset:
      make_dataset(file, node);
      break;
    case Kind::attribute:
      make_attribute(file, node);
      break;
    case Kind::soft_link:
      H5Lcreate_soft(target, file, path, H5P_DEFAULT, H5P_DEFAULT);
      break;
    case Kind::hard_link:
      H5Lcreate_hard(file, target, file, path, H5P_DEFAULT, H5P_DEFAULT);
      break;
    case Kind::outside_link:
      H5Lcreate_external("other.h5", target, file, path, H5P_DEFAULT, H5P_DEFAULT);
      break;
    case Kind::patch:
      break;
  }
}

/// Changes bytes of the file.
void apply_patches(const Tree& tree, const std::string& path) {
  const bool has_patch = std::any_of(tree.nodes.begin(), tree.nodes.end(),
                                     [](const Node& node) { return node.kind == Kind::patch; });
  if (!has_patch) return;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  for (const auto& node : tree.nodes) {
    if (node.kind != Kind::patch || node.extents.empty() || size == 0) continue;
    const auto begin = node.extents[0] % size;
    file.seekp(static_cast<std::streamoff>(begin));
    file.write(node.values.data(), static_cast<std::streamsize>(std::min(node.values.size(), size - begin)));
  }
}

void build_whole(const Tree& tree, const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Object creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose), access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr unsigned oldest = 1, newest = 2, block = 4;
  constexpr hsize_t block_bytes = 512;
  H5Pset_obj_track_times(creation, false);
  H5Pset_libver_bounds(access,
                       (tree.format & oldest)   ? H5F_LIBVER_EARLIEST
                       : (tree.format & newest) ? H5F_LIBVER_LATEST
                                                : H5F_LIBVER_V18,
                       H5F_LIBVER_LATEST);
  if (tree.format & block) H5Pset_userblock(creation, block_bytes);
  const Object file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose);
  require(file >= 0);
  for (const auto& node : tree.nodes) make(file, node);
  H5Eclear2(H5E_DEFAULT);
}

}  // namespace

void build(const Tree& tree, const std::string& path) {
  build_whole(tree, path);
  apply_patches(tree, path);
}

}  // namespace fhd::fuzz

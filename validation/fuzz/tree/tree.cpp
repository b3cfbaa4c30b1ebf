#include "validation/fuzz/tree/tree.hpp"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace fhd::fuzz {
namespace {

constexpr std::string_view mark = "fhd tree";
constexpr std::size_t most_nodes = 64, most_axes = 8;

/// Reads numbers and texts, as far as there are bytes.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  bool is_at_end() const { return bytes_.empty(); }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    bytes = std::min(bytes, bytes_.size());
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{bytes_[i]} << (8 * i);
    bytes_ = bytes_.subspan(bytes);
    return value;
  }
  std::string text(std::size_t length_bytes) {
    const auto length = std::min<std::size_t>(number(length_bytes), bytes_.size());
    std::string text(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
    bytes_ = bytes_.subspan(length);
    return text;
  }

 private:
  Bytes bytes_;
};

void put(std::string& bytes, std::uint64_t number, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
}

void put(std::string& bytes, const std::string& text, std::size_t length_bytes) {
  const auto length = std::min(text.size(), (std::size_t{1} << (8 * length_bytes)) - 1);
  put(bytes, length, length_bytes);
  bytes.append(text, 0, length);
}

}  // namespace

bool is_tree(Bytes input) {
  return input.size() > mark.size() && std::memcmp(input.data(), mark.data(), mark.size()) == 0;
}

Tree tree_of(Bytes input) {
  Reader reader(input.subspan(std::min(input.size(), mark.size())));
  Tree tree;
  tree.format = static_cast<std::uint8_t>(reader.number(1));
  while (!reader.is_at_end() && tree.nodes.size() < most_nodes) {
    Node node;
    node.kind = static_cast<Kind>(reader.number(1) % kind_count);
    node.type = static_cast<std::uint8_t>(reader.number(1));
    node.layout = static_cast<Layout>(reader.number(1) % layout_count);
    node.extents.resize(std::min<std::size_t>(reader.number(1), most_axes));
    for (auto& extent : node.extents) extent = reader.number(8);
    node.path = reader.text(1);
    node.attribute = reader.text(1);
    node.values = reader.text(2);
    tree.nodes.push_back(std::move(node));
  }
  return tree;
}

std::string bytes_of(const Tree& tree) {
  std::string bytes(mark);
  put(bytes, tree.format, 1);
  for (const auto& node : tree.nodes) {
    put(bytes, static_cast<std::uint64_t>(node.kind), 1);
    put(bytes, node.type, 1);
    put(bytes, static_cast<std::uint64_t>(node.layout), 1);
    put(bytes, std::min(node.extents.size(), most_axes), 1);
    for (std::size_t axis = 0; axis < std::min(node.extents.size(), most_axes); ++axis)
      put(bytes, node.extents[axis], 8);
    put(bytes, node.path, 1);
    put(bytes, node.attribute, 1);
    put(bytes, node.values, 2);
  }
  return bytes;
}

static const Folder& folder_of_files() {
  static const Folder folder;
  // Every file that is open takes 0.6 MiB in libhdf5, and every transfer 2: kept there, or most of the time goes into getting
  // them from the system, and zeros into them.
  constexpr int kept_bytes = 32 << 20;
  static const herr_t told =
      H5set_free_list_limits(kept_bytes, kept_bytes, kept_bytes, kept_bytes, kept_bytes, kept_bytes);
  require(told >= 0);
  return folder;
}

/// A copy where the environment asks for one, before a reader sees the file.
static void keep(const std::string& path) {
  const char* const kept = std::getenv("FHD_FUZZ_KEEP");
  if (kept == nullptr) return;
  std::error_code ignored;
  std::filesystem::copy_file(path, kept, std::filesystem::copy_options::overwrite_existing, ignored);
}

Hdf5File::Hdf5File(const Tree& tree) : path_(folder_of_files().file("input.h5")) {
  build(tree, path_);
  keep(path_);
}

Hdf5File::Hdf5File(Bytes input) : path_(folder_of_files().file("input.h5")) {
  if (is_tree(input))
    build(tree_of(input), path_);
  else
    folder_of_files().write("input.h5", input);
  keep(path_);
}

Hdf5File::~Hdf5File() { ::unlink(path_.c_str()); }

}  // namespace fhd::fuzz

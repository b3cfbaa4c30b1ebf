#pragma once
// Descriptions of small HDF5 files. Bytes that are changed at random are mostly no HDF5 file any more, and libhdf5 crashes or
// never ends over them long before a reader of fhd sees a value. So the targets of HDF5 files take a description instead: a
// list of groups, datasets, attributes and links, of which a valid file is made (build.cpp) for the readers to see hostile
// values, shapes, types and names in. The list, not its bytes, is what is changed at random (mutate.cpp): a length is always
// right. One description in sixteen also says bytes that are changed in the file that was made of it. An input may be an HDF5
// file, too: its description is what is changed.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validation/fuzz/harness.hpp"

namespace fhd::fuzz {

enum class Kind : std::uint8_t { group, dataset, attribute, soft_link, hard_link, outside_link, patch };
constexpr std::uint8_t kind_count = 7;

/// How the values of a dataset are laid out.
enum class Layout : std::uint8_t {
  contiguous,
  compact,
  chunked,
  small_chunks,
  deflate,
  shuffle_deflate,
  checksum,
  absent_filter,
  scale_offset,
  outside,
  made_of_others,  ///< virtual
  not_written
};
constexpr std::uint8_t layout_count = 12;

struct Node {
  Kind kind = Kind::group;
  std::uint8_t type = 0;  ///< number in the list of types.hpp
  Layout layout = Layout::contiguous;
  std::vector<std::uint64_t> extents;  ///< none: a single value; of a patch: where it begins
  std::string path;                    ///< from the root on
  std::string attribute;               ///< its name; of links: where they lead
  std::string values;                  ///< from the start again where they are too few
};

struct Tree {
  std::uint8_t format = 0;  ///< bits: the oldest format of libhdf5, the newest, a block before the file
  std::vector<Node> nodes;
};

bool is_tree(Bytes input);
/// Of any bytes: what is cut off is left out.
Tree tree_of(Bytes input);
std::string bytes_of(const Tree& tree);

/// Makes a file; what libhdf5 refuses to make is left out.
void build(const Tree& tree, const std::string& path);
/// The description of a file; what has no place in one is left out.
Tree describe(const std::string& path);

/// A file of an input, which is a description or the file itself, in memory where the machine has room for files there.
class Hdf5File {
 public:
  explicit Hdf5File(Bytes input);
  explicit Hdf5File(const Tree& tree);
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fhd::fuzz

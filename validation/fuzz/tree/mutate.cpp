// Changes of descriptions at random, in the place of libFuzzer's own of bytes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "validation/fuzz/tree/tree.hpp"
#include "validation/fuzz/tree/types.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace fhd::fuzz {
namespace {

// What the readers ask for, and a few names that they do not.
constexpr const char* known_paths[] = {"/dataset",
                                       "/dataset/xml",
                                       "/dataset/data",
                                       "/other/xml",
                                       "/other/data",
                                       "/kspace",
                                       "/trajectory",
                                       "/sensitivity_maps",
                                       "/field_map",
                                       "/sample_time_s",
                                       "/noise",
                                       "/calibration",
                                       "/calibration_trajectory",
                                       "/image",
                                       "/gridded",
                                       "/report",
                                       "/report/json",
                                       "/gating",
                                       "/gating/signal",
                                       "/gating/bin",
                                       "/exhibits/0_0/sensitivity_maps",
                                       "/exhibits/0_0/point_spread",
                                       "/girf",
                                       "/frequency_hz",
                                       "/impulse_response",
                                       "/time_s",
                                       "/",
                                       "/x"};
constexpr const char* known_attributes[] = {"unit",
                                            "origin",
                                            "matrix_size",
                                            "cropped_matrix_size",
                                            "fov_mm",
                                            "position_mm",
                                            "read_direction",
                                            "phase_direction",
                                            "slice_direction",
                                            "readout_length",
                                            "source",
                                            "input_path",
                                            "input_checksum",
                                            "input_sha256",
                                            "made_by",
                                            "run",
                                            "x"};
constexpr const char* known_texts[] = {"cycles/FOV", "cycles/voxel", "radians/voxel", "1/m", "1/mm", "kmax",
                                       "auto",       "excitation",   "readout start", "fhd", ""};
constexpr std::uint64_t known_extents[] = {0,
                                           1,
                                           2,
                                           3,
                                           4,
                                           5,
                                           6,
                                           7,
                                           8,
                                           12,
                                           16,
                                           36,
                                           255,
                                           1 << 14,
                                           (1 << 14) + 1,
                                           65535,
                                           65536,
                                           1 << 20,
                                           (1 << 20) + 1,
                                           std::uint64_t{1} << 31,
                                           std::uint64_t{1} << 32,
                                           std::uint64_t{1} << 62,
                                           std::uint64_t{1} << 63,
                                           std::numeric_limits<std::uint64_t>::max() - 1};
constexpr double known_numbers[] = {0,
                                    -0.0,
                                    1,
                                    -1,
                                    2,
                                    3,
                                    6,
                                    0.5,
                                    1e-3,
                                    1e-30,
                                    5e-324,
                                    255,
                                    256,
                                    4096,
                                    4097,
                                    32767,
                                    32768,
                                    65535,
                                    65536,
                                    1e6,
                                    2147483647.,
                                    2147483648.,
                                    4294967296.,
                                    9223372036854775807.,
                                    1.8446744073709552e19,
                                    1e38,
                                    1e300,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN()};
constexpr const char* written_numbers[] = {"0",
                                           "-1",
                                           "1",
                                           "2",
                                           "3",
                                           "6",
                                           "7",
                                           "65535",
                                           "65536",
                                           "2147483647",
                                           "2147483648",
                                           "9223372036854775807",
                                           "18446744073709551616",
                                           "1e-300",
                                           "1e999",
                                           "nan",
                                           "inf",
                                           "0.5",
                                           "-0",
                                           ""};

/// Draws of one seed.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return count == 0 ? 0 : engine_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class T, std::size_t n>
  const T& of(const T (&list)[n]) {
    return list[below(n)];
  }

 private:
  std::minstd_rand engine_;
};

/// libFuzzer's own changes, of a part.
void change_bytes(std::string& bytes, std::size_t most = 8192) {
  std::vector<std::uint8_t> changed(bytes.begin(), bytes.end());
  changed.resize(std::max(most, bytes.size()));
  const auto size = LLVMFuzzerMutate(changed.data(), bytes.size(), changed.size());
  bytes.assign(changed.begin(), changed.begin() + static_cast<std::ptrdiff_t>(size));
}

/// A number that is written in a text becomes another: header and report stay what they are.
void change_written_number(std::string& text, Dice& dice) {
  constexpr std::string_view digits = "0123456789";
  const auto begin = text.find_first_of(digits, dice.below(text.size()));
  if (begin == std::string::npos) return change_bytes(text);
  const auto end = std::min(text.find_first_not_of("0123456789.eE-+", begin), text.size());
  text.replace(begin, end - begin, dice.of(written_numbers));
}

/// What stands between two brackets or lines goes, or comes twice.
void change_element(std::string& text, Dice& dice) {
  constexpr std::string_view ends = "<>{},\n";
  const auto begin = text.find_first_of(ends, dice.below(text.size()));
  if (begin == std::string::npos) return change_bytes(text);
  auto end = begin;
  for (std::size_t i = 0; i <= dice.below(8) && end != std::string::npos; ++i)
    end = text.find_first_of(ends, end + 1);
  if (end == std::string::npos) end = text.size();
  if (dice.one_in(2))
    text.erase(begin, end - begin);
  else
    text.insert(begin, text.substr(begin, end - begin));
}

void change_text(std::string& text, Dice& dice) {
  switch (dice.below(6)) {
    case 0:
      text = dice.of(known_texts);
      break;
    case 1:
    case 2:
      change_written_number(text, dice);
      break;
    case 3:
      change_element(text, dice);
      break;
    default:
      change_bytes(text);
  }
}

void put_number(char* at, char type, double number) {
  const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  const auto whole = [&](auto least) {  // as the bits of the number that has them
    using T = decltype(least);
    const bool fits = number >= 0 && number < 18446744073709549568.0;
    put(static_cast<T>(fits ? static_cast<std::uint64_t>(number) : ~std::uint64_t{0}));
  };
  switch (type) {
    case 'H':
      return whole(std::uint16_t{});
    case 'I':
    case 'i':
      return whole(std::uint32_t{});
    case 'Q':
      return whole(std::uint64_t{});
    case 'd':
      return put(number);
    default: {
      constexpr double largest = std::numeric_limits<float>::max();
      const bool is_float = !(number > largest) && !(number < -largest);
      put(is_float ? static_cast<float>(number) : std::numeric_limits<float>::infinity());
    }
  }
}

/// Where each readout begins, and its bytes.
std::vector<std::pair<std::size_t, std::size_t>> readouts_in(const std::string& values) {
  std::vector<std::pair<std::size_t, std::size_t>> readouts;
  for (std::size_t at = 0; at + head_bytes + 4 <= values.size();) {
    std::uint16_t lengths[2];
    std::memcpy(lengths, values.data() + at + head_bytes, sizeof lengths);
    const auto bytes = head_bytes + 4 + sizeof(float) * (std::size_t{lengths[0]} + lengths[1]);
    readouts.emplace_back(at, std::min(bytes, values.size() - at));
    at += readouts.back().second;
  }
  return readouts;
}

/// A member of a head, of one readout or of all.
void change_head(std::string& values, const std::vector<std::pair<std::size_t, std::size_t>>& readouts,
                 Dice& dice) {
  const auto& members = head_members();
  const auto chosen = dice.below(members.size());
  std::size_t offset = 0;
  for (std::size_t i = 0; i < chosen; ++i) offset += members[i].count * bytes_of_member(members[i].type);
  const auto bytes = bytes_of_member(members[chosen].type);
  offset += dice.below(members[chosen].count) * bytes;
  const double number = members[chosen].type == 'Q' ? std::ldexp(1.0, static_cast<int>(dice.below(40)))
                        : dice.one_in(2)            ? static_cast<double>(dice.below(8))
                                                    : dice.of(known_numbers);
  const auto first = dice.below(readouts.size());
  const bool all = dice.one_in(3);
  for (std::size_t i = all ? 0 : first; i < (all ? readouts.size() : first + 1); ++i)
    put_number(values.data() + readouts[i].first + offset, members[chosen].type, number);
}

void change_readouts(Node& node, Dice& dice) {
  auto& values = node.values;
  const auto readouts = readouts_in(values);
  if (readouts.empty()) return change_bytes(values);
  const auto [at, bytes] = readouts[dice.below(readouts.size())];
  switch (dice.below(8)) {
    case 0:
      values.insert(at, values.substr(at, bytes));
      break;
    case 1:
      values.erase(at, bytes);
      break;
    case 2: {  // a length of its lists, which moves where the next begins
      const auto length =
          static_cast<std::uint16_t>(dice.one_in(2) ? dice.below(64) : dice.of(known_extents));
      std::memcpy(values.data() + at + head_bytes + 2 * dice.below(2), &length, sizeof length);
      break;
    }
    case 3: {  // a float of its lists
      const auto floats = (bytes - head_bytes - 4) / sizeof(float);
      if (floats > 0)
        put_number(values.data() + at + head_bytes + 4 + sizeof(float) * dice.below(floats), 'f',
                   dice.of(known_numbers));
      break;
    }
    default:
      change_head(values, readouts, dice);
  }
  if (dice.one_in(2)) node.extents = {readouts_in(values).size()};
}

void change_numbers(Node& node, Dice& dice) {
  const auto& plain = plain_types();
  const auto size = node.type < plain.size() ? plain[node.type].bytes : 1;
  const auto number_class = node.type < plain.size() ? H5Tget_class(plain[node.type].id) : H5T_NO_CLASS;
  const char type = number_class == H5T_INTEGER                  ? (size == 2   ? 'H'
                                                                    : size == 8 ? 'Q'
                                                                                : 'I')
                    : size % 8 == 0 && number_class == H5T_FLOAT ? 'd'
                                                                 : 'f';
  const auto bytes = type == 'd' || type == 'Q' ? 8U : type == 'H' ? 2U : 4U;
  if (node.values.size() < bytes || dice.one_in(4)) return change_bytes(node.values);
  const auto count = node.values.size() / bytes;
  const auto first = dice.below(count), number = dice.below(std::size(known_numbers));
  const bool all = dice.one_in(4);
  for (std::size_t i = all ? 0 : first; i < (all ? count : first + 1); ++i)
    put_number(node.values.data() + i * bytes, type, known_numbers[number]);
}

void change_values(Node& node, Dice& dice) {
  const auto other = other_types();
  const auto type = node.type % other.end;
  if (type >= other.first_readouts) return change_readouts(node, dice);
  if (type >= other.text && type <= other.variable_text) return change_text(node.values, dice);
  change_numbers(node, dice);
}

void change_extents(Node& node, Dice& dice) {
  auto& extents = node.extents;
  const auto at = dice.below(extents.size());
  const auto place = extents.begin() + static_cast<std::ptrdiff_t>(at);
  switch (extents.empty() ? 1 : dice.below(5)) {
    case 0:
      extents[at] = dice.of(known_extents);
      break;
    case 1:
      extents.insert(place, dice.one_in(2) ? 1 : dice.of(known_extents));
      break;
    case 2:
      extents.erase(place);
      break;
    case 3:
      std::swap(extents[at], extents[dice.below(extents.size())]);
      break;
    default:
      extents[at] += dice.one_in(2) ? 1 : -1;
  }
}

/// Where an object is, what it is called, or where a link leads.
void change_name(Node& node, Dice& dice) {
  auto& name =
      node.kind != Kind::group && node.kind != Kind::dataset && dice.one_in(2) ? node.attribute : node.path;
  if (dice.one_in(8)) return change_bytes(name, 64);
  name = &name == &node.attribute && node.kind == Kind::attribute ? dice.of(known_attributes)
                                                                  : dice.of(known_paths);
}

Node new_node(Dice& dice) {
  Node node;
  node.kind = static_cast<Kind>(dice.below(kind_count - 1));  // no patch
  node.type = static_cast<std::uint8_t>(dice.below(other_types().end));
  node.path = dice.of(known_paths);
  node.attribute = node.kind == Kind::attribute ? dice.of(known_attributes) : dice.of(known_paths);
  for (auto axes = dice.below(5); axes > 0; --axes) node.extents.push_back(1 + dice.below(6));
  node.values.assign(8, static_cast<char>(dice.below(64)));
  return node;
}

void change(Tree& tree, Dice& dice) {
  auto& nodes = tree.nodes;
  const auto at = static_cast<std::ptrdiff_t>(dice.below(nodes.size()));
  if (nodes.empty()) return nodes.push_back(new_node(dice));
  auto& node = nodes[static_cast<std::size_t>(at)];
  switch (dice.below(16)) {
    case 0:
      nodes.erase(nodes.begin() + at);
      break;
    case 1:
      nodes.push_back(new_node(dice));
      break;
    case 2: {  // a copy, elsewhere
      Node copy = node;
      change_name(copy, dice);
      nodes.push_back(std::move(copy));
      break;
    }
    case 3:
      change_name(node, dice);
      break;
    case 4:
      node.type = static_cast<std::uint8_t>(dice.below(other_types().end));
      break;
    case 5:
      node.layout = static_cast<Layout>(dice.below(layout_count));
      break;
    case 6:
    case 7:
    case 8:
      change_extents(node, dice);
      break;
    case 9:
      std::swap(node, nodes[dice.below(nodes.size())]);
      break;
    case 10:
      if (dice.one_in(4)) tree.format = static_cast<std::uint8_t>(dice.below(8));
      [[fallthrough]];
    default:
      change_values(node, dice);
  }
}

/// Bytes of the file: a few anywhere, some of them those of lengths and addresses.
void patch(Tree& tree, Dice& dice) {
  Node node;
  node.kind = Kind::patch;
  constexpr std::size_t largest_file = 1 << 16;
  node.extents = {dice.below(largest_file)};
  if (dice.one_in(2)) {
    const auto number = dice.of(known_extents);
    node.values.assign(reinterpret_cast<const char*>(&number), std::size_t{1} << dice.below(4));
  } else {
    node.values.assign(1, static_cast<char>(dice.below(256)));
    if (dice.one_in(4)) change_bytes(node.values, 16);
  }
  tree.nodes.push_back(std::move(node));
}

/// An input as a description: that of a file where it is one.
Tree as_tree(Bytes input) {
  if (is_tree(input)) return tree_of(input);
  const Hdf5File file(input);
  return describe(file.path());
}

std::size_t copied(const std::string& bytes, std::uint8_t* data, std::size_t most) {
  const auto size = std::min(bytes.size(), most);
  std::memcpy(data, bytes.data(), size);
  return size;
}

}  // namespace
}  // namespace fhd::fuzz

using namespace fhd::fuzz;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  Dice dice(seed);
  Tree tree = as_tree({data, size});
  constexpr std::size_t share_of_patches = 16;
  const bool keeps_whole = !dice.one_in(share_of_patches);
  if (keeps_whole) std::erase_if(tree.nodes, [](const Node& node) { return node.kind == Kind::patch; });
  for (auto changes = 1 + dice.below(4); changes > 0; --changes) {
    if (keeps_whole || dice.one_in(2))
      change(tree, dice);
    else
      patch(tree, dice);
  }
  const auto bytes = bytes_of(tree);
  return bytes.size() > most ? size : copied(bytes, data, most);
}

/// An object of one input comes into another, in the place of that of its name where there is one.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t most, unsigned seed) {
  Dice dice(seed);
  Tree tree = as_tree({data, size});
  Tree from = as_tree({other, other_size});
  std::erase_if(from.nodes, [](const Node& node) { return node.kind == Kind::patch; });
  for (auto count = 1 + dice.below(3); count > 0 && !from.nodes.empty(); --count) {
    const auto& node = from.nodes[dice.below(from.nodes.size())];
    const auto same = std::find_if(tree.nodes.begin(), tree.nodes.end(), [&](const Node& each) {
      return each.path == node.path && each.kind == node.kind && each.attribute == node.attribute;
    });
    if (same == tree.nodes.end())
      tree.nodes.push_back(node);
    else
      *same = node;
  }
  const auto bytes = bytes_of(tree);
  return bytes.size() > most ? copied({reinterpret_cast<const char*>(data), size}, out, most)
                             : copied(bytes, out, most);
}

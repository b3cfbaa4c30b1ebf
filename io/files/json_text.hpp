#pragma once
// JSON documents of other people. The library parses any of them, but copies, compares and prints values recursively: a list
// in a list in a list, 100,000 deep, would end the stack.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace fhd::io {

/// The most lists and objects inside each other; documents of fhd have 8.
inline constexpr int deepest_json = 64;

/// Returns whether a text has more than deepest_json of them open at once. Brackets within strings do not count.
bool nests_too_deep(std::string_view text);

/// The most memory that a document takes: a value takes 16 bytes, a list or an object 32 more, and lists grow by doubling.
inline constexpr double json_bytes_per_character = 27;

/// Returns the value of a text; discarded (is_discarded()) if it is not JSON or nests too deep, or if it has more than 10,000
/// values that take less than `characters_of_value` each, as no document of that kind has: so its size bounds its memory.
nlohmann::ordered_json flat_json(std::string_view text, std::size_t characters_of_value = 0);

}  // namespace fhd::io

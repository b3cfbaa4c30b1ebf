#pragma once
// JSON documents that others gave us. The library parses any of them, but copies, compares and prints values by functions
// that call themselves: a list in a list in a list, 100,000 deep, is the end of the stack.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace fhd::io {

/// Lists and objects inside each other; documents of fhd have 8.
inline constexpr int deepest_json = 64;

/// Whether the text has more than deepest_json of them open at once. Brackets within strings do not count.
bool nests_too_deep(std::string_view text);

/// A value takes 16 bytes, a list or an object 32 more (of [],[], three characters), and lists grow by doubling.
inline constexpr double json_bytes_per_character = 27;

/// The value of a text; discarded (is_discarded(), which is none of the types of JSON) where it is not JSON, or nests too deep.
/// Also where there are more than some thousand values and they take less than `characters_of_value` each, as no document of
/// that kind has them: what a document takes of memory is bounded by its size then.
nlohmann::ordered_json flat_json(std::string_view text, std::size_t characters_of_value = 0);

}  // namespace fhd::io

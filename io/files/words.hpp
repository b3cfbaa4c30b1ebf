#pragma once
// Words of a line of text.
#include <string_view>

namespace fhd::io {

inline constexpr std::string_view blanks = " \t\r\n";

/// Returns a text without the blanks around it.
inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace fhd::io

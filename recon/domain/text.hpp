#pragma once
// Numbers in sentences.
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

namespace fhd {

/// Returns three significant digits: "0.05", "1e-05".
inline std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Returns the fewest digits that give back the same number: "0.05", "1e-05", "0.0012345".
inline std::string exact_number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// Returns "2", or "2, 5 and 7".
inline std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

}  // namespace fhd

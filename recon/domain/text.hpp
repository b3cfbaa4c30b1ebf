#pragma once
// Numbers in sentences.
#include <cstddef>
#include <cstdio>
#include <string>

namespace fhd {

/// Three significant digits: "0.05", "1e-05".
inline std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Rounded up: "12 MiB".
inline std::string mebibytes(std::size_t bytes) {
  return std::to_string((bytes + (std::size_t{1} << 20) - 1) >> 20) + " MiB";
}

}  // namespace fhd

#pragma once
// Numbers in sentences.
#include <cstdio>
#include <string>

namespace fhd {

/// Three significant digits: "0.05", "1e-05".
inline std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace fhd

#pragma once
// Returns what io/reader/archive.hpp makes of a value.
#include <string>

#include "io/reader/archive.hpp"

namespace fhd::io::reader {

template <class T>
std::string bytes_of_value(const T& value) {
  std::string bytes;
  Output out(
      [&](const void* data, std::size_t count) { bytes.append(static_cast<const char*>(data), count); });
  out(value);
  out.flush();
  return bytes;
}

}  // namespace fhd::io::reader

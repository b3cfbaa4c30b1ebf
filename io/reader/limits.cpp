#include "io/reader/limits.hpp"

#include <algorithm>

#include "io/files/stored_bytes.hpp"

namespace fhd::io::reader {

Limits& limits() {
  static Limits of_process;
  return of_process;
}

Allowance allowance_of(std::uint64_t file_bytes, const Limits& stated) {
  constexpr double mib = 1 << 20, gib = 1 << 30;
  const auto bytes = static_cast<double>(file_bytes);
  const double memory = stated.memory_gib > 0
                            ? stated.memory_gib * gib
                            : 192 * mib + std::max(8 * bytes, std::min(deflate_limit * bytes, gib));
  Allowance allowance{static_cast<std::uint64_t>(std::min(memory, 0x1p62)), 1.2 + bytes / 10e6,
                      30 + bytes / 20e6};
  if (stated.seconds > 0) allowance.processor_s = allowance.clock_s = stated.seconds;
  return allowance;
}

std::uint64_t bytes_of_files(const std::vector<std::string>& paths) {
  std::uint64_t bytes = 0;
  for (const auto& path : paths) bytes += stored_bytes_of(path);
  return bytes;
}

}  // namespace fhd::io::reader

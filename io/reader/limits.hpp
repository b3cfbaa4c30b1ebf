#pragma once
// Limits of what reading a file may cost before the file is refused.
#include <algorithm>
#include <cstdint>

#include "io/files/stored_bytes.hpp"

namespace fhd::io::reader {

/// Limits that the user stated; 0: limits that follow from the size of the file.
struct Limits {
  bool trusts_input = false;  ///< files are read in this process
  double memory_gib = 0;
  double seconds = 0;  ///< of each step: opening, each volume
};

/// Returns the limits of this process: set before files are opened, by one thread.
inline Limits& limits() {
  static Limits of_process;
  return of_process;
}

/// The most that one step of reading may take of a processor and of the clock, in s, and all of it of memory.
struct Allowance {
  std::uint64_t memory_bytes = 0;
  double processor_s = 0, clock_s = 0;
};

/// Returns the allowance for files of so many bytes together.
///
/// Memory: 192 MiB, and eight times the file, or up to 1 GiB if a compressed file may hold that much (deflate: 1032 times).
/// Processor: 1.2 s, and 1 s for every 10 MB; the slowest known file, 62 MB of compressed values, takes 0.1 s for every 10 MB
/// (2026-11-23). Clock: 30 s, and 1 s for every 20 MB, as disks far away may be slow.
inline Allowance allowance_of(std::uint64_t file_bytes, const Limits& stated) {
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

}  // namespace fhd::io::reader

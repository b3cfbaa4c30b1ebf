#pragma once
// What a file of others may cost, before it is refused.
#include <cstdint>
#include <string>
#include <vector>

namespace fhd::io::guard {

/// What the user said; 0: by the size of the file.
struct Limits {
  bool trusts_input = false;  ///< files are read in this process
  double memory_gib = 0;
  double seconds = 0;  ///< of each step: opening, each volume
};

/// Of this process: set before files are opened, by one thread.
Limits& limits();

/// What one step of reading may take of a processor and of the clock, s, and what all of it may take of memory.
struct Allowance {
  std::uint64_t memory_bytes = 0;
  double processor_s = 0, clock_s = 0;
};

/// Of files of so many bytes together.
///
/// Memory: eight times the file, or 1 GiB where that is more and can be compressed into it at all (deflate: 1032 times),
/// beside 192 MiB. Processor: 1.2 s, and 1 s for every 10 MB: small files of every format take 0.02 s, and the slowest of
/// the large ones, 62 MB of a compressed fhd file, 0.64 s, 0.1 s for every 10 MB (2026-11-23). Clock: 30 s, and 1 s for
/// every 20 MB, as disks far away may be slow.
Allowance allowance_of(std::uint64_t file_bytes, const Limits& said);

/// What is stored (io/files/stored_bytes.hpp) of all regular files that exist: a length alone allows nothing.
std::uint64_t bytes_of_files(const std::vector<std::string>& paths);

}  // namespace fhd::io::guard

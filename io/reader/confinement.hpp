#pragma once
// What a process that reads a file of others may still do: read that file, compute, and answer.
#include <cstdint>
#include <string>
#include <vector>

namespace fhd::io::guard {

struct Confinement {
  std::uint64_t memory_bytes = 0;
  int threads = 1;                     ///< beside the first; their stacks come on top
  std::vector<std::string> inputs{};   ///< files and folders that may be read
  std::vector<std::string> outputs{};  ///< files that may be written; begun here where they are not there
};

/// Of this process, for good. Memory and what is written are limited always; what this kernel offers beside that
/// (text_of_confinement) is in force, too. Throws Error where something of it is not.
void confine(const Confinement& confinement);

/// What this kernel offers: "memory and time are limited; other files are out of reach (Landlock); ...".
std::string text_of_confinement();

}  // namespace fhd::io::guard

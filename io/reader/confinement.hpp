#pragma once
// Restricts a process that reads a file of other people to that: read the file, compute, and answer.
#include <cstdint>
#include <string>
#include <vector>

// Says whether this is a build with a sanitizer of addresses or threads, which reserves terabytes of addresses and reports on
// standard error.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FHD_HAS_SANITIZER 1
#else
#define FHD_HAS_SANITIZER 0
#endif

namespace fhd::io::reader {

struct Confinement {
  std::uint64_t memory_bytes = 0;
  int threads = 1;                     ///< beside the first; their stacks come on top
  std::vector<std::string> inputs{};   ///< files and folders that may be read
  std::vector<std::string> outputs{};  ///< files that may be written; created if they are not there
};

/// Restricts this process for good: limits memory and written bytes, and applies what the kernel offers beyond that
/// (text_of_confinement). Throws Error if the kernel offers something and then refuses it.
void confine(const Confinement& confinement);

/// Returns what this kernel offers: "memory and time are limited; other files are out of reach (Landlock); ...".
std::string text_of_confinement();

}  // namespace fhd::io::reader

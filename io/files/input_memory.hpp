#pragma once
// What one file may claim of memory at most, whatever it has stored: `--input-memory`.
#include <cstdint>
#include <string>

namespace fhd::io {

/// In bytes. Unless it was set: three quarters of the machine's memory, or of what a container allots.
std::uint64_t input_memory();
/// For all files of this process from now on; 0: as if it was never set.
void set_input_memory(std::uint64_t bytes);
/// Throws Error, naming `subject`, where values of a file need more.
void require_input_memory(double bytes, const std::string& subject);

}  // namespace fhd::io

#pragma once
// The most memory that the values of one file may take: in a reader process, what the program allows it.
#include <cstdint>
#include <string>

namespace fhd::io {

/// Returns the limit in bytes; the largest number unless it was set.
std::uint64_t input_memory();
/// Sets the limit for all files of this process from now on; 0: as if it was never set.
void set_input_memory(std::uint64_t bytes);
/// Throws Error naming `subject` if values of a file need more.
void require_input_memory(double bytes, const std::string& subject);

}  // namespace fhd::io

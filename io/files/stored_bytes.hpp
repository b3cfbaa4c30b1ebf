#pragma once
// Measures what a file holds: a file with holes (a sparse file) states any length and takes no place.
#include <cstdint>
#include <string>

namespace fhd::io {

/// The most that deflate shrinks (zlib's manual: 1032 to 1), and so the file systems and formats that use it.
inline constexpr double deflate_limit = 1032;

/// Returns how many bytes of an open file can be made of what is on the disk; 0 if it is no regular file. Zeros that a file
/// system compresses count.
std::uint64_t stored_bytes(int descriptor);
/// Returns that of the file at `path`; 0 if there is none.
std::uint64_t stored_bytes_of(const std::string& path);

}  // namespace fhd::io

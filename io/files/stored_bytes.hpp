#pragma once
// What a file holds, and not only claims to be long: a file with holes says any size and takes no place.
#include <cstdint>
#include <string>

namespace fhd::io {

/// By which deflate shrinks at most (zlib's manual: 1032 to 1), and so the file systems and formats that use it.
inline constexpr double deflate_limit = 1032;

/// Of the bytes of an open file those that can be made of what is on the disk; 0 where that cannot be told. Zeros that a
/// file system compresses count, by `deflate_limit`.
std::uint64_t stored_bytes(int descriptor);

/// Of the regular file of that name; 0 where there is none.
std::uint64_t stored_bytes_of(const std::string& path);

/// Throws Error naming `path` for an open file that is longer than what is stored of it.
void require_stored_whole(int descriptor, const std::string& path);

}  // namespace fhd::io

#pragma once
// Reads gzip files (RFC 1952), and writes them by all threads: one member of deflate blocks (RFC 1951) that are compressed independently, so
// that the same content is the same file whatever the number of threads.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"

namespace fhd::io {

struct Compression {
  /// 0: stored as it is. 1: runs of equal bytes and Huffman codes: magnitudes of measured scans become as small as with
  /// any level or smaller, in a third of the time, because their mantissas are noise. 2 ... 9: zlib's levels, which
  /// search for repetitions: a tenth smaller where an image is free of noise.
  int level = 1;
  int threads = 0;  ///< at most; 0: as many as OpenMP uses in the calling thread
};
/// Throws Error naming `subject` unless `level` is 0 ... 9.
void require_compression_level(int level, const std::string& subject);

/// Returns `bytes` as deflate blocks that refer to nothing before them and end at a whole byte; `last` ends the stream.
std::vector<std::uint8_t> deflated(std::span<const std::uint8_t> bytes, int level, bool last,
                                   const std::string& subject);

/// Puts content [offset, offset + bytes.size()) into `bytes`; called by several threads at once. `offset` is a multiple
/// of 256 KiB.
using ContentPart = std::function<void(std::uint64_t offset, std::span<std::uint8_t> bytes)>;

/// Writes `byte_count` bytes of a content to `path`, compressed by several threads, each of which holds about 1 MiB.
/// Messages call the file `reported_path`. Throws Error. (Not atomic by itself.)
void write_gzip(const std::string& path, const std::string& reported_path, std::uint64_t byte_count,
                const ContentPart& content, const Compression& compression = {});

/// Returns whether a file begins as a gzip file does.
bool is_gzip(const InputFile& file);
/// Returns the content of a gzip file, or its first `most` bytes. Throws Error where it is damaged or longer than the memory
/// for values of files allows.
std::vector<std::byte> content_of_gzip(const InputFile& file, std::uint64_t most = UINT64_MAX);

}  // namespace fhd::io

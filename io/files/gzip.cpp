#include "io/files/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

#include "io/files/atomic_file.hpp"
#include "io/files/blocks.hpp"
#include "io/files/input_memory.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// Long enough that a new table of codes for each block (100 bytes) is nothing, short enough that an image of 1024 x 1024
/// keeps 16 threads busy.
constexpr std::uint64_t deflated_block = 256 << 10;

struct CompressedBlock {
  std::vector<std::uint8_t> bytes;
  std::uint32_t crc = 0;
  std::uint64_t content_bytes = 0;
};

void append_little_endian(std::vector<std::uint8_t>& bytes, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(number >> shift));
}

}  // namespace

void require_compression_level(int level, const std::string& subject) {
  if (level < 0 || level > 9)
    throw Error(subject, "0 (none) ... 9 (smallest)", std::to_string(level),
                "1 suits measured images, 6 images without noise");
}

std::vector<std::uint8_t> deflated(std::span<const std::uint8_t> bytes, int level, bool last,
                                   const std::string& subject) {
  constexpr auto expected = "memory for compression";
  z_stream stream{};
  constexpr int raw = -MAX_WBITS, usual_memory = 8;
  if (deflateInit2(&stream, level, Z_DEFLATED, raw, usual_memory, level == 1 ? Z_RLE : Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw Error(subject, expected, "none");
  constexpr uLong marker = 16;  // of a flush
  std::vector<std::uint8_t> result(deflateBound(&stream, static_cast<uLong>(bytes.size())) + marker);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = result.data();
  stream.avail_out = static_cast<uInt>(result.size());
  const int status = deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
  const bool complete =
      stream.avail_in == 0 && stream.avail_out > 0 && status == (last ? Z_STREAM_END : Z_OK);
  result.resize(result.size() - stream.avail_out);
  deflateEnd(&stream);
  if (!complete) throw Error(subject, expected, "a failure of zlib");
  return result;
}

void write_gzip(const std::string& path, const std::string& reported_path, std::uint64_t byte_count,
                const ContentPart& content, const Compression& compression) {
  require_compression_level(compression.level, reported_path + " compression");
  const auto count = static_cast<std::int64_t>(
      std::max<std::uint64_t>(1, (byte_count + deflated_block - 1) / deflated_block));
  const auto compress = [&](std::int64_t block) {
    const auto offset = static_cast<std::uint64_t>(block) * deflated_block;
    std::vector<std::uint8_t> bytes(std::min(deflated_block, byte_count - offset));
    content(offset, bytes);
    const auto crc = crc32_z(0, bytes.data(), bytes.size());
    return CompressedBlock{deflated(bytes, compression.level, block + 1 == count, reported_path),
                           static_cast<std::uint32_t>(crc), bytes.size()};
  };
  OutputFile file(path, reported_path);
  // Deflate, no name, no time of day (the same content is the same file), made on Unix.
  constexpr std::array<std::uint8_t, 10> header{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
  file.write(header.data(), header.size());
  uLong crc = 0;
  in_order(count, threads_or_all(compression.threads), compress, [&](const CompressedBlock& block) {
    file.write(block.bytes.data(), block.bytes.size());
    crc = crc32_combine(crc, block.crc, static_cast<z_off_t>(block.content_bytes));
  });
  std::vector<std::uint8_t> trailer;
  append_little_endian(trailer, static_cast<std::uint32_t>(crc));
  append_little_endian(trailer, static_cast<std::uint32_t>(byte_count));  // modulo 2^32
  file.write(trailer.data(), trailer.size());
  file.close();
}

bool is_gzip(const InputFile& file) {
  std::array<unsigned char, 3> begin{};
  if (file.size() < 18) return false;
  file.read(0, begin.data(), begin.size());
  return begin == std::array<unsigned char, 3>{0x1f, 0x8b, Z_DEFLATED};
}

std::vector<std::byte> content_of_gzip(const InputFile& file, std::uint64_t most) {
  constexpr auto expected = "a complete gzip file";
  constexpr int gzip_alone = 16;
  constexpr std::size_t part = std::size_t{1} << 20;
  std::vector<Bytef> compressed(part);
  std::vector<std::byte> content;
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + gzip_alone) != Z_OK) throw Error(file.path(), expected, "no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, inflateEnd);
  std::uint64_t offset = 0;
  for (int status = Z_OK; content.size() < most;) {
    if (stream.avail_in == 0) {
      const auto count = std::min<std::uint64_t>(part, file.size() - offset);
      if (count == 0 && status == Z_STREAM_END) break;
      if (count == 0) throw Error(file.path(), expected, "one that is cut off", "copy it again");
      file.read(offset, compressed.data(), count);
      offset += count;
      stream.next_in = compressed.data();
      stream.avail_in = static_cast<uInt>(count);
    }
    if (status == Z_STREAM_END) inflateReset(&stream);  // a file may have several members
    const auto before = content.size(),
               room = static_cast<std::size_t>(std::min<std::uint64_t>(part, most - before));
    require_input_memory(static_cast<double>(before) + part, file.path());
    content.resize(before + room);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + before);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    content.resize(content.size() - stream.avail_out);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      throw Error(file.path(), expected, "damaged bytes", "copy it again");
  }
  return content;
}

}  // namespace fhd::io

#include "io/hdf5/superblock.hpp"

#include <array>
#include <bit>
#include <cstddef>

namespace fhd::io::hdf5 {

// Bob Jenkins, lookup3.c (2006), public domain: hashlittle() with an initial value of 0.
std::uint32_t metadata_checksum(std::span<const char> bytes) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto add =
      [&](std::span<const char> block) {  // 12 bytes at most, little-endian; others count as zeros
        std::array<std::uint32_t, 3> words{};
        for (std::size_t i = 0; i < block.size(); ++i)
          words[i / 4] |= std::uint32_t{static_cast<unsigned char>(block[i])} << (8 * (i % 4));
        a += words[0], b += words[1], c += words[2];
      };
  const auto turned = [](std::uint32_t value, int bits) { return std::rotl(value, bits); };
  constexpr std::size_t block = 12;
  while (bytes.size() > block) {
    add(bytes.first(block));
    a -= c, a ^= turned(c, 4), c += b;
    b -= a, b ^= turned(a, 6), a += c;
    c -= b, c ^= turned(b, 8), b += a;
    a -= c, a ^= turned(c, 16), c += b;
    b -= a, b ^= turned(a, 19), a += c;
    c -= b, c ^= turned(b, 4), b += a;
    bytes = bytes.subspan(block);
  }
  if (bytes.empty()) return c;
  add(bytes);
  c ^= b, c -= turned(b, 14);
  a ^= c, a -= turned(c, 11);
  b ^= a, b -= turned(a, 25);
  c ^= b, c -= turned(b, 16);
  a ^= c, a -= turned(c, 4);
  b ^= a, b -= turned(a, 14);
  c ^= b, c -= turned(b, 24);
  return c;
}

void renew_checksum_of_superblock(std::span<char> file) {
  constexpr std::size_t version = 8, address_bytes = 9, checksum = 44;  // behind four addresses of 8 bytes
  if (file.size() < checksum + 4 || file[version] < 2 || file[address_bytes] != 8) return;
  const auto made = metadata_checksum(file.first(checksum));
  for (std::size_t i = 0; i < 4; ++i) file[checksum + i] = static_cast<char>(made >> (8 * i) & 0xFF);
}

}  // namespace fhd::io::hdf5

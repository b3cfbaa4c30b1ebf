// The checksum of input and results.
#include "io/scan/checksum.hpp"

#include <unistd.h>

#include <thread>

#include "io/files/sha256.hpp"
#include "io/result/results.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class ChecksumTest : public FolderTest {
 protected:
  static std::string sha256(const std::string& bytes) {
    Sha256 digest("test");
    digest.add(bytes.data(), bytes.size());
    return digest.hex();
  }
  /// Computes the checksum as the header describes it.
  static std::string by_hand(const std::string& content) {
    std::string lines;
    constexpr std::size_t block = 4 << 20;
    for (std::size_t at = 0; at < content.size(); at += block)
      lines += sha256(content.substr(at, block)) + "  -\n";
    return checksum_kind + sha256(lines);
  }
  static std::string content_of(std::size_t size) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>((i * i >> 7) + i / 1000);
    return content;
  }
};
using Checksum = ChecksumTest;

// FIPS 180-2, appendix B: "abc".
TEST_F(Checksum, sha256_agrees_with_a_known_vector) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(Checksum, is_that_of_its_description) {
  for (const std::size_t size : {0, 3, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 13'000'000}) {
    const auto content = content_of(size);
    write_text(path("x"), content);
    for (const int threads : {1, 3}) EXPECT_EQ(checksum_of(path("x"), threads), by_hand(content)) << size;
  }
}

TEST_F(Checksum, is_that_of_coreutils) {
  write_text(path("x"), content_of(9'000'000));
  const auto command =
      "cat '" + path("x") + "' | split -b 4M --filter=sha256sum | sha256sum > '" + path("out") + "'";
  if (std::system(("split --version > /dev/null && " + command).c_str()) != 0) GTEST_SKIP() << "no coreutils";
  EXPECT_EQ(checksum_of(path("x")), checksum_kind + bytes_of(path("out")).substr(0, 64));
}

TEST_F(Checksum, of_a_scan_of_several_files_is_that_of_their_bytes_in_a_row) {
  const auto content = content_of(10'000'000);
  std::filesystem::create_directory(path("folder"));
  write_text(path("folder/3"), content.substr(9'000'000));
  write_text(path("folder/1"), content.substr(0, 5'000'000));
  write_text(path("folder/2"), content.substr(5'000'000, 4'000'000));
  write_text(path("folder/0"), "");
  EXPECT_EQ(checksum_of(path("folder"), 2), by_hand(content));
}

TEST_F(Checksum, tells_what_it_cannot_read) {
  EXPECT_EQ(error_of([&] { checksum_of(path("none")); }),
            path("none") + ": expected a readable file, found none");
  EXPECT_EQ(error_of([&] { ChecksumInBackground(path("none")).get(); }),
            path("none") + ": expected a readable file, found none");
}

TEST_F(Checksum, is_made_in_the_background_and_may_be_abandoned) {
  write_text(path("x"), content_of(30'000'000));
  const ChecksumInBackground checksum(path("x"), 2);
  EXPECT_EQ(checksum.get(), checksum_of(path("x")));
  EXPECT_EQ(checksum.get(), checksum_of(path("x"))) << "again";
  // Thousands of blocks of a hole, which nobody waits for: seconds, were all of them read.
  write_text(path("sparse"), "");
  std::filesystem::resize_file(path("sparse"), std::uintmax_t{1} << 36);
  const auto began = std::chrono::steady_clock::now();
  { const ChecksumInBackground abandoned(path("sparse"), 2); }
  EXPECT_LE(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), 5);
}

}  // namespace
}  // namespace fhd::io

// gzip files made by several threads.
#include "io/files/gzip.hpp"

#include <zlib.h>

#include <cstring>

#include "io/files/blocks.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class GzipTest : public FolderTest {
 protected:
  /// Floats like those of an image with noise, then a mask's zeros.
  static std::string content_of(std::size_t byte_count) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal(100, 1);
    std::string content(byte_count, '\0');
    for (std::size_t i = 0; i + sizeof(float) <= byte_count / 2; i += sizeof(float)) {
      const float number = normal(generator);
      std::memcpy(content.data() + i, &number, sizeof(number));
    }
    return content;
  }
  void write(const std::string& name, const std::string& content, const Compression& compression) const {
    write_gzip(
        path(name), name, content.size(),
        [&](std::uint64_t offset, std::span<std::uint8_t> bytes) {
          ASSERT_LE(offset + bytes.size(), content.size());
          std::memcpy(bytes.data(), content.data() + offset, bytes.size());
        },
        compression);
  }
  /// Returns what zlib's own reader, which checks CRC and length, reads; "damaged" if it refuses the file.
  std::string read(const std::string& name) const {
    const gzFile file = gzopen(path(name).c_str(), "rb");
    std::string content, block(1 << 16, '\0');
    for (int count = 1; count > 0;) {
      count = gzread(file, block.data(), static_cast<unsigned>(block.size()));
      if (count < 0) content = "damaged";
      if (count > 0) content.append(block, 0, static_cast<std::size_t>(count));
    }
    if (gzclose(file) != Z_OK) content = "damaged";
    return content;
  }
};
using Gzip = GzipTest;

TEST_F(Gzip, is_read_back_whatever_its_length_and_level) {
  for (const std::size_t size : {0, 1, 1000, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3'000'001})
    for (const int level : {0, 1, 6, 9}) {
      const auto content = content_of(size);
      write("x.gz", content, {level, 2});
      EXPECT_TRUE(read("x.gz") == content) << size << " bytes, level " << level;
      EXPECT_EQ(static_cast<unsigned char>(bytes_of(path("x.gz"))[0]), 0x1f);
    }
}

TEST_F(Gzip, is_read_by_another_program) {
  const auto content = content_of(1'000'003);
  write("x.gz", content, {1, 2});
  if (std::system("gzip --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no gzip";
  EXPECT_EQ(std::system(("gzip -dc '" + path("x.gz") + "' > '" + path("x") + "'").c_str()), 0);
  EXPECT_TRUE(bytes_of(path("x")) == content);
}

TEST_F(Gzip, is_the_same_whatever_the_number_of_threads) {
  const auto content = content_of(5'000'000);
  for (const int level : {1, 6}) {
    write("one.gz", content, {level, 1});
    const auto one = bytes_of(path("one.gz"));
    EXPECT_LT(one.size(), content.size() / 2) << "half of it is zeros";
    for (const int threads : {2, 3, 16}) {
      write("many.gz", content, {level, threads});
      EXPECT_TRUE(bytes_of(path("many.gz")) == one) << threads;
    }
  }
}

TEST_F(Gzip, refuses_levels_that_do_not_exist) {
  EXPECT_EQ(
      error_of([&] {
        write("x.gz", "x", {10, 1});
      }),
      "x.gz compression: expected 0 (none) ... 9 (smallest), found 10; 1 suits measured images, 6 images "
      "without noise");
  EXPECT_NE(error_of([] { require_compression_level(-1, "--compression"); }), "");
  EXPECT_FALSE(std::filesystem::exists(path("x.gz")));
}

TEST_F(Gzip, notices_a_full_disk_beside_other_threads) {
  std::filesystem::create_symlink("/dev/full", path("x.gz"));
  const auto line = error_of([&] { write("x.gz", content_of(3'000'000), {1, 3}); });
  EXPECT_CONTAINS(line, "x.gz: expected a file that can be written to its end");
}

TEST(InOrder, delivers_every_block_once_in_order) {
  for (const int threads : {1, 2, 7})
    for (const std::int64_t count : {0, 1, 2, 100}) {
      std::vector<std::int64_t> delivered;
      in_order(
          count, threads, [](std::int64_t block) { return block * block; },
          [&](std::int64_t made) { delivered.push_back(made); });
      ASSERT_EQ(delivered.size(), static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(delivered[static_cast<std::size_t>(i)], i * i);
    }
}

TEST(InOrder, throws_what_making_or_delivering_throws) {
  const auto fails_at = [](std::int64_t failing) {
    return [failing](std::int64_t block) {
      if (block == failing) throw Error("block", "", std::to_string(block));
      return block;
    };
  };
  std::int64_t delivered = 0;
  EXPECT_EQ(error_of([&] { in_order(50, 4, fails_at(20), [&](std::int64_t) { ++delivered; }); }),
            "block: 20");
  EXPECT_EQ(delivered, 20) << "all before the one that failed";
  EXPECT_EQ(error_of([&] { in_order(50, 4, fails_at(-1), fails_at(7)); }), "block: 7");
}

}  // namespace
}  // namespace fhd::io

#include "io/hdf5/superblock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <thread>

#include "io/hdf5/hdf5.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::hdf5 {
namespace {

// Of lookup3.c, driver5().
TEST(Superblock, checksum_is_that_of_lookup3) {
  const std::string text = "Four score and seven years ago";
  EXPECT_EQ(metadata_checksum(text), 0x17770551U);
  EXPECT_EQ(metadata_checksum({}), 0xdeadbeefU);
}

class SuperblockTest : public FolderTest {};
using SuperblockOfFile = SuperblockTest;

TEST_F(SuperblockOfFile, counts_the_flags_that_are_in_the_file) {
  auto file = File::create(path("a.h5"), "a.h5");
  file.write_attribute("/", "position_mm", std::vector<double>(9000, 1.5));  // more than 64 KiB
  file.close();
  const auto bytes = bytes_of(path("a.h5"));
  ASSERT_GE(bytes.size(), 48u);
  ASSERT_EQ(bytes[8], 2) << "the version";
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + 44, sizeof stored);
  EXPECT_EQ(stored, metadata_checksum(std::span(bytes).first(44)));
  const auto read = File::open(path("a.h5")).number_attribute("/", "position_mm");
  EXPECT_EQ(read, std::vector<double>(9000, 1.5));
}

TEST_F(SuperblockOfFile, the_same_content_is_the_same_file_whenever_it_is_written) {
  for (const char* name : {"a.h5", "b.h5"}) {
    auto file = File::create(path(name), name);
    file.create_group("/group");
    file.write_attribute("/group", "numbers", std::vector<double>(9000, 1.5));
    file.close();
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times in HDF5 are whole seconds
  }
  EXPECT_EQ(bytes_of(path("a.h5")), bytes_of(path("b.h5")));
}

}  // namespace
}  // namespace fhd::io::hdf5

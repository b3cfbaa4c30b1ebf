#include "io/hdf5/superblock.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::hdf5 {
namespace {

// The values are those of lookup3.c, driver5().
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

TEST_F(SuperblockOfFile, no_object_states_when_it_was_made) {
  auto file = File::create(path("a.h5"), "a.h5");
  file.create_group("/group");
  file.write("/group/text", "text");
  file.close();
  const auto opened = File::open(path("a.h5"));
  for (const char* name : {"/", "/group", "/group/text"}) {
    H5O_info_t info;
    ASSERT_GE(H5Oget_info_by_name(opened.id(), name, &info, H5P_DEFAULT), 0);
    EXPECT_EQ(info.ctime + info.mtime, 0) << name;
  }
}

}  // namespace
}  // namespace fhd::io::hdf5

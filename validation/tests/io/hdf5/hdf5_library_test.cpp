// A file holds its own values: nothing of other files is read. Files that are written are valid.
#include "io/hdf5/hdf5_library.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstring>
#include <fstream>
#include <span>
#include <string>

#include "recon/error.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class OwnValues : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::ofstream(path("secret"), std::ios::binary) << std::string(64, 'x');
    const auto file = made("other.h5");
    write(file, "/values", H5P_DEFAULT);
    H5Fclose(file);
  }
  hid_t made(const std::string& name) const {
    return H5Fcreate(path(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  }
  static void write(hid_t file, const char* name, hid_t properties) {
    const hsize_t extent = 16;
    const auto space = H5Screate_simple(1, &extent, nullptr);
    H5Dclose(H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Sclose(space);
  }
  std::string error_of_reading(const char* name) const {
    const auto file = hdf5::File::open(path("scan.h5"));
    try {
      static_cast<void>(file.dataset(name).read<float>({16}));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(OwnValues, what_is_held_is_an_error_where_it_cannot_be_told) {
  const auto made_file = made("scan.h5");
  write(made_file, "/values", H5P_DEFAULT);
  H5Fclose(made_file);
  {
    const auto file = hdf5::File::open(path("scan.h5"));
    EXPECT_TRUE(file.has("/"));
    EXPECT_TRUE(file.has("/values"));
    for (const char* name : {"/absent", "/absent/below", "/values/below"})
      EXPECT_FALSE(file.has(name)) << name;
    for (const char* name : {"/", "/values", "/absent"})
      EXPECT_FALSE(file.has_attribute(name, "unit")) << name;
  }
  auto bytes = bytes_of(path("scan.h5"));
  const auto heap_of_names = bytes.find("HEAP");
  ASSERT_NE(heap_of_names, std::string::npos);
  bytes[heap_of_names] = 'X';
  std::ofstream(path("scan.h5"), std::ios::binary) << bytes;
  const auto file = hdf5::File::open(path("scan.h5"));
  EXPECT_THROW(static_cast<void>(file.has("/values")), Error);
  EXPECT_THROW(static_cast<void>(file.has_attribute("/values", "unit")), Error);
}

TEST_F(OwnValues, external_storage_is_refused) {
  const auto file = made("scan.h5");
  const auto properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(properties, path("secret").c_str(), 0, 64);
  write(file, "/values", properties);
  H5Pclose(properties);
  H5Fclose(file);
  EXPECT_NE(error_of_reading("/values").find("external storage"), std::string::npos)
      << error_of_reading("/values");
}

TEST_F(OwnValues, virtual_datasets_are_refused_by_their_name) {
  const auto file = made("scan.h5");
  const hsize_t extent = 16;
  const auto space = H5Screate_simple(1, &extent, nullptr);
  const auto properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_virtual(properties, space, path("other.h5").c_str(), "/values", space);
  write(file, "/values", properties);
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
  EXPECT_NE(error_of_reading("/values").find("virtual dataset"), std::string::npos)
      << error_of_reading("/values");
}

TEST_F(OwnValues, links_to_other_files_are_refused_also_behind_soft_links) {
  const auto file = made("scan.h5");
  H5Lcreate_external(path("other.h5").c_str(), "/", file, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/elsewhere/values", file, "/values", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/loop", file, "/loop", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  for (const char* name : {"/elsewhere/values", "/values"})
    EXPECT_NE(error_of_reading(name).find("a link to another file"), std::string::npos)
        << error_of_reading(name);
  EXPECT_NE(error_of_reading("/loop"), "");
  const auto opened = hdf5::File::open(path("scan.h5"));
  EXPECT_THROW(static_cast<void>(opened.has_attribute("/elsewhere", "unit")), Error);
}

TEST_F(OwnValues, soft_links_within_the_file_are_followed) {
  const auto file = made("scan.h5");
  H5Gclose(H5Gcreate2(file, "/group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const float values[16] = {1, 2, 3};
  const hsize_t extent = 16;
  const auto space = H5Screate_simple(1, &extent, nullptr);
  const auto dataset =
      H5Dcreate2(file, "/group/stored", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Lcreate_soft("stored", file, "/group/values", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/group", file, "/same", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_EQ(error_of_reading("/same/values"), "");
  const auto opened = hdf5::File::open(path("scan.h5"));
  EXPECT_TRUE(opened.has("/same/values"));
  EXPECT_EQ(opened.dataset("/same/values").read<float>({16})[2], 3);
}

// The values are those of lookup3.c, driver5().
TEST(Superblock, checksum_is_that_of_lookup3) {
  const std::string text = "Four score and seven years ago";
  EXPECT_EQ(hdf5::metadata_checksum(text), 0x17770551U);
  EXPECT_EQ(hdf5::metadata_checksum({}), 0xdeadbeefU);
}

using WrittenFile = FolderTest;

TEST_F(WrittenFile, has_the_checksum_of_the_flags_that_are_in_it) {
  auto file = hdf5::File::create(path("a.h5"), "a.h5");
  file.write_attribute("/", "position_mm", std::vector<double>(9000, 1.5));  // more than 64 KiB
  file.close();
  const auto bytes = bytes_of(path("a.h5"));
  ASSERT_GE(bytes.size(), 48u);
  ASSERT_EQ(bytes[8], 2) << "the version";
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + 44, sizeof stored);
  EXPECT_EQ(stored, hdf5::metadata_checksum(std::span(bytes).first(44)));
  const auto read = hdf5::File::open(path("a.h5")).number_attribute("/", "position_mm");
  EXPECT_EQ(read, std::vector<double>(9000, 1.5));
}

TEST_F(WrittenFile, does_not_state_when_it_was_made) {
  auto file = hdf5::File::create(path("a.h5"), "a.h5");
  file.create_group("/group");
  file.write("/group/text", "text");
  file.close();
  const auto opened = hdf5::File::open(path("a.h5"));
  for (const char* name : {"/", "/group", "/group/text"}) {
    H5O_info_t info;
    ASSERT_GE(H5Oget_info_by_name(opened.id(), name, &info, H5P_DEFAULT), 0);
    EXPECT_EQ(info.ctime + info.mtime, 0) << name;
  }
}

}  // namespace
}  // namespace fhd::io

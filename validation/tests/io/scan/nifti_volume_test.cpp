// NIfTI images as input: what is read is what the library of the format reads, and a header is not believed.
#include <nifti1_io.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <vector>

#include "io/files/gzip.hpp"
#include "io/files/input_memory.hpp"
#include "io/scan/companion_files.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class NiftiVolume : public FolderTest {
 protected:
  /// Makes an image of 3 x 4 x 2 voxels that lie obliquely by its qform and otherwise by its sform.
  static nifti_1_header header(short datatype = DT_FLOAT32, short value_bytes = 4) {
    nifti_1_header h{};
    h.sizeof_hdr = 348;
    const short dim[8] = {3, 3, 4, 2, 1, 1, 1, 1};
    std::copy_n(dim, 8, h.dim);
    h.datatype = datatype;
    h.bitpix = static_cast<short>(8 * value_bytes);
    const float pixdim[8] = {-1, 2, 3, 4, 1, 1, 1, 1};
    std::copy_n(pixdim, 8, h.pixdim);
    h.vox_offset = 352;
    h.qform_code = 1;
    h.quatern_b = 0.1F, h.quatern_c = -0.2F, h.quatern_d = 0.3F;
    h.qoffset_x = 11, h.qoffset_y = -12, h.qoffset_z = 13;
    for (int column = 0; column < 4; ++column)
      h.srow_x[column] = 1.5F + static_cast<float>(column), h.srow_y[column] = -2.5F, h.srow_z[column] = 7;
    std::memcpy(h.magic, "n+1", 4);
    return h;
  }
  template <class T>
  std::string content(const nifti_1_header& h, const std::vector<T>& values) const {
    std::string bytes(reinterpret_cast<const char*>(&h), sizeof h);
    bytes.resize(static_cast<std::size_t>(std::max(348.0F, h.vox_offset)));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return bytes;
  }
  static std::vector<float> numbers(std::size_t count = 24) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) - 3.25F;
    return values;
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    write_text(path(name), bytes);
    return path(name);
  }
  std::string compressed(const std::string& name, const std::string& bytes) const {
    write_gzip(path(name), name, bytes.size(),
               [&](std::uint64_t offset, std::span<std::uint8_t> part) {
                 std::memcpy(part.data(), bytes.data() + offset, part.size());
               },
               {6, 1});
    return path(name);
  }
  static void expect_as_the_library(const std::string& file) {
    const auto volume = read_nifti_volume(file);
    nifti_image* const theirs = nifti_image_read(file.c_str(), 1);
    ASSERT_NE(theirs, nullptr) << file;
    ASSERT_EQ(volume.values.shape(), (Shape{theirs->nz, theirs->ny, theirs->nx})) << file;
    const auto& map = theirs->sform_code > 0 ? theirs->sto_xyz : theirs->qto_xyz;
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 4; ++column)
        EXPECT_EQ(volume.voxel_to_lps_mm[row][column], (row < 2 ? -1 : 1) * double(map.m[row][column]))
            << file;
    if (theirs->datatype == DT_FLOAT32 && theirs->scl_slope == 0) {
      EXPECT_EQ(std::memcmp(volume.values.data(), theirs->data,
                            static_cast<std::size_t>(volume.values.size()) * sizeof(float)),
                0)
          << file;
    }
    nifti_image_free(theirs);
  }
};

TEST_F(NiftiVolume, is_read_as_the_library_reads_it) {
  auto h = header();
  expect_as_the_library(write("q.nii", content(h, numbers())));
  h.sform_code = 2;
  expect_as_the_library(write("s.nii", content(h, numbers())));
  h.sform_code = 0, h.pixdim[0] = 1, h.pixdim[2] = 0, h.vox_offset = 0;
  expect_as_the_library(write("odd.nii", content(h, numbers())));
  h = header(), h.dim[0] = 2, h.dim[3] = 7;  // which then does not count
  expect_as_the_library(write("plane.nii", content(h, numbers(12))));
  h = header(), h.dim[0] = 4, h.dim[3] = 0, h.dim[4] = 5;
  expect_as_the_library(write("no_depth.nii", content(h, numbers(60))));
  expect_as_the_library(compressed("q.nii.gz", content(header(), numbers())));
  auto swapped = header();
  swap_nifti_header(&swapped, 1);
  auto values = numbers();
  nifti_swap_4bytes(values.size(), values.data());
  auto bytes = content(header(), values);
  std::memcpy(bytes.data(), &swapped, sizeof swapped);
  expect_as_the_library(write("swapped.nii", bytes));
}

template <class T>
Array<float> values_as(const std::function<std::string(const std::string&)>& write, const std::string& head) {
  std::vector<T> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i + 1);
  return read_nifti_volume(write(head + std::string(reinterpret_cast<const char*>(values.data()),
                                                    values.size() * sizeof(T))))
      .values;
}

TEST_F(NiftiVolume, of_every_type_of_real_numbers_is_scaled_as_the_header_says) {
  const auto check = [&]<class T>(T, short datatype) {
    auto h = header(datatype, sizeof(T));
    h.scl_slope = 0.5F, h.scl_inter = -1;
    const auto values =
        values_as<T>([&](const auto& bytes) { return write("x.nii", bytes); }, content<T>(h, {}));
    for (std::int64_t i = 0; i < 24; ++i)
      EXPECT_EQ(values[i], 0.5F * static_cast<float>(i + 1) - 1) << datatype;
  };
  check(std::uint8_t{}, DT_UINT8), check(std::int8_t{}, DT_INT8), check(std::uint16_t{}, DT_UINT16);
  check(std::int16_t{}, DT_INT16), check(std::uint32_t{}, DT_UINT32), check(std::int32_t{}, DT_INT32);
  check(float{}, DT_FLOAT32), check(double{}, DT_FLOAT64);
  EXPECT_REFUSED(read_nifti_volume(write("c.nii", content(header(DT_COMPLEX64, 8), numbers(48)))),
                 "expected real numbers, found voxels of type COMPLEX64; save the magnitude");
}

TEST_F(NiftiVolume, that_is_none_or_says_too_little_is_refused_in_a_line) {
  const auto refused = [&](const std::string& bytes) {
    return error_of([&] { read_nifti_volume(write("x.nii", bytes)); });
  };
  EXPECT_CONTAINS(refused(""), "expected a NIfTI image");
  EXPECT_CONTAINS(refused("<nifti_image\n  nifti_type = 'NIFTI-1A'\n  header_filename = '/etc/passwd'\n" +
                          std::string(400, ' ') + "/>"),
                  "a file that cannot be read as one; give an image such as brain.nii.gz");
  auto h = header();
  std::memcpy(h.magic, "ni1", 4);
  EXPECT_CONTAINS(refused(content(h, numbers())), "one whose voxels lie in another file");
  h = header(), h.dim[0] = 0;
  EXPECT_CONTAINS(refused(content(h, numbers())), "one with no axes");
  h = header(), h.dim[1] = 0;
  EXPECT_CONTAINS(refused(content(h, numbers())), "expected 1 ... 4096 voxels per axis, found 0 x 4 x 2");
  h = header(), h.dim[2] = 4097;
  EXPECT_CONTAINS(refused(content(h, numbers())), "found 3 x 4097 x 2");
  h = header(), h.qform_code = 0;
  EXPECT_CONTAINS(refused(content(h, numbers())), "neither sform nor qform");
  h = header(), h.qoffset_y = std::numeric_limits<float>::quiet_NaN();
  EXPECT_CONTAINS(refused(content(h, numbers())), "a finite affine map");
  auto values = numbers();
  values[7] = std::numeric_limits<float>::infinity();
  EXPECT_CONTAINS(refused(content(header(), values)), "expected finite voxels");
  h = header(DT_FLOAT64, 8);
  EXPECT_CONTAINS(refused(content(h, std::vector<double>(24, 1e300))), "expected finite voxels")
      << "beyond the range of single precision";
}

// 4096 x 4096 x 4096 voxels of 8 bytes are 512 GiB.
TEST_F(NiftiVolume, costs_what_is_there_and_not_what_its_header_claims) {
  auto h = header(DT_FLOAT64, 8);
  h.dim[1] = h.dim[2] = h.dim[3] = 4096;
  for (const float offset : {352.0F, 0.0F, -1.0F, 1e38F, std::numeric_limits<float>::quiet_NaN()}) {
    auto claim = h;
    claim.vox_offset = offset;
    auto bytes = content(h, std::vector<double>(1000, 1));
    std::memcpy(bytes.data(), &claim, sizeof claim);
    EXPECT_REFUSED(read_nifti_volume(write("x.nii", bytes)), "as many voxels as its header states");
    EXPECT_REFUSED(read_nifti_volume(compressed("x.nii.gz", bytes)), "as many voxels as its header states");
  }
  // Cut off, with and without compression: the claim is possible by the size of the file alone.
  auto bytes = content(header(), numbers());
  bytes.pop_back();
  EXPECT_REFUSED(read_nifti_volume(compressed("cut.nii.gz", bytes)), "fewer; the file is damaged");
}

// Zeros shrink a thousandfold: what they become is bounded by the memory that an input may take.
TEST_F(NiftiVolume, that_unpacks_to_more_than_an_input_may_take_is_refused) {
  auto h = header(DT_UINT8, 1);
  h.dim[1] = 1024, h.dim[2] = 1024, h.dim[3] = 4;
  const auto bomb = compressed("bomb.nii.gz", content(h, std::vector<std::uint8_t>(std::size_t{4} << 20)));
  EXPECT_EQ(read_nifti_volume(bomb).values.size(), 4 << 20);
  set_input_memory(std::uint64_t{16} << 20);
  EXPECT_REFUSED(read_nifti_volume(bomb), "--input-memory");
  set_input_memory(0);
}

TEST_F(NiftiVolume, is_not_waited_for_at_a_pipe) {
  ASSERT_EQ(mkfifo(path("pipe.nii").c_str(), 0600), 0);
  EXPECT_REFUSED(read_nifti_volume(path("pipe.nii")), "found a pipe, a device or a socket");
}

TEST(HostileFiles, that_claim_to_be_nifti_are_read_or_refused_in_a_line) {
  const std::string folder = std::string(FHD_SCANS) + "/../hostile/";
  if (!std::filesystem::exists(folder + "n4096.nii")) GTEST_SKIP() << "no hostile files";
  for (const char* name : {"ascii.nii", "n4096.nii", "nvox_overflow.nii"}) {
    testing::internal::CaptureStderr();
    EXPECT_NE(error_of([&] { read_nifti_volume(folder + name); }), "") << name;
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing is printed beside it";
  }
  EXPECT_GT(read_nifti_volume(folder + "nt_huge.nii").values.size(), 0) << "its first volume is there";
}

}  // namespace
}  // namespace fhd::io

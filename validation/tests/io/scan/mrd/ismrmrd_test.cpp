// Tests files of other programs, written here with libismrmrd.
#include <gtest/gtest.h>
#include <ismrmrd/dataset.h>
#include <ismrmrd/xml.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

struct HeaderOptions {
  std::array<int, 3> encoded{16, 16, 1}, recon{16, 16, 1};
  std::array<double, 3> encoded_fov{160, 160, 5}, recon_fov{160, 160, 5};
  std::string trajectory = "other", limits, parameters;
};

std::string header_of(const HeaderOptions& o) {
  const auto space = [](const char* name, const auto& n, const auto& fov) {
    const auto xyz = [](const auto& v) {
      return "<x>" + std::to_string(v[0]) + "</x><y>" + std::to_string(v[1]) + "</y><z>" +
             std::to_string(v[2]) + "</z>";
    };
    return std::string("<") + name + "><matrixSize>" + xyz(n) + "</matrixSize><fieldOfView_mm>" + xyz(fov) +
           "</fieldOfView_mm></" + name + ">";
  };
  return "<?xml version=\"1.0\"?><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><encoding>" +
         space("encodedSpace", o.encoded, o.encoded_fov) +
         (o.recon[0] > 0 ? space("reconSpace", o.recon, o.recon_fov) : "") + "<encodingLimits>" + o.limits +
         "</encodingLimits><trajectory>" + o.trajectory + "</trajectory></encoding><userParameters>" +
         o.parameters + "</userParameters></ismrmrdHeader>";
}

/// Sets or gets float members of a head, which is packed: no reference to them may be formed.
void set_floats(ISMRMRD::Acquisition& acquisition, std::size_t offset, const std::vector<float>& values) {
  ISMRMRD::AcquisitionHeader head = acquisition.getHead();
  std::memcpy(reinterpret_cast<char*>(&head) + offset, values.data(), values.size() * sizeof(float));
  acquisition.setHead(head);
}
float get_float(const ISMRMRD::Acquisition& acquisition, std::size_t offset, int index = 0) {
  float value;
  std::memcpy(&value,
              reinterpret_cast<const char*>(&acquisition.getHead()) + offset +
                  sizeof(float) * static_cast<std::size_t>(index),
              sizeof(float));
  return value;
}
#define HEAD_OFFSET(member) offsetof(ISMRMRD::ISMRMRD_AcquisitionHeader, member)

class IsmrmrdTest : public FolderTest {
 protected:
  /// Writes `count` readouts; `set` fills number i: its sizes first, then its arrays.
  std::string write(const HeaderOptions& options, int count,
                    const std::function<void(ISMRMRD::Acquisition&, int)>& set) {
    const auto name = path("scan.mrd");
    std::filesystem::remove(name);
    ISMRMRD::Dataset dataset(name.c_str(), "/dataset", true);
    dataset.writeHeader(header_of(options));
    for (int i = 0; i < count; ++i) {
      ISMRMRD::Acquisition acquisition;
      set(acquisition, i);
      dataset.appendAcquisition(acquisition);
    }
    return name;
  }

  /// A radial spoke of 16 samples reaching +-8 cycles/FOV at angle i, values (i, s).
  static void spoke(ISMRMRD::Acquisition& acquisition, int i, int coils = 1, float unit = 1) {
    acquisition.resize(16, static_cast<std::uint16_t>(coils), 2);
    for (std::uint16_t s = 0; s < 16; ++s) {
      acquisition.traj(0, s) = float(std::cos(i * 0.7) * (s - 8)) * unit;
      acquisition.traj(1, s) = float(std::sin(i * 0.7) * (s - 8)) * unit;
      for (std::uint16_t coil = 0; coil < coils; ++coil)
        acquisition.data(s, coil) = {float(i), float(s + 100 * coil)};
    }
  }

  /// A Cartesian line without trajectory: values (line, s).
  static void line(ISMRMRD::Acquisition& acquisition, int i, int samples = 16) {
    acquisition.resize(static_cast<std::uint16_t>(samples), 1, 0);
    acquisition.idx().kspace_encode_step_1 = static_cast<std::uint16_t>(i);
    acquisition.center_sample() = static_cast<std::uint16_t>(samples / 2);
    for (std::uint16_t s = 0; s < samples; ++s) acquisition.data(s, 0) = {float(i), float(s)};
  }
};
using Ismrmrd = IsmrmrdTest;

bool told(const ::fhd::io::ScanFile& file, const std::string& part) {
  return says(file.summary().inferred, part);
}

TEST_F(Ismrmrd, files_of_libismrmrd_are_read) {
  const auto file = open_scan(write({}, 5, [](auto& a, int i) { spoke(a, i, 3); }));
  const auto scan = file->read(0, 0);
  EXPECT_EQ(scan.kspace.values.shape(), (Shape{3, 80}));
  EXPECT_EQ(scan.kspace.values[2 * 80 + 33], (Complex<float>{2, 201}));
  EXPECT_FLOAT_EQ(static_cast<float>(scan.trajectory.k[80 + 33]), static_cast<float>(std::sin(1.4) * -7));
  EXPECT_EQ(file->summary().readout_length, 16);
  EXPECT_TRUE(told(*file, "cycles/FOV"));
}

TEST_F(Ismrmrd, written_files_are_read_by_libismrmrd) {
  const auto scan = random_scan({16, 12, 5}, 3, 20, 4);
  write_scan(path("ours.mrd"), ScanFormat::ismrmrd, {1, 1, 20, {scan}});
  ISMRMRD::Dataset dataset(path("ours.mrd").c_str(), "/dataset", false);
  std::string xml;
  dataset.readHeader(xml);
  ISMRMRD::IsmrmrdHeader header;
  ASSERT_NO_THROW(ISMRMRD::deserialize(xml.c_str(), header));
  EXPECT_EQ(header.encoding.at(0).encodedSpace.matrixSize.y, 12);
  EXPECT_EQ(header.userParameters->userParameterString.at(0).value, "cycles/FOV");
  ASSERT_EQ(dataset.getNumberOfAcquisitions(), 4u);
  ISMRMRD::Acquisition acquisition;
  dataset.readAcquisition(2, acquisition);
  EXPECT_EQ(acquisition.number_of_samples(), 20);
  EXPECT_EQ(acquisition.active_channels(), 3);
  EXPECT_FLOAT_EQ(acquisition.traj(2, 7), static_cast<float>(scan.trajectory.k[2 * 80 + 47]));
  EXPECT_EQ(acquisition.data(7, 1).imag(), scan.kspace.values[80 + 47].im);
  EXPECT_FLOAT_EQ(get_float(acquisition, HEAD_OFFSET(sample_time_us)), 5);
  EXPECT_FLOAT_EQ(get_float(acquisition, HEAD_OFFSET(position), 1), -20);
}

TEST_F(Ismrmrd, readouts_that_are_not_of_the_image_may_have_other_sizes_and_places) {
  const auto file = open_scan(write({}, 4, [&](auto& a, int i) {
    if (i > 0) return spoke(a, i);
    a.resize(1, 1, 2);  // as JEMRIS writes: one sample, far outside the matrix
    a.traj(0, 0) = a.traj(1, 0) = 1000;
    a.data(0, 0) = 0;  // libismrmrd leaves it open
    a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_DUMMYSCAN_DATA});
  }));
  EXPECT_EQ(file->read(0, 0).kspace.sample_count(), 48);
  const auto name = write({}, 2, [](auto& a, int i) {
    spoke(a, i);
    a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT});
  });
  EXPECT_REFUSED(open_scan(name), "all flagged");
}

TEST_F(Ismrmrd, counts_what_it_skips_by_purpose) {
  const auto file = open_scan(write({}, 6, [&](auto& a, int i) {
    spoke(a, i);
    if (i == 0 || i == 1) a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT});
    if (i == 2) a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA});
    if (i == 3) a.encoding_space_ref() = 1;
  }));
  const auto& facts = file->summary().facts;
  const auto skipped = std::find_if(facts.begin(), facts.end(),
                                    [](const auto& fact) { return fact.first == "readouts skipped"; });
  ASSERT_NE(skipped, facts.end());
  EXPECT_EQ(skipped->second, "1 navigator, 2 noise, 1 of another encoding space than the first");
  EXPECT_EQ(file->read(0, 0).kspace.sample_count(), 32);
}

TEST_F(Ismrmrd, reads_noise_readouts_as_the_noise_of_every_scan) {
  const auto file = open_scan(write({}, 5, [&](auto& a, int i) {
    spoke(a, i);
    if (i == 1 || i == 3) {
      a.discard_pre() = 2;
      a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT});
    }
  }));
  const auto scan = file->read(0, 0);
  EXPECT_EQ(scan.kspace.sample_count(), 48);
  ASSERT_TRUE(scan.noise.has_value());
  ASSERT_TRUE((scan.noise->shape() == Shape{scan.kspace.coil_count(), 28}));
  EXPECT_EQ((*scan.noise)[0], (Complex<float>{1, 2}));
  EXPECT_EQ((*scan.noise)[27], (Complex<float>{3, 15}));
  // Every format with a place for it keeps it.
  for (const auto format : {ScanFormat::fhd, ScanFormat::ismrmrd}) {
    write_scan(path("again.h5"), format, {1, 1, 16, {scan}});
    const auto again = open_scan(path("again.h5"))->read(0, 0);
    ASSERT_TRUE(again.noise.has_value());
    EXPECT_EQ(largest_difference(*again.noise, *scan.noise), 0);
  }
  EXPECT_FALSE(open_scan(write({}, 4, [](auto& a, int i) { spoke(a, i); }))->read(0, 0).noise.has_value());
}

TEST_F(Ismrmrd, places_cartesian_lines_by_their_encoding_steps) {
  HeaderOptions options;
  options.trajectory = "cartesian";
  options.encoded = {32, 16, 1};
  options.encoded_fov = {320, 160, 5};
  options.limits =
      "<kspace_encoding_step_1><minimum>0</minimum><maximum>15</maximum><center>8</center></"
      "kspace_encoding_step_1>";
  const auto file = open_scan(write(options, 16, [](auto& a, int i) { line(a, i, 32); }));
  EXPECT_TRUE(file->summary().cartesian);
  const auto scan = file->read(0, 0);
  EXPECT_EQ(scan.geometry.matrix_size, (std::array{32, 16, 1}));
  EXPECT_EQ(scan.cropped_matrix_size, (std::array{16, 0, 0}));  // readout oversampling
  EXPECT_TRUE(told(*file, "cropped along x from 32 to 16"));
  EXPECT_EQ(scan.trajectory.k[32 * 3 + 5], 5 - 16);
  EXPECT_EQ(scan.trajectory.k[512 + 32 * 3 + 5], 3 - 8);
  EXPECT_EQ(scan.kspace.values[32 * 3 + 5], (Complex<float>{3, 5}));
}

TEST_F(Ismrmrd, ignores_a_third_axis_of_a_2d_matrix) {
  const auto file = open_scan(write({}, 4, [](auto& a, int i) {
    spoke(a, i);
    a.resize(16, 1, 3);
    for (std::uint16_t s = 0; s < 16; ++s) {
      a.traj(0, s) = float(s) - 8;
      a.traj(1, s) = float(i) - 8;
      a.traj(2, s) = 77;  // a density weight
      a.data(s, 0) = {1, 0};
    }
  }));
  const auto scan = file->read(0, 0);
  for (int m = 0; m < 64; ++m) EXPECT_EQ(scan.trajectory.k[128 + m], 0);
  EXPECT_TRUE(told(*file, "third axis"));
}

TEST_F(Ismrmrd, recognises_a_fov_in_metres) {
  HeaderOptions options;
  options.encoded_fov = options.recon_fov = {0.23, 0.23, 1};
  const auto file = open_scan(write(options, 4, [](auto& a, int i) { spoke(a, i, 1, 1.0f / 16); }));
  EXPECT_NEAR(file->summary().geometry.fov_mm[0], 230, 1e-9);
  EXPECT_EQ(file->summary().geometry.fov_mm[2], 1);
  EXPECT_TRUE(told(*file, "metres"));
  EXPECT_TRUE(told(*file, "cycles/voxel"));
}

TEST_F(Ismrmrd, reads_a_scan_of_unknown_fov) {
  HeaderOptions options;
  options.encoded_fov = options.recon_fov = {0, 0, 0};
  const auto file = open_scan(write(options, 4, [](auto& a, int i) { spoke(a, i); }));
  EXPECT_EQ(file->summary().geometry.fov_mm, (std::array<double, 3>{0, 0, 0}));
  ASSERT_EQ(file->summary().missing.size(), 1u);
  EXPECT_CONTAINS(file->summary().missing[0], "--fov-mm");
  EXPECT_NO_THROW(file->read(0, 0));
  ReadOptions given;
  given.fov_mm = {200, 200, 0};
  EXPECT_EQ(open_scan(path("scan.mrd"), given)->summary().geometry.fov_mm,
            (std::array<double, 3>{200, 200, 0}));
}

TEST_F(Ismrmrd, tells_a_matrix_mismatch) {
  HeaderOptions options;
  options.recon = {20, 20, 1};
  const auto file = open_scan(write(options, 4, [](auto& a, int i) { spoke(a, i); }));
  EXPECT_EQ(file->read(0, 0).geometry.matrix_size, (std::array{16, 16, 1}));
  EXPECT_TRUE(told(*file, "16 encoded and 20 reconstructed"));
  options.recon = {0, 0, 0};  // no reconSpace at all, as MRIReco writes
  EXPECT_NO_THROW(open_scan(write(options, 4, [](auto& a, int i) { spoke(a, i); }))->read(0, 0));
}

TEST_F(Ismrmrd, separates_slices_and_repetitions) {
  const auto name = write({}, 12, [](auto& a, int i) {
    spoke(a, i);
    a.idx().slice = static_cast<std::uint16_t>(i % 2 == 0 ? 4 : 7);
    a.idx().repetition = static_cast<std::uint16_t>(i / 6);
    a.idx().average = static_cast<std::uint16_t>(i / 2 % 3);
    set_floats(a, HEAD_OFFSET(position), {0, 0, float(i % 2) * 5});
  });
  const auto file = open_scan(name);
  EXPECT_EQ(file->summary().slice_count, 2);
  EXPECT_EQ(file->summary().repetition_count, 2);
  const auto scan = file->read(1, 1);
  EXPECT_EQ(scan.kspace.sample_count(), 48);  // three averages
  EXPECT_EQ(scan.kspace.values[0].re, 7);
  EXPECT_EQ(scan.geometry.position_mm[2], 5);
  EXPECT_TRUE(told(*file, "3 averages"));
}

TEST_F(Ismrmrd, joins_slices_that_the_header_denies) {
  HeaderOptions options;
  options.limits = "<slice><minimum>0</minimum><maximum>0</maximum><center>0</center></slice>";
  const auto file = open_scan(write(options, 6, [](auto& a, int i) {
    spoke(a, i);
    a.idx().slice = static_cast<std::uint16_t>(i);
  }));
  EXPECT_EQ(file->summary().slice_count, 1);
  EXPECT_EQ(file->summary().samples_per_scan, 96);
  EXPECT_TRUE(told(*file, "one slice"));
}

TEST_F(Ismrmrd, falls_back_where_directions_are_zero) {
  const auto file = open_scan(write({}, 2, [](auto& a, int i) { spoke(a, i); }));
  EXPECT_EQ(file->summary().geometry.read_direction, (std::array<double, 3>{1, 0, 0}));
  EXPECT_TRUE(told(*file, "directions"));
  const auto stated = open_scan(write({}, 2, [](auto& a, int i) {
    spoke(a, i);
    set_floats(a, HEAD_OFFSET(read_dir), {0, 1, 0});
    set_floats(a, HEAD_OFFSET(phase_dir), {-1, 0, 0});
    set_floats(a, HEAD_OFFSET(slice_dir), {0, 0, 1});
  }));
  EXPECT_EQ(stated->summary().geometry.phase_direction, (std::array<double, 3>{-1, 0, 0}));
  EXPECT_FALSE(told(*stated, "directions"));
}

TEST_F(Ismrmrd, obeys_a_stated_unit) {
  HeaderOptions options;
  options.parameters =
      "<userParameterString><name>trajectory_unit</name><value>radians/voxel</value></userParameterString>";
  const auto unit = static_cast<float>(2 * M_PI / 16);
  const auto file = open_scan(write(options, 2, [&](auto& a, int i) { spoke(a, i, 1, unit); }));
  EXPECT_NEAR(file->read(0, 0).trajectory.k[0], -8, 1e-6);
  options.parameters =
      "<userParameterString><name>trajectory_unit</name><value>furlongs</value></userParameterString>";
  const auto name = write(options, 2, [&](auto& a, int i) { spoke(a, i, 1, unit); });
  EXPECT_REFUSED(open_scan(name), "'furlongs'");
}

TEST_F(Ismrmrd, does_not_trust_the_sizes_in_a_head) {
  for (const char* member : {"number_of_samples", "active_channels", "trajectory_dimensions"}) {
    const auto name = write({}, 2, [](auto& a, int i) { spoke(a, i); });
    {  // HDF5 changes one member of the head and leaves the rest
      const hid_t file = H5Fopen(name.c_str(), H5F_ACC_RDWR, H5P_DEFAULT),
                  data = H5Dopen2(file, "/dataset/data", H5P_DEFAULT);
      const hid_t head = H5Tcreate(H5T_COMPOUND, 2), record = H5Tcreate(H5T_COMPOUND, 2);
      H5Tinsert(head, member, 0, H5T_NATIVE_UINT16);
      H5Tinsert(record, "head", 0, head);
      const std::uint16_t lies[2]{65000, 65000};
      ASSERT_GE(H5Dwrite(data, record, H5S_ALL, H5S_ALL, H5P_DEFAULT, lies), 0);
      H5Tclose(head), H5Tclose(record), H5Dclose(data), H5Fclose(file);
    }
    EXPECT_REFUSED(open_scan(name)->read(0, 0), "numbers, as its head says") << member;
  }
}

TEST_F(Ismrmrd, rejects_damaged_headers) {
  const auto with_header = [&](const std::string& xml) {
    std::filesystem::remove(path("scan.mrd"));
    {
      ISMRMRD::Dataset dataset(path("scan.mrd").c_str(), "/dataset", true);
      dataset.writeHeader(xml);
      ISMRMRD::Acquisition acquisition;
      spoke(acquisition, 0);
      dataset.appendAcquisition(acquisition);
    }
    return error_of([&] { open_scan(path("scan.mrd")); });
  };
  EXPECT_CONTAINS(with_header("<ismrmrdHeader><encoding>"), "an XML header");
  EXPECT_CONTAINS(with_header("<other/>"), "ismrmrdHeader");
  EXPECT_CONTAINS(with_header("<ismrmrdHeader><encoding/></ismrmrdHeader>"), "--matrix");
}

TEST_F(Ismrmrd, rejects_a_file_without_readouts) {
  {
    ISMRMRD::Dataset dataset(path("scan.mrd").c_str(), "/dataset", true);
    dataset.writeHeader(header_of({}));
  }
  EXPECT_REFUSED(open_scan(path("scan.mrd")), "/dataset/data: expected a dataset, found none");
}

TEST_F(Ismrmrd, reads_the_only_group_whatever_its_name_and_asks_which_of_several) {
  const auto add = [&](const std::string& group, int readouts) {
    ISMRMRD::Dataset dataset(path("scan.mrd").c_str(), group.c_str(), true);
    dataset.writeHeader(header_of({}));
    for (int i = 0; i < readouts; ++i) {
      ISMRMRD::Acquisition acquisition;
      spoke(acquisition, i);
      dataset.appendAcquisition(acquisition);
    }
  };
  add("dataset_2", 3);
  {
    const auto file = open_scan(path("scan.mrd"));
    EXPECT_EQ(file->read(0, 0).kspace.sample_count(), 48);
    EXPECT_TRUE(told(*file, "the group 'dataset_2', the only one"));
  }
  add("noise", 5);
  EXPECT_REFUSED(open_scan(path("scan.mrd")), "found 2: 'dataset_2', 'noise'; choose one with --group");
  ReadOptions options;
  for (const char* name : {"noise", "/noise"}) {
    options.group = name;
    EXPECT_EQ(open_scan(path("scan.mrd"), options)->read(0, 0).kspace.sample_count(), 80);
  }
  options.group = "other";
  EXPECT_REFUSED(open_scan(path("scan.mrd"), options), "'other'");
}

TEST_F(Ismrmrd, reads_several_encodings_of_a_header) {
  HeaderOptions options;
  options.trajectory = "cartesian";
  options.limits =
      "<kspace_encoding_step_1><minimum>0</minimum><maximum>15</maximum><center>8</center></"
      "kspace_encoding_step_1>";
  auto header = header_of(options);
  options.encoded = {16, 8, 1};
  options.encoded_fov = {160, 200, 5};
  const auto second = header_of(options);
  const auto begin = second.find("<encoding>"), end = second.find("</encoding>") + std::strlen("</encoding>");
  header.insert(header.find("<userParameters>"), second.substr(begin, end - begin));
  std::filesystem::remove(path("scan.mrd"));
  {
    ISMRMRD::Dataset dataset(path("scan.mrd").c_str(), "/dataset", true);
    dataset.writeHeader(header);
    for (int i = 0; i < 16; ++i) {
      ISMRMRD::Acquisition acquisition;
      line(acquisition, i);
      if (i % 2 == 1) acquisition.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION});
      if (i % 2 == 1) acquisition.encoding_space_ref() = 1;
      dataset.appendAcquisition(acquisition);
    }
  }
  const auto scan = open_scan(path("scan.mrd"))->read(0, 0);
  EXPECT_EQ(scan.kspace.sample_count(), 128);
  ASSERT_TRUE(scan.calibration.has_value());
  EXPECT_EQ(scan.calibration->matrix_size, (std::array{16, 8, 1}));
  EXPECT_DOUBLE_EQ(scan.calibration->trajectory.k[128], (1 - 8) * 160.0 / 200);
  // Files that are written state it.
  for (const auto format : {ScanFormat::fhd, ScanFormat::ismrmrd}) {
    write_scan(path("again.h5"), format, {1, 1, 16, {scan}});
    const auto again = open_scan(path("again.h5"))->read(0, 0);
    ASSERT_TRUE(again.calibration.has_value());
    EXPECT_EQ(largest_difference(again.calibration->kspace.values, scan.calibration->kspace.values), 0);
    EXPECT_EQ(largest_difference(again.calibration->trajectory.k, scan.calibration->trajectory.k), 0);
  }
}

// --- Real scans
// --------------------------------------------------------------------------------------------------

std::string scans() { return FHD_SCANS; }

TEST(RealIsmrmrd, jemris_spirals_are_read) {
  const auto folder = scans() + "/jemris_ismrmrd_spiral/raw";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* name : {"clean", "CS", "Susc70Mhz"}) {
    const auto file = open_scan(folder + "/signals_spiralout_" + name + "_slc30.h5");
    const auto& summary = file->summary();
    EXPECT_EQ(summary.geometry.matrix_size, (std::array{220, 220, 1}));
    EXPECT_EQ(summary.geometry.fov_mm, (std::array<double, 3>{220, 220, 1}));
    EXPECT_EQ(summary.samples_per_scan, 15 * 4940);  // without the dummy of one sample
    EXPECT_TRUE(told(*file, "cycles/FOV"));
    EXPECT_NO_THROW(file->read(0, 0));
  }
}

TEST(RealIsmrmrd, koma_and_mrireco_are_read) {
  const auto folder = scans() + "/koma_mrireco_ismrmrd";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const auto koma = open_scan(folder + "/koma_MRF_radial_500TR.mrd");
  EXPECT_EQ(koma->summary().samples_per_scan, 50000);
  EXPECT_NEAR(koma->summary().geometry.fov_mm[0], 230, 1e-9);
  EXPECT_TRUE(told(*koma, "99 encoded and 100 reconstructed"));
  EXPECT_NO_THROW(koma->read(0, 0));
  const auto mrireco = open_scan(folder + "/mrireco_acqDataBrainSim100.h5");
  EXPECT_EQ(mrireco->summary().geometry.matrix_size, (std::array{256, 256, 1}));
  EXPECT_TRUE(mrireco->summary().cartesian);
  EXPECT_CONTAINS(mrireco->summary().missing.at(0), "FOV");
  EXPECT_NO_THROW(mrireco->read(0, 0));
}

}  // namespace
}  // namespace fhd::io

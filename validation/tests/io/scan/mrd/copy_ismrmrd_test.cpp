// ISMRMRD files as others read them, and from one to the next.
#include <gtest/gtest.h>
#include <ismrmrd/dataset.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <numbers>

#include "io/scan/mrd/records.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

using hdf5::Handle;

std::string header_of(const std::string& trajectory, const std::string& parameters) {
  return R"(<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">
  <acquisitionSystemInformation><systemVendor>GE</systemVendor><receiverChannels>2</receiverChannels></acquisitionSystemInformation>
  <experimentalConditions><H1resonanceFrequency_Hz>127766000</H1resonanceFrequency_Hz></experimentalConditions>
  <encoding>
    <encodedSpace><matrixSize><x>16</x><y>16</y><z>1</z></matrixSize><fieldOfView_mm><x>160</x><y>160</y><z>5</z></fieldOfView_mm></encodedSpace>
    <reconSpace><matrixSize><x>16</x><y>16</y><z>1</z></matrixSize><fieldOfView_mm><x>160</x><y>160</y><z>5</z></fieldOfView_mm></reconSpace>
    <encodingLimits/><trajectory>)" +
         trajectory + R"(</trajectory>
  </encoding>
  <sequenceParameters><TE>3.5</TE></sequenceParameters>
  <userParameters><userParameterLong><name>interleaves</name><value>4</value></userParameterLong>)" +
         parameters + R"(</userParameters>
</ismrmrdHeader>)";
}
const std::string in_cycles_per_fov =
    "<userParameterString><name>trajectory_unit</name><value>cycles/FOV</value></userParameterString>";

class CopyIsmrmrd : public FolderTest {
 protected:
  std::string write(const std::string& header, bool with_trajectory, float unit = 1) {
    const auto name = path("scan.mrd");
    ISMRMRD::Dataset dataset(name.c_str(), "/dataset", true);
    dataset.writeHeader(header);
    for (std::uint16_t i = 0; i < 2 * 2 * 16; ++i) {
      ISMRMRD::Acquisition a;
      a.resize(20, 2, with_trajectory ? 3 : 0);
      for (std::uint16_t s = 0; s < 20; ++s) {
        for (std::uint16_t coil = 0; coil < 2; ++coil) a.data(s, coil) = {float(i), float(s + 100 * coil)};
        if (!with_trajectory) continue;
        a.traj(0, s) = float(std::cos(i * 0.7) * (s - 10) * 0.8) * unit;
        a.traj(1, s) = float(std::sin(i * 0.7) * (s - 10) * 0.8) * unit;
        a.traj(2, s) = 0.01F * float(s + 1);  // a density weight
      }
      a.idx().kspace_encode_step_1 = i % 16;
      a.idx().slice = i / 16 % 2;
      a.idx().set = i / 32;
      a.idx().segment = i % 3;
      a.idx().user[2] = i;
      a.discard_pre() = 4;
      a.center_sample() = 12;
      a.scan_counter() = i;
      a.acquisition_time_stamp() = 1000u + i;
      a.user_int()[1] = -i;
      if (i % 16 == 7) a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA});
      if (i % 16 == 9) a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT});
      if (i % 16 == 0) a.setFlag(std::uint64_t{ISMRMRD::ISMRMRD_ACQ_FIRST_IN_SLICE});
      dataset.appendAcquisition(a);
    }
    return name;
  }
  /// Written again; what the format cannot hold is nothing.
  std::string copy(const std::string& name, const ReadOptions& options = {}) {
    const auto file = open_scan(name, options);
    EXPECT_TRUE(convert_scan(*file, name, options, path("copy.mrd"), ScanFormat::ismrmrd).empty());
    return path("copy.mrd");
  }
  static void expect_same_scans(const std::string& a, const ReadOptions& options, const std::string& b) {
    const auto first = open_scan(a, options), second = open_scan(b);
    ASSERT_EQ(first->summary().repetition_count, second->summary().repetition_count);
    ASSERT_EQ(first->summary().slice_count, second->summary().slice_count);
    for (std::int64_t slice = 0; slice < first->summary().slice_count; ++slice) {
      const auto x = first->read(slice, 1), y = second->read(slice, 1);
      EXPECT_EQ(x.geometry.matrix_size, y.geometry.matrix_size);
      EXPECT_EQ(x.geometry.fov_mm, y.geometry.fov_mm);
      EXPECT_EQ(x.cropped_matrix_size, y.cropped_matrix_size);
      EXPECT_EQ(largest_difference(x.kspace.values, y.kspace.values), 0);
      EXPECT_LE(largest_difference(x.trajectory.k, y.trajectory.k), 8 * std::ldexp(1.0, -23));
      ASSERT_TRUE(x.noise && y.noise);
      EXPECT_EQ(largest_difference(*x.noise, *y.noise), 0);
    }
  }
  /// Every readout with libismrmrd; `same_k`: whether trajectories are the same too.
  static void expect_same_readouts(const std::string& a, const std::string& b, bool same_k) {
    ISMRMRD::Dataset first(a.c_str(), "/dataset", false), second(b.c_str(), "/dataset", false);
    ASSERT_EQ(first.getNumberOfAcquisitions(), second.getNumberOfAcquisitions());
    for (std::uint32_t i = 0; i < first.getNumberOfAcquisitions(); ++i) {
      ISMRMRD::Acquisition x, y;
      first.readAcquisition(i, x);
      second.readAcquisition(i, y);
      EXPECT_EQ(std::memcmp(&x.getHead(), &y.getHead(), sizeof(ISMRMRD::ISMRMRD_AcquisitionHeader)), 0) << i;
      EXPECT_TRUE(std::equal(x.getDataPtr(), x.getDataPtr() + x.getNumberOfDataElements(), y.getDataPtr()));
      ASSERT_EQ(x.getNumberOfTrajElements(), y.getNumberOfTrajElements());
      if (same_k) {
        EXPECT_TRUE(std::equal(x.getTrajPtr(), x.getTrajPtr() + x.getNumberOfTrajElements(), y.getTrajPtr()));
      }
    }
  }
  static std::string header(const std::string& name) {
    return hdf5::File::open(name).read_text(mrd::header_name(mrd::usual_group));
  }
};

TEST_F(CopyIsmrmrd, heads_are_packed_as_the_format_says) {
  write_scan(path("scan.mrd"), ScanFormat::ismrmrd, {1, 1, 20, {random_scan({16, 12, 1}, 3, 20, 4)}});
  const auto file = hdf5::File::open(path("scan.mrd"));
  const Handle dataset = file.open_dataset(mrd::records_name(mrd::usual_group));
  const Handle record(H5Dget_type(dataset.get()), H5Tclose, "record", "a type");
  const Handle head(H5Tget_member_type(record.get(), 0), H5Tclose, "head", "a type");
  using Head = ISMRMRD::ISMRMRD_AcquisitionHeader;
  EXPECT_EQ(H5Tget_size(head.get()), 340u);
  EXPECT_EQ(sizeof(Head), 340u);
  const auto offset = [&](const char* name) {
    return H5Tget_member_offset(head.get(), static_cast<unsigned>(H5Tget_member_index(head.get(), name)));
  };
  EXPECT_EQ(offset("flags"), offsetof(Head, flags));
  EXPECT_EQ(offset("channel_mask"), offsetof(Head, channel_mask));
  EXPECT_EQ(offset("sample_time_us"), offsetof(Head, sample_time_us));
  EXPECT_EQ(offset("idx"), offsetof(Head, idx));
  EXPECT_EQ(offset("user_float"), offsetof(Head, user_float));
}

TEST_F(CopyIsmrmrd, waveforms_are_copied) {
  const auto name = write(header_of("spiral", in_cycles_per_fov), true);
  {
    ISMRMRD::Dataset dataset(name.c_str(), "/dataset", false);
    for (std::uint16_t i = 0; i < 5; ++i) {
      ISMRMRD::Waveform waveform(30, 2);
      for (std::size_t at = 0; at < 60; ++at) waveform.data[at] = static_cast<std::uint32_t>(1000 * i + at);
      dataset.appendWaveform(waveform);
    }
  }
  {
    ISMRMRD::Dataset copied(copy(name).c_str(), "/dataset", false);
    ASSERT_EQ(copied.getNumberOfWaveforms(), 5u);
    ISMRMRD::Waveform waveform;
    copied.readWaveform(3, waveform);
    EXPECT_EQ(waveform.data[59], 3059u);
  }
}

TEST_F(CopyIsmrmrd, nothing_changes_where_the_unit_is_stated_or_lines_have_no_trajectory) {
  for (const bool has_trajectory : {true, false}) {
    const auto name = path(has_trajectory ? "spiral" : "lines") + ".mrd";
    std::filesystem::rename(
        write(has_trajectory ? header_of("spiral", in_cycles_per_fov) : header_of("cartesian", ""),
              has_trajectory),
        name);
    const auto copied = copy(name);
    EXPECT_EQ(header(copied), header(name));
    expect_same_readouts(name, copied, true);
    expect_same_scans(name, {}, copied);
  }
}

TEST_F(CopyIsmrmrd, an_inferred_unit_is_stated_and_all_else_stays) {
  const float radians = static_cast<float>(2 * std::numbers::pi / 16);
  const auto name = write(header_of("spiral", ""), true, radians);
  const auto copied = copy(name);
  expect_same_readouts(name, copied, false);
  expect_same_scans(name, {}, copied);
  const auto text = header(copied);
  for (const char* kept :
       {"<systemVendor>GE<", "127766000", "<TE>3.5<", "interleaves", ">spiral<", "cycles/FOV"})
    EXPECT_CONTAINS(text, kept);
  ISMRMRD::Dataset first(name.c_str(), "/dataset", false), second(copied.c_str(), "/dataset", false);
  ISMRMRD::Acquisition x, y;
  first.readAcquisition(3, x);
  second.readAcquisition(3, y);
  EXPECT_FLOAT_EQ(y.traj(0, 5), x.traj(0, 5) / radians);
  EXPECT_EQ(y.traj(2, 5), x.traj(2, 5));  // the weight is no position
}

TEST_F(CopyIsmrmrd, a_unit_of_the_user_is_stated_and_a_matrix_or_fov_makes_readouts_anew) {
  ReadOptions options;
  options.trajectory_unit = TrajectoryUnit::radians_per_voxel;
  const auto name =
      write(header_of("spiral", in_cycles_per_fov), true, static_cast<float>(2 * std::numbers::pi / 16));
  const auto copied = copy(name, options);
  expect_same_readouts(name, copied, false);
  expect_same_scans(name, options, copied);
  EXPECT_CONTAINS(header(copied), "<systemVendor>GE<");

  options.matrix_size = {24, 24, 1};
  options.fov_mm = {200, 180, 0};
  const auto file = open_scan(name, options);
  EXPECT_CONTAINS(convert_scan(*file, name, options, path("copy.mrd"), ScanFormat::ismrmrd).back(),
                  "made anew");
  expect_same_scans(name, options, copied);
}

TEST_F(CopyIsmrmrd, maps_and_times_beside_the_readouts_are_kept) {
  auto scan = random_scan({16, 12, 3}, 3, 20, 4);
  scan.noise = Array<Complex<float>>({3, 7});
  (*scan.noise)[4] = {1, 2};
  write_scan(path("scan.mrd"), ScanFormat::ismrmrd, {1, 1, 20, {scan}});
  const auto read = open_scan(copy(path("scan.mrd")))->read(0, 0);
  EXPECT_EQ(largest_difference(read.sensitivity_maps->values, scan.sensitivity_maps->values), 0);
  EXPECT_EQ(largest_difference(*read.field_map, *scan.field_map), 0);
  EXPECT_EQ(largest_difference(*read.sample_time_s, *scan.sample_time_s), 0);
  EXPECT_EQ(largest_difference(*read.noise, *scan.noise), 0);
}

TEST_F(CopyIsmrmrd, a_measurement_of_another_name_is_copied_zeros_and_calibration_too) {
  const auto name = path("scan.mrd");
  {
    auto scan = random_scan({16, 12, 1}, 2, 20, 8);
    for (std::int64_t m = 0; m < 160; ++m)
      if (m / 20 % 2 == 1) scan.kspace.values[m] = scan.kspace.values[160 + m] = {};
    scan.calibration = Calibration{scan.trajectory, scan.kspace};
    write_scan(name, ScanFormat::ismrmrd, {1, 1, 20, {scan}});
    const auto file = H5Fopen(name.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Lmove(file, "/dataset", file, "/brain", H5P_DEFAULT, H5P_DEFAULT), 0);
    const auto group = H5Gcreate2(file, "/empty", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
    H5Fclose(file);
  }
  EXPECT_EQ(open_scan(name)->read(0, 0).kspace.sample_count(), 80);
  ReadOptions as_stored;
  as_stored.zeros_are_measured = true;
  as_stored.group = "brain";
  const auto expected = open_scan(name, as_stored)->read(0, 0);
  const auto copied = copy(name, as_stored);
  as_stored.group.clear();
  const auto made = open_scan(copied, as_stored)->read(0, 0);
  EXPECT_EQ(largest_difference(made.kspace.values, expected.kspace.values), 0);
  ASSERT_TRUE(made.calibration.has_value());
  EXPECT_EQ(largest_difference(made.calibration->kspace.values, expected.calibration->kspace.values), 0);
}

TEST_F(CopyIsmrmrd, a_damaged_volume_is_not_copied) {
  const auto name = path("scan.mrd");
  {
    ISMRMRD::Dataset dataset(name.c_str(), "/dataset", true);
    dataset.writeHeader(header_of("spiral", in_cycles_per_fov));
    for (std::uint16_t i = 0; i < 4; ++i) {
      ISMRMRD::Acquisition a;
      a.resize(16, 2, 2);
      for (std::uint16_t s = 0; s < 16; ++s) {
        a.traj(0, s) = float(s - 8), a.traj(1, s) = 0;
        a.data(s, 0) = {1, i == 3 ? NAN : 0}, a.data(s, 1) = 1;
      }
      a.idx().slice = i / 2;
      dataset.appendAcquisition(a);
    }
  }
  const auto file = open_scan(name);
  EXPECT_CONTAINS(error_of([&] { convert_scan(*file, name, {}, path("copy.mrd"), ScanFormat::ismrmrd); }),
                  "NaN");
  EXPECT_FALSE(std::filesystem::exists(path("copy.mrd")));
}

}  // namespace
}  // namespace fhd::io

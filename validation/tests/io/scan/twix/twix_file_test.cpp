// Siemens raw data made byte by byte, beside the same readouts as ISMRMRD has them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "io/files/input_file.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/scan/twix/twix_files.hpp"
#include "validation/tests/problems.hpp"

namespace fhd::io {
namespace {

using namespace tests;
using ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT;
constexpr int base = 8, samples = 2 * base, lines = 6, coils = 3;

std::uint64_t bit(int number) { return std::uint64_t{1} << number; }

TwixLine line_of(int line, std::uint64_t mask = 0, int count = samples) {
  TwixLine own;
  own.mask = mask;
  own.counters[0] = static_cast<std::uint16_t>(line);
  own.center_column = static_cast<std::uint16_t>(count / 2), own.center_line = lines / 2;
  for (int coil = 0; coil < coils; ++coil) {
    auto& values = own.values.emplace_back();
    for (int s = 0; s < count; ++s)
      values.emplace_back(static_cast<float>(std::sin(line + 7 * s + coil)),
                          static_cast<float>(std::cos(3 * line + s * coil)));
  }
  return own;
}

/// A case: the file, and how the header by hand differs from that of a plain scan.
struct TwixCase {
  const char* name;
  TwixVersion version;
  std::function<void(TwixMeasurement&, mrd::Header&)> change;
};

mrd::Header plain_header() {
  mrd::Header header;
  header.encoded_matrix = {samples, lines, 1}, header.recon_matrix = {base, lines, 1};
  header.encoded_fov_mm = {320, 120, 5}, header.recon_fov_mm = {160, 120, 5};
  header.trajectory = "cartesian", header.step_1 = mrd::Limit{lines - 1, lines / 2, 0};
  header.echo_times_s = {3e-3}, header.relative_noise_bandwidth = 0.793;
  return header;
}

/// Returns what siemens_to_ismrmrd makes of a line, as far as a scan tells.
mrd::OwnedReadout readout_of(const TwixLine& line) {
  mrd::OwnedReadout readout;
  auto& head = readout.head;
  head.number_of_samples = static_cast<std::uint16_t>(line.values[0].size());
  head.active_channels = static_cast<std::uint16_t>(line.values.size());
  head.center_sample = line.center_column, head.sample_time_us = 5;
  head.discard_pre = line.cut_off[0], head.discard_post = line.cut_off[1];
  auto& idx = head.idx;
  std::uint16_t* const counters[]{&idx.kspace_encode_step_1, &idx.average,  &idx.slice,
                                  &idx.kspace_encode_step_2, &idx.contrast, &idx.phase,
                                  &idx.repetition,           &idx.set,      &idx.segment};
  for (int i = 0; i < 9; ++i) *counters[i] = line.counters[i];
  if (line.mask & bit(22)) head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION);
  if (line.mask & bit(24)) head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
  if (line.mask & bit(25)) {
    head.set_flag(ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
    head.sample_time_us = 480;
  }
  std::copy_n(line.position_mm, 3, head.position);
  for (const auto& channel : line.values)
    for (const auto value : channel)
      readout.values.insert(readout.values.end(), {value.real(), value.imag()});
  return readout;
}

const TwixCase cases[]{
    {"vb", TwixVersion::vb, [](auto&, auto&) {}},
    {"vd", TwixVersion::vd, [](auto&, auto&) {}},
    {"xa", TwixVersion::xa, [](auto&, auto&) {}},
    {"slices", TwixVersion::vd,
     [](auto& scan, auto& header) {
       const auto one = scan.readouts;
       scan.readouts.clear();
       for (const int slice : {1, 0, 2})
         for (auto line : one) {
           line.counters[2] = static_cast<std::uint16_t>(slice),
           line.position_mm[2] = 5.0F * static_cast<float>(slice);
           scan.readouts.push_back(line);
         }
       scan.lines["sSliceArray.lSize"] = "3", header.slice = mrd::Limit{2, 0, 0};
     }},
    {"echoes", TwixVersion::vb,
     [](auto& scan, auto& header) {
       const auto one = scan.readouts;
       for (auto line : one) line.counters[4] = 1, scan.readouts.push_back(line);
       scan.lines["lContrasts"] = "2", scan.lines["alTE[1]"] = "8000",
       scan.lines["sRXSPEC.alDwellTime[1]"] = "5000";
       header.echo_times_s.push_back(8e-3);
     }},
    {"averages", TwixVersion::vd,
     [](auto& scan, auto&) {
       const auto one = scan.readouts;
       for (auto line : one) line.counters[1] = 1, scan.readouts.push_back(line);
     }},
    {"partial_fourier", TwixVersion::vd,
     [](auto& scan, auto& header) {
       scan.readouts.erase(scan.readouts.begin() + 4, scan.readouts.end());
       for (auto& line : scan.readouts) line.center_line = 1;
       header.step_1 = mrd::Limit{3, 1, 0};
     }},
    {"asymmetric_echo", TwixVersion::vd,
     [](auto& scan, auto&) {
       for (auto& line : scan.readouts) {
         for (auto& channel : line.values) channel.resize(12);
         line.center_column = 4, line.cut_off[0] = 1, line.cut_off[1] = 2;
       }
     }},
    {"references_between", TwixVersion::vd,
     [](auto& scan, auto& header) {
       for (const int line : {1, 3, 5}) scan.readouts[static_cast<std::size_t>(line)].mask = bit(22);
       scan.lines["sPat.ucRefScanMode"] = "0x2", scan.lines["sPat.lAccelFactPE"] = "2",
       header.calibration_mode = "embedded";
     }},
    {"references_apart", TwixVersion::vd,
     [](auto& scan, auto& header) {
       for (int line = 0; line < 3; ++line)
         scan.readouts.insert(scan.readouts.begin(), line_of(line, bit(22)));
       scan.lines["sPat.ucRefScanMode"] = "0x4", header.calibration_mode = "separate";
     }},
    {"slab", TwixVersion::vd,
     [](auto& scan, auto& header) {
       const auto one = scan.readouts;
       scan.readouts.clear();
       for (int partition = 0; partition < 4; ++partition)
         for (auto line : one) {
           line.counters[3] = static_cast<std::uint16_t>(partition), line.center_partition = 2;
           scan.readouts.push_back(line);
         }
       scan.lines["sKSpace.ucDimension"] = "0x4", scan.lines["sKSpace.lPartitions"] = "4";
       scan.lines["sKSpace.dSliceOversamplingForDialog"] = "1.0";
       header.encoded_matrix[2] = 4, header.recon_matrix[2] = 2, header.encoded_fov_mm[2] = 10;
       header.step_2 = mrd::Limit{3, 2, 0};
     }},
    {"noise_within", TwixVersion::vd,
     [](auto& scan, auto&) { scan.readouts.insert(scan.readouts.begin(), line_of(9, bit(25))); }}};

std::ostream& operator<<(std::ostream& out, const TwixCase& each) { return out << each.name; }

TwixMeasurement plain_scan() {
  TwixMeasurement scan;
  for (int line = 0; line < lines; ++line) scan.readouts.push_back(line_of(line));
  return scan;
}

class Twix : public ScratchTest {
 protected:
  std::string file(const std::vector<TwixMeasurement>& measurements, TwixVersion version = TwixVersion::vd) {
    write_text(path("meas.dat"), twix_file(measurements, version));
    return path("meas.dat");
  }
};
class TwixBesideIsmrmrd : public Twix, public testing::WithParamInterface<TwixCase> {};

void expect_equal(const Scan& found, const Scan& expected) {
  EXPECT_TRUE(std::ranges::equal(found.kspace.values, expected.kspace.values));
  EXPECT_TRUE(std::ranges::equal(found.trajectory.k, expected.trajectory.k));
  EXPECT_EQ(found.geometry.matrix_size, expected.geometry.matrix_size);
  EXPECT_EQ(found.geometry.fov_mm, expected.geometry.fov_mm);
  EXPECT_EQ(found.geometry.position_mm, expected.geometry.position_mm);
  EXPECT_EQ(found.cropped_matrix_size, expected.cropped_matrix_size);
  ASSERT_EQ(found.noise.has_value(), expected.noise.has_value());
  if (found.noise) {
    EXPECT_LT(relative_error(*found.noise, *expected.noise), 1e-6);
  }
  ASSERT_EQ(found.calibration.has_value(), expected.calibration.has_value());
  if (found.calibration) {
    EXPECT_TRUE(std::ranges::equal(found.calibration->kspace.values, expected.calibration->kspace.values));
    EXPECT_TRUE(std::ranges::equal(found.calibration->trajectory.k, expected.calibration->trajectory.k));
  }
}

TEST_P(TwixBesideIsmrmrd, is_the_same_scan) {
  auto scan = plain_scan();
  auto header = plain_header();
  GetParam().change(scan, header);
  std::vector<mrd::SharedReadout> readouts;
  for (const auto& line : scan.readouts)
    readouts.push_back(std::make_shared<const mrd::OwnedReadout>(readout_of(line)));
  TwixLine synchronous;
  synchronous.mask = bit(5);
  scan.readouts.insert(scan.readouts.begin() + 1, synchronous);
  const auto twix = open_scan(file({scan}, GetParam().version));
  const mrd::ReadoutScan expected(header, {}, {"hand", "header", "readouts"}, readouts);
  ASSERT_EQ(twix->summary().slice_count, expected.summary().slice_count);
  ASSERT_EQ(twix->summary().repetition_count, expected.summary().repetition_count);
  EXPECT_EQ(twix->summary().echo_times_s, expected.summary().echo_times_s);
  for (std::int64_t repetition = 0; repetition < expected.summary().repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < expected.summary().slice_count; ++slice)
      expect_equal(twix->read(slice, repetition), expected.read(slice, repetition));
}
INSTANTIATE_TEST_SUITE_P(All, TwixBesideIsmrmrd, testing::ValuesIn(cases),
                         [](const auto& each) { return each.param.name; });

TEST_F(Twix, image_lies_against_the_columns_of_the_quaternion) {
  auto scan = plain_scan();
  const double half = 0.35;  // a rotation about (1, 2, 2) / 3
  for (auto& line : scan.readouts)
    for (int i = 0; i < 4; ++i)
      line.quaternion[i] =
          static_cast<float>(i == 0 ? std::cos(half) : std::sin(half) * (i == 1 ? 1 : 2) / 3);
  const auto geometry = open_scan(file({scan}))->summary().geometry;
  const double c = std::cos(2 * half), s = std::sin(2 * half), n[]{1.0 / 3, 2.0 / 3, 2.0 / 3};
  const auto rotated = [&](int axis, int row) {  // Rodrigues
    const double cross[3][3]{{0, -n[2], n[1]}, {n[2], 0, -n[0]}, {-n[1], n[0], 0}};
    return (row == axis ? c : 0) + s * cross[row][axis] + (1 - c) * n[row] * n[axis];
  };
  for (auto& line : scan.readouts) line.quaternion[0] = 0, std::fill_n(line.quaternion + 1, 3, 0.0F);
  EXPECT_FALSE(open_scan(file({scan}))->summary().states_directions) << "no quaternion";
  for (int row = 0; row < 3; ++row) {
    EXPECT_NEAR(geometry.phase_direction[row], -rotated(0, row), 1e-6);
    EXPECT_NEAR(geometry.read_direction[row], -rotated(1, row), 1e-6);
    EXPECT_NEAR(geometry.slice_direction[row], rotated(2, row), 1e-6);
  }
}

TEST_F(Twix, noise_of_a_measurement_before_serves_in_the_order_of_the_image_s_channels) {
  TwixMeasurement adjustment;
  adjustment.name = "AdjCoilSens";
  auto noise = line_of(9, bit(25));
  noise.channels = {4, 2, 6};
  adjustment.readouts = {noise};
  auto scan = plain_scan();
  for (auto& line : scan.readouts) line.channels = {2, 4, 6};
  const auto path = file({adjustment, scan});
  const auto found = open_scan(path)->read(0, 0).noise;
  ASSERT_TRUE(found.has_value());
  const float scale = std::sqrt(1 / 0.793F);  // 5 us both
  for (const auto& [own, other] : {std::pair{0, 1}, {1, 0}, {2, 2}})
    EXPECT_NEAR((*found)[own * samples + 3].re,
                scale * noise.values[static_cast<std::size_t>(other)][3].real(), 1e-6);
  ReadOptions options;
  options.group = "1";
  EXPECT_THROW(open_scan(path, options), Error) << "holds no image";
  options.group = "scan";
  EXPECT_NO_THROW(open_scan(path, options));
  options.group = "3";
  EXPECT_THROW(open_scan(path, options), Error);
}

TEST_F(Twix, refuses_what_would_be_a_wrong_image) {
  const auto found_in = [&](const char* name, const char* value) -> std::string {
    auto scan = plain_scan();
    scan.lines[name] = value;
    try {
      open_scan(file({scan}));
    } catch (const Error& error) {
      return error.parts().found;
    }
    return "nothing to refuse";
  };
  EXPECT_EQ(found_in("sKSpace.ucTrajectory", "0x4"), "spiral readouts");
  EXPECT_EQ(found_in("sSliceAcceleration.lMultiBandFactor", "2"), "2 slices excited together");
  auto scan = plain_scan();
  for (auto& line : scan.readouts) line.counters[0] = 0;
  EXPECT_THROW(open_scan(file({scan})), Error) << "no line is counted";
}

TEST_F(Twix, a_stopped_measurement_is_used_and_a_cut_file_refused) {
  auto scan = plain_scan();
  scan.has_end = false;
  EXPECT_EQ(open_scan(file({scan}))->summary().missing.size(), 1U);
  for (const auto version : {TwixVersion::vb, TwixVersion::vd}) {
    const auto whole = twix_file({plain_scan()}, version);
    const auto last_block = version == TwixVersion::vb ? 288U : 352U;
    for (std::size_t length = 0; length + last_block + 512 < whole.size(); length += 61) {
      write_text(path("cut.dat"), whole.substr(0, length));
      EXPECT_THROW(open_scan(path("cut.dat"))->read(0, 0), Error) << length;
    }
  }
}

TEST(TwixScans, of_a_scanner_are_read) {
  const std::string folder = FHD_SCANS "/siemens_twix/";
  if (!is_twix(folder + "gre.dat")) GTEST_SKIP() << "no " << folder;
  const auto gre = open_scan(folder + "gre.dat"), epi = open_scan(folder + "epi.dat");
  EXPECT_EQ(gre->summary().geometry.matrix_size, (std::array{320, 160, 1}));
  EXPECT_EQ(epi->summary().geometry.matrix_size, (std::array{160, 80, 1}));
  EXPECT_EQ(gre->summary().echo_times_s, std::vector{3e-3});
  EXPECT_NEAR(gre->summary().acquisition.field_strength_t, 2.89362, 1e-5);
  EXPECT_EQ(epi->read(0, 0).kspace.values.shape(), (Shape{2, 12800}));
}

}  // namespace
}  // namespace fhd::io

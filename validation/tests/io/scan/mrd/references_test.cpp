// References of a measurement: samples of the image, or a calibration of their own.
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/scan/mrd/readouts.hpp"

namespace fhd::io::mrd {
namespace {

TEST(VolumeAssembler, embedded_calibration_is_of_the_image) {
  for (const std::string mode : {"embedded", "interleaved", ""}) {
    auto header = cartesian_header();
    header.calibration_mode = mode;
    Stream stream(header);
    // Scanners flag lines of the lattice inside the reference with both flags.
    for (const int step : {0, 2}) stream.deliver(cartesian(step, step));
    stream.deliver(cartesian(3, 3, {only}));
    stream.deliver(cartesian(4, 4, {only, also}));
    stream.deliver(cartesian(5, 5, {only}));
    stream.deliver(cartesian(6, 6));
    const auto scan = scan_of(stream);
    EXPECT_FALSE(scan.calibration.has_value());
    ASSERT_EQ(scan.kspace.sample_count(), 6 * samples) << mode;
    const int expected[]{0, 2, 3, 4, 5, 6};  // in the order of the file
    for (int i = 0; i < 6; ++i) EXPECT_EQ(scan.kspace.values[i * samples].re, expected[i]);
    EXPECT_EQ(scan.trajectory.k[6 * samples + 2 * samples], -1);
    EXPECT_TRUE(says(stream.assembler.summary().inferred, "2 calibration readouts are samples of the image"));
  }
}

TEST(VolumeAssembler, a_repetition_without_reference_takes_that_of_the_first) {
  Stream stream(cartesian_header());
  for (int repetition = 0; repetition < 2; ++repetition)
    for (const int step : {0, 2, 4, 6}) {
      auto readout = cartesian(step, step, {});
      if (step == 4 && repetition == 0) readout.head.set_flag(also);
      readout.head.idx.repetition = static_cast<std::uint16_t>(repetition);
      stream.deliver(readout);
    }
  for (const int step : {3, 5}) stream.deliver(cartesian(step, step, {only}));
  const auto first = scan_of(stream);
  EXPECT_EQ(first.kspace.sample_count(), 6 * samples);
  EXPECT_FALSE(first.calibration.has_value());
  const auto second = stream.assembler.volume(0, 1, stream.source());
  EXPECT_EQ(second.kspace.sample_count(), 4 * samples);
  ASSERT_TRUE(second.calibration.has_value());
  EXPECT_EQ(second.calibration->kspace.sample_count(), 3 * samples);  // with the line of both purposes
}

TEST(VolumeAssembler, separate_calibration_is_for_the_maps_alone) {
  enum class Form { stated, repeats_lines, shorter, other_contrast };
  for (const auto form : {Form::stated, Form::repeats_lines, Form::shorter, Form::other_contrast}) {
    auto header = cartesian_header();
    if (form == Form::stated) header.calibration_mode = "separate";
    Stream stream(header);
    for (const int step : {0, 2, 4, 6}) stream.deliver(cartesian(step, step));
    for (const int step : {3, 4, 5}) {
      if (step == 4 && form != Form::repeats_lines) continue;
      auto readout = cartesian(10 + step, step, {only});
      if (form == Form::shorter) readout.head.discard_post = 2;
      if (form == Form::other_contrast) readout.head.idx.set = 1;
      stream.deliver(readout);
    }
    const auto scan = scan_of(stream);
    EXPECT_EQ(scan.kspace.sample_count(), 4 * samples);
    EXPECT_EQ(stream.assembler.summary().repetition_count, 1);
    ASSERT_TRUE(scan.calibration.has_value()) << static_cast<int>(form);
    EXPECT_EQ(scan.calibration->kspace.values[0].re, 13);
    EXPECT_EQ(scan.calibration->trajectory.k[scan.calibration->kspace.sample_count()], -1);
    EXPECT_TRUE(says(stream.assembler.summary().inferred, "separate"));
  }
}

TEST(VolumeAssembler, calibration_of_its_own_encoding_space_comes_in_cycles_per_fov_of_the_image) {
  auto header = cartesian_header();
  EncodingHeader reference;
  reference.encoded_matrix = {4, 4, 1};
  reference.encoded_fov_mm = {100, 160, 5};
  reference.trajectory = "cartesian";
  reference.step_1 = Limit{3, 2};
  header.others = {reference};
  Stream stream(header);
  for (const int step : {0, 2, 4, 6}) stream.deliver(cartesian(step, step));
  for (int step = 0; step < 4; ++step) {
    auto readout = cartesian(10 + step, step, {only});
    readout.head.encoding_space_ref = 1;
    readout.head.discard_post = 4;
    readout.head.center_sample = 2;
    stream.deliver(readout);
  }
  auto far = cartesian(20, 0, {only});
  far.head.encoding_space_ref = 2;  // which the header does not describe
  stream.deliver(far);
  const auto scan = scan_of(stream);
  ASSERT_TRUE(scan.calibration.has_value());
  const auto& [trajectory, kspace, matrix_size, fov_mm] = *scan.calibration;
  ASSERT_EQ(kspace.sample_count(), 16);
  EXPECT_EQ(matrix_size, (std::array{4, 4, 1}));
  EXPECT_EQ(fov_mm[1], 160);
  for (int s = 0; s < 4; ++s) EXPECT_DOUBLE_EQ(trajectory.k[s], (s - 2) * 80.0 / 100);
  for (int line = 0; line < 4; ++line) EXPECT_DOUBLE_EQ(trajectory.k[16 + 4 * line], (line - 2) * 80.0 / 160);
  EXPECT_TRUE(
      says(stream.assembler.summary().inferred, "4 separate readouts of 4 samples, encoded with 4 x 4 x 1"));

  // Measured elsewhere, it says nothing about the image.
  Stream moved(header);
  for (const int step : {0, 2, 4, 6}) moved.deliver(cartesian(step, step));
  auto readout = cartesian(10, 2, {only});
  readout.head.encoding_space_ref = 1;
  readout.head.position[0] = 5;
  moved.deliver(readout);
  EXPECT_FALSE(scan_of(moved).calibration.has_value());
  EXPECT_TRUE(says(moved.assembler.summary().missing, "5 mm off"));
}

TEST(VolumeAssembler, calibration_has_one_kind_of_trajectory) {
  for (const bool without_comes_last : {true, false}) {
    auto header = cartesian_header();
    header.calibration_mode = "separate";
    Stream stream(header);
    for (const int step : {0, 2, 4, 6}) stream.deliver(cartesian(step, step));
    if (!without_comes_last) stream.deliver(cartesian(3, 3, {only}));
    for (const int line : {-1, 0, 1}) {
      auto readout = line_readout(10 + line, line);
      readout.head.set_flag(only);
      stream.deliver(readout);
    }
    if (without_comes_last) stream.deliver(cartesian(3, 3, {only}));
    const auto scan = scan_of(stream);
    ASSERT_TRUE(scan.calibration.has_value());
    const auto count = scan.calibration->kspace.sample_count();
    ASSERT_EQ(count, without_comes_last ? 3 * samples : samples);
    EXPECT_EQ(scan.calibration->trajectory.k[0], -samples / 2);
    EXPECT_EQ(scan.calibration->trajectory.k[count], -1);
  }
}

// --- The centre of k-space

}  // namespace
}  // namespace fhd::io::mrd

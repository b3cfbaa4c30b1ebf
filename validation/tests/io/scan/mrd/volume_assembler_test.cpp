// Readouts made by hand, without a file: the rules hold for whoever delivers them.
#include "io/scan/mrd/volume_assembler.hpp"

#include <algorithm>
#include <array>
#include <numbers>

#include "io/scan/scan_parts.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::mrd {
namespace {

constexpr int samples = 8, coils = 2;

/// A line of k-space along x at ky = `line`, values (number, sample + 100 coil).
OwnedReadout line_readout(int number, int line) {
  OwnedReadout readout;
  readout.head.number_of_samples = samples;
  readout.head.active_channels = coils;
  readout.head.trajectory_dimensions = 2;
  readout.head.sample_time_us = 2;
  for (int s = 0; s < samples; ++s)
    readout.trajectory.insert(readout.trajectory.end(),
                              {static_cast<float>(s - samples / 2), static_cast<float>(line)});
  for (int coil = 0; coil < coils; ++coil)
    for (int s = 0; s < samples; ++s)
      readout.values.insert(readout.values.end(),
                            {static_cast<float>(number), static_cast<float>(s + 100 * coil)});
  return readout;
}

Header header_8x8() {
  Header header;
  header.encoded_matrix = {8, 8, 1};
  header.encoded_fov_mm = {80, 80, 5};
  header.trajectory = "other";
  header.trajectory_unit = "cycles/FOV";
  return header;
}

/// A stream: readouts kept in memory.
class Stream {
 public:
  explicit Stream(Header header = header_8x8())
      : assembler(std::move(header), {}, {"stream", "stream header", "readout"}) {}
  void deliver(const OwnedReadout& readout) {
    readouts_.push_back(readout);
    assembler.add(readout.view());
  }
  Source source() {
    return [this](std::int64_t number) { return readouts_.at(static_cast<std::size_t>(number)).view(); };
  }
  VolumeAssembler assembler;

 private:
  std::vector<OwnedReadout> readouts_;
};

TEST(VolumeAssembler, makes_volumes_of_readouts_in_any_order) {
  Stream stream;
  for (int i = 0; i < 8; ++i) {
    auto readout = line_readout(i, i / 2 - 2);
    readout.head.idx.slice = static_cast<std::uint16_t>(i % 2 == 0 ? 5 : 3);
    readout.head.position[2] = i % 2 == 0 ? 10.0F : 0.0F;
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  const auto& summary = stream.assembler.summary();
  EXPECT_EQ(summary.slice_count, 2);
  EXPECT_EQ(summary.repetition_count, 1);
  EXPECT_EQ(summary.samples_per_scan, 4 * samples);
  EXPECT_EQ(summary.readout_length, samples);
  EXPECT_TRUE(summary.cartesian);
  EXPECT_TRUE(summary.has_sample_time);
  const auto scan = stream.assembler.volume(1, 0, stream.source());
  EXPECT_NO_THROW(scan.validate("stream"));
  EXPECT_EQ(scan.geometry.position_mm[2], 10);
  EXPECT_EQ(scan.trajectory.k[4 * samples + samples], -1);  // ky of the second line
  EXPECT_EQ(scan.kspace.values[4 * samples + samples + 3], (Complex<float>{2, 103}));
  EXPECT_DOUBLE_EQ((*scan.sample_time_s)[3], static_cast<double>(3) * 2.0F * 1e-6);
  EXPECT_FALSE(scan.noise.has_value());
}

void point(OwnedReadout& readout, std::array<float, 3> read, std::array<float, 3> phase,
           std::array<float, 3> slice) {
  std::ranges::copy(read, readout.head.read_dir);
  std::ranges::copy(phase, readout.head.phase_dir);
  std::ranges::copy(slice, readout.head.slice_dir);
}

TEST(VolumeAssembler, orders_slices_by_stack_and_place_and_gives_each_its_directions) {
  Stream stream;
  const float places[]{6, 0, 3};
  for (int slice = 0; slice < 4; ++slice) {
    auto readout = line_readout(slice, 0);
    readout.head.idx.slice = static_cast<std::uint16_t>(slice);
    if (slice < 3) {
      point(readout, {1, 0, 0}, {0, 1, 0}, {0, 0, 1});
      readout.head.position[2] = places[slice];
    } else {
      point(readout, {0, 1, 0}, {0, 0, -1}, {-1, 0, 0});
    }
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  const auto& summary = stream.assembler.summary();
  EXPECT_EQ(summary.slice_counters, (std::vector{1, 2, 0, 3}));
  ASSERT_EQ(summary.slice_geometries.size(), 4U);
  for (int slice = 0; slice < 4; ++slice) {
    const auto scan = stream.assembler.volume(slice, 0, stream.source());
    const auto& stated = summary.slice_geometries[static_cast<std::size_t>(slice)];
    EXPECT_EQ(scan.kspace.values[0].re,
              static_cast<float>(summary.slice_counters[static_cast<std::size_t>(slice)]));
    EXPECT_EQ(scan.geometry.position_mm, stated.position_mm);
    EXPECT_EQ(scan.geometry.read_direction, stated.read_direction);
    EXPECT_EQ(scan.geometry.position_mm[2], slice < 3 ? 3 * slice : 0);
    EXPECT_EQ(scan.geometry.slice_direction,
              (slice < 3 ? std::array<double, 3>{0, 0, 1} : std::array<double, 3>{-1, 0, 0}));
  }
}

TEST(VolumeAssembler, turns_trajectories_out_of_the_axes_of_the_magnet) {
  Stream stream;
  for (int line = 0; line < 8; ++line) {
    auto readout = line_readout(line, line - 4);
    const auto k = readout.trajectory;
    readout.head.trajectory_dimensions = 3;
    readout.trajectory.clear();
    point(readout, {0, 0.6F, 0.8F}, {1, 0, 0}, {0, 0.8F, -0.6F});
    for (std::size_t s = 0; s < samples; ++s)
      readout.trajectory.insert(readout.trajectory.end(), {k[2 * s + 1], 0.6F * k[2 * s], 0.8F * k[2 * s]});
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  EXPECT_TRUE(stream.assembler.positions().in_magnet);
  EXPECT_TRUE(stream.assembler.summary().cartesian);
  const auto scan = stream.assembler.volume(0, 0, stream.source());
  for (int line = 0; line < 8; ++line)
    for (int s = 0; s < samples; ++s) {
      const auto m = line * samples + s;
      EXPECT_NEAR(scan.trajectory.k[m], s - samples / 2, 1e-6);  // single precision
      EXPECT_NEAR(scan.trajectory.k[8 * samples + m], line - 4, 1e-6);
      EXPECT_EQ(scan.trajectory.k[2 * 8 * samples + m], 0);
    }
}

TEST(VolumeAssembler, takes_noise_and_leaves_out_what_is_not_of_the_image) {
  Stream stream;
  auto noise = line_readout(7, 0);
  noise.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
  noise.head.discard_pre = 3;
  stream.deliver(noise);
  auto navigator = line_readout(0, 0);
  navigator.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA);
  navigator.trajectory.assign(2, 1e9F);  // its sizes are not looked at
  stream.deliver(navigator);
  auto other_space = line_readout(0, 0);
  other_space.head.encoding_space_ref = 1;
  stream.deliver(other_space);
  auto image = line_readout(3, 1);
  image.head.discard_pre = 1;
  image.head.discard_post = 2;
  stream.deliver(image);
  stream.assembler.finish(stream.source(), stream.source());
  const auto scan = stream.assembler.volume(0, 0, stream.source());
  EXPECT_EQ(scan.kspace.sample_count(), samples - 3);
  EXPECT_EQ(scan.kspace.values[0], (Complex<float>{3, 1}));
  EXPECT_DOUBLE_EQ((*scan.sample_time_s)[0], 2.0F * 1e-6)
      << "from the start of the readout, the first is discarded";
  const auto& found = scan.noise;
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->shape(), (Shape{coils, samples - 3}));
  EXPECT_EQ((*found)[samples - 3], (Complex<float>{7, 103}));
}

TEST(VolumeAssembler, takes_readouts_flagged_as_surface_coil_correction_where_there_are_no_others) {
  for (const bool with_others : {false, true}) {
    Stream stream;
    for (int i = 0; i < 4; ++i) {
      auto readout = line_readout(i, i);
      if (!with_others || i == 0)
        readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA);
      stream.deliver(readout);
    }
    stream.assembler.finish(stream.source(), stream.source());
    const auto& summary = stream.assembler.summary();
    EXPECT_EQ(summary.samples_per_scan, (with_others ? 3 : 4) * samples);
    EXPECT_EQ(says(summary.inferred, "because no others are"), !with_others);
  }
}

TEST(VolumeAssembler, places_cartesian_readouts_by_their_encoding_steps_and_direction) {
  auto header = header_8x8();
  header.trajectory = "epi";
  header.encoded_matrix = {8, 8, 4};
  header.step_1 = Limit{7, 3};
  Stream stream(header);
  for (int i = 0; i < 2; ++i) {
    auto readout = line_readout(i, 0);
    readout.trajectory.clear();
    readout.head.trajectory_dimensions = 0;
    readout.head.center_sample = 4;
    readout.head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(i);
    readout.head.idx.kspace_encode_step_2 = 3;
    if (i == 1) readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  const auto& k = stream.assembler.volume(0, 0, stream.source()).trajectory.k;
  EXPECT_EQ(k[0], -4);
  EXPECT_EQ(k[samples], 3);  // the reversed line starts at its end
  EXPECT_EQ(k[2 * samples], -3);
  EXPECT_EQ(k[3 * samples], -2);
  EXPECT_EQ(k[4 * samples], 1);  // the middle of 4 steps is 2
}

TEST(VolumeAssembler, leaves_out_a_volume_in_which_the_scan_was_stopped_and_zeros_one_that_is_missing) {
  Stream stream;
  for (int i = 0; i < 3 * 6 + 1; ++i) {
    if (i / 6 == 1 && i % 2 == 1) continue;  // slice 1 of repetition 1
    auto readout = line_readout(i, i % 6 / 2);
    readout.head.idx.repetition = static_cast<std::uint16_t>(i / 6);
    readout.head.idx.slice = static_cast<std::uint16_t>(i % 2);
    readout.head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(i % 6 / 2);
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  const auto& summary = stream.assembler.summary();
  EXPECT_EQ(summary.repetition_count, 3) << "one readout of the fourth";
  ASSERT_EQ(summary.missing.size(), 2U);
  const auto there = stream.assembler.volume(1, 2, stream.source()),
             missing = stream.assembler.volume(1, 1, stream.source());
  EXPECT_EQ(missing.kspace.values.shape(), there.kspace.values.shape());
  EXPECT_TRUE(std::ranges::all_of(missing.kspace.values, [](auto d) { return d.re == 0 && d.im == 0; }));
  ASSERT_EQ(missing.messages.size(), 1U);
  EXPECT_EQ(missing.messages[0].code, missing_volume);
  EXPECT_TRUE(there.messages.empty());
  EXPECT_THROW(stream.assembler.volume(1, 3, stream.source()), Error);
}

TEST(VolumeAssembler, knows_a_ghost_from_echoes_that_are_read_back_and_forth) {
  for (const bool is_bipolar : {false, true}) {
    Stream stream;
    for (int i = 0; i < 8; ++i) {
      auto readout = line_readout(i, i % 4);
      readout.head.idx.contrast = static_cast<std::uint16_t>(i / 4);
      if ((is_bipolar ? i / 4 : i % 2) == 1) readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
      stream.deliver(readout);
    }
    stream.assembler.finish(stream.source(), stream.source());
    EXPECT_EQ(stream.assembler.summary().missing.empty(), is_bipolar);
  }
}

TEST(VolumeAssembler, each_combination_of_counters_is_a_repetition_in_order) {
  Stream stream;
  for (int i = 0; i < 4; ++i) {
    auto readout = line_readout(i, i);
    readout.head.idx.repetition = static_cast<std::uint16_t>(i % 2);
    readout.head.idx.contrast = static_cast<std::uint16_t>(4 * (i / 2));
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  EXPECT_EQ(stream.assembler.summary().repetition_count, 4);
  const int expected[]{0, 2, 1, 3};  // repetition first, then contrast
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(stream.assembler.volume(0, i, stream.source()).kspace.values[0].re, expected[i]) << i;
  const std::vector<RepetitionCounters> counters{{0, 0, 0, 0}, {0, 4, 0, 0}, {1, 0, 0, 0}, {1, 4, 0, 0}};
  EXPECT_EQ(stream.assembler.summary().repetition_counters, counters);
  EXPECT_EQ(stream.assembler.summary().slice_counters, std::vector<int>{0});
  EXPECT_EQ(stream.assembler.summary().repetition_time_s, 0);
}

TEST(VolumeAssembler, evenly_stamped_repetitions_of_siemens_tell_their_time) {
  auto header = header_8x8();
  header.acquisition.vendor = "SIEMENS";
  for (const bool with_contrasts : {false, true}) {
    Stream stream(header);
    for (int i = 0; i < 8; ++i) {
      auto readout = line_readout(i, i % 2);
      readout.head.idx.repetition = static_cast<std::uint16_t>(i / 2);
      readout.head.idx.contrast = with_contrasts && i / 2 == 3 ? 1 : 0;
      readout.head.acquisition_time_stamp = static_cast<std::uint32_t>(1000 + 160 * i);
      stream.deliver(readout);
    }
    stream.assembler.finish(stream.source(), stream.source());
    EXPECT_DOUBLE_EQ(stream.assembler.summary().repetition_time_s, with_contrasts ? 0 : 2 * 160 * 2.5e-3);
  }
}

TEST(VolumeAssembler, takes_tr_for_the_time_of_a_readout_unless_slices_take_turns) {
  auto header = header_8x8();
  header.acquisition.excitation_time_s = 0.004;
  for (const int slices : {1, 2}) {
    Stream stream(header);
    for (int i = 0; i < 4; ++i) {
      auto readout = line_readout(i, i);
      readout.head.idx.slice = static_cast<std::uint16_t>(i % slices);
      stream.deliver(readout);
    }
    stream.assembler.finish(stream.source(), stream.source());
    EXPECT_EQ(stream.assembler.summary().readout_time_s, slices == 1 ? 0.004 : 0) << slices;
  }
}

TEST(RepetitionTime, is_claimed_only_where_it_is_known) {
  auto siemens = header_8x8(), other = siemens;
  siemens.acquisition.vendor = "Siemens Healthineers";
  EXPECT_DOUBLE_EQ(repetition_time(siemens, {100, 500, 899, 1300}, 64).first, 1.0) << "even, to a tick";
  EXPECT_EQ(repetition_time(siemens, {100, 500, 1300}, 64).first, 0) << "uneven";
  EXPECT_EQ(repetition_time(siemens, {0, 0, 0}, 64).first, 0) << "no stamps";
  EXPECT_EQ(repetition_time(siemens, {4294967290, 100}, 64).first, 0) << "midnight";
  EXPECT_EQ(repetition_time(siemens, {}, 64).first, 0);
  EXPECT_EQ(repetition_time(other, {100, 500, 900}, 64).first, 0) << "ticks of unknown length";
  other.acquisition.excitation_time_s = 0.7;
  EXPECT_EQ(repetition_time(other, {0, 0}, 64).first, 0) << "of how many excitations is an image?";
  EXPECT_DOUBLE_EQ(repetition_time(other, {0, 0}, 1).first, 0.7);
  const auto tr_of = [](const std::string& tr) {
    return parse_header("<ismrmrdHeader><encoding/><sequenceParameters>" + tr +
                            "</sequenceParameters></ismrmrdHeader>",
                        "header")
        .acquisition.excitation_time_s;
  };
  EXPECT_DOUBLE_EQ(tr_of("<TR>700</TR>"), 0.7);
  for (const char* unusable : {"", "<TR>700</TR><TR>800</TR>", "<TR>nan</TR>", "<TR>-3</TR>", "<TR>inf</TR>",
                               "<TR>fast</TR>", "<TR>1e300</TR>", "<TR/>"})
    EXPECT_EQ(tr_of(unusable), 0) << unusable;
}

TEST(VolumeAssembler,
     a_readout_that_became_longer_since_it_was_seen_is_an_error_and_not_written_behind_an_array) {
  Stream stream;
  for (int i = 0; i < 8; ++i) stream.deliver(line_readout(i, i - 4));
  stream.assembler.finish(stream.source(), stream.source());
  auto longer = line_readout(3, -1);
  longer.head.number_of_samples = 2 * samples;
  longer.trajectory.resize(2 * longer.trajectory.size());
  longer.values.resize(2 * longer.values.size());
  const auto changed = [&](std::int64_t number) {
    return number == 3 ? longer.view() : stream.source()(number);
  };
  EXPECT_REFUSED(stream.assembler.volume(0, 0, changed),
                 "readout[3].traj: expected 16 numbers, as its head says, found 32");
}

TEST(VolumeAssembler, names_the_readout_that_contradicts_its_head_or_the_others) {
  Stream stream;
  stream.deliver(line_readout(0, 0));
  auto short_trajectory = line_readout(1, 1);
  short_trajectory.trajectory.pop_back();
  EXPECT_REFUSED(stream.deliver(short_trajectory), "readout[1].traj: expected 16 numbers");
  auto no_samples = line_readout(2, 1);
  no_samples.head.discard_pre = samples;
  EXPECT_REFUSED(stream.deliver(no_samples), "readout[2]: expected more samples");
  auto short_values = line_readout(3, 1);
  short_values.values.pop_back();
  stream.deliver(short_values);
  stream.assembler.finish(stream.source(), stream.source());
  EXPECT_REFUSED(stream.assembler.volume(0, 0, stream.source()), "readout[3].data: expected 32 numbers");

  Stream disagreeing, mixed;
  disagreeing.deliver(line_readout(0, 0));
  mixed.deliver(line_readout(0, 0));
  auto one_coil = line_readout(1, 1), no_trajectory = one_coil;
  one_coil.head.active_channels = 1;
  disagreeing.deliver(one_coil);
  no_trajectory.head.trajectory_dimensions = 0;
  no_trajectory.trajectory.clear();
  mixed.deliver(no_trajectory);
  EXPECT_REFUSED(mixed.assembler.finish(mixed.source(), mixed.source()),
                 "2 trajectory dimensions as in the first");
  EXPECT_REFUSED(disagreeing.assembler.finish(disagreeing.source(), disagreeing.source()),
                 "readout[1]: expected 2 channels");
  Stream nothing;
  EXPECT_REFUSED(nothing.assembler.finish(nothing.source(), nothing.source()), "0 readouts, all flagged");
}

// --- Calibration

/// Readout `number` of a Cartesian scan at encoding step `step`.
OwnedReadout cartesian(int number, int step, std::initializer_list<int> flags = {}) {
  auto readout = line_readout(number, 0);
  readout.trajectory.clear();
  readout.head.trajectory_dimensions = 0;
  readout.head.center_sample = samples / 2;
  readout.head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(step);
  for (const int flag : flags) readout.head.set_flag(flag);
  return readout;
}
Header cartesian_header() {
  auto header = header_8x8();
  header.trajectory = "cartesian";
  header.step_1 = Limit{7, 4};
  return header;
}
constexpr int only = ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION,
              also = ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING;

Scan scan_of(Stream& stream, std::int64_t repetition = 0) {
  stream.assembler.finish(stream.source(), stream.source());
  auto scan = stream.assembler.volume(0, repetition, stream.source());
  scan.validate("stream");
  return scan;
}
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

TEST(VolumeAssembler, asymmetric_echoes_and_partial_fourier_keep_their_centre) {
  auto header = cartesian_header();
  header.encoded_matrix = {16, 16, 1};
  header.step_1 = Limit{10, 8};  // the last 5 of 16 steps were not measured
  Stream stream(header);
  for (int step = 0; step <= 10; ++step) {
    auto readout = cartesian(step, step);
    readout.head.center_sample = 2;  // of 8 samples: the first 6 of 16 were not measured, nor the last 2
    stream.deliver(readout);
  }
  const auto scan = scan_of(stream);
  const auto count = scan.kspace.sample_count();
  ASSERT_EQ(count, 11 * samples);
  EXPECT_EQ(scan.trajectory.k[0], -2);
  EXPECT_EQ(scan.trajectory.k[samples - 1], 5);
  EXPECT_EQ(scan.trajectory.k[count], -8);
  EXPECT_EQ(scan.trajectory.k[count + count - 1], 2);
  EXPECT_FALSE(says(stream.assembler.summary().inferred, "centre of k-space"));
}

TEST(VolumeAssembler, a_stack_has_its_centre_inferred_with_and_without_density_weights) {
  for (const bool weights : {true, false}) {
    auto header = header_8x8();
    header.encoded_matrix = {8, 8, 4};
    header.step_2 = Limit{3, 0};
    Stream stream(header);
    for (int partition = 0; partition < 4; ++partition)
      for (int line = -4; line < 4; ++line) {
        auto readout = line_readout(line, line);
        readout.head.idx.kspace_encode_step_2 = static_cast<std::uint16_t>(partition);
        if (weights) {
          readout.head.trajectory_dimensions = 3;
          readout.trajectory.clear();
          for (int s = 0; s < samples; ++s)
            readout.trajectory.insert(readout.trajectory.end(), {float(s - samples / 2), float(line),
                                                                 std::abs(float(s - samples / 2)) / 8});
        }
        stream.deliver(readout);
      }
    const auto scan = scan_of(stream);
    const auto count = scan.kspace.sample_count();
    EXPECT_EQ(scan.trajectory.k[2 * count], -2) << weights;
    EXPECT_EQ(scan.trajectory.k[3 * count - 1], 1);
    EXPECT_TRUE(says(stream.assembler.summary().inferred, "taken to be step 2 of 4"));
  }
}

TEST(VolumeAssembler, a_centre_left_at_zero_is_inferred_or_refused) {
  const auto first_ky = [](Limit limit, std::initializer_list<int> steps) {
    auto header = cartesian_header();
    header.encoded_matrix = {8, 16, 1};
    header.step_1 = limit;
    Stream stream(header);
    for (const int step : steps) stream.deliver(cartesian(step, step));
    const auto scan = scan_of(stream);
    return scan.trajectory.k[scan.kspace.sample_count()];
  };
  EXPECT_EQ(first_ky({15, 0}, {0, 5, 15}), -8);
  EXPECT_EQ(first_ky({0, 0}, {0, 14}), -8) << "the limits are left out too";
  EXPECT_EQ(first_ky({15, 0}, {6, 15}), -2) << "partial Fourier of a known matrix";
  EXPECT_EQ(first_ky({11, 4}, {0, 11}), -4) << "partial Fourier with its centre stated";
  EXPECT_EQ(first_ky({0, 0}, {0}), 0);
  EXPECT_EQ(first_ky({5, 0}, {0, 5}), 0) << "at its word, while it fits";
  const auto text = error_of([&] { first_ky({11, 0}, {0, 11}); });
  EXPECT_CONTAINS(text, "encodingLimits.kspace_encoding_step_1.center");
  EXPECT_CONTAINS(text, "steps to 11 of 16");
  EXPECT_CONTAINS(text, "8 for a matrix of which the end was not measured, 6 where");
}

// --- Echo-planar readouts

/// The value at k of coil 0 or 1 looking at three spots, a twentieth of the FOV wide along x, turned by a phase.
Complex<double> echo(int coil, double kx, double ky, double phase) {
  Complex<double> sum{};
  for (const auto& [x, y, intensity] : {std::array{-0.21, 0.13, 1.0}, {0.08, -0.3, 0.7}, {0.17, 0.22, 0.4}}) {
    const double angle = phase - 2 * std::numbers::pi * (kx * x + ky * y);
    sum += (coil == 0 ? intensity : intensity * (1 - x)) * std::exp(-kx * kx / 36) *
           Complex<double>(std::cos(angle), std::sin(angle));
  }
  return sum;
}

TEST(VolumeAssembler, lines_of_an_echo_train_have_no_times) {
  for (const bool train : {false, true}) {
    auto header = header_8x8();
    if (train) header.trajectory = "epi";
    Stream stream(header);
    for (int i = 0; i < 8; ++i) stream.deliver(line_readout(i, i - 4));
    stream.assembler.finish(stream.source(), stream.source());
    EXPECT_EQ(stream.assembler.summary().has_sample_time, !train);
    EXPECT_EQ(stream.assembler.volume(0, 0, stream.source()).sample_time_s.has_value(), !train);
  }
}

/// An EPI line of 32 samples; every second one reversed, which is late by `delay` samples and turned by 0.6 rad.
OwnedReadout epi_line(int step, int ky, bool reversed, double delay, bool navigator) {
  constexpr int length = 32;
  auto readout = cartesian(0, step);
  readout.head.number_of_samples = length;
  readout.head.center_sample = length / 2;
  if (reversed) readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
  if (navigator) readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_PHASECORR_DATA);
  readout.values.clear();
  for (int coil = 0; coil < coils; ++coil)
    for (int s = 0; s < length; ++s) {
      const int place = reversed ? length - 1 - s : s;
      const auto value = echo(coil, place - length / 2 + (reversed ? delay : 0), ky, reversed ? 0.6 : 0);
      readout.values.insert(readout.values.end(),
                            {static_cast<float>(value.re), static_cast<float>(value.im)});
    }
  return readout;
}

/// Relative l2 error of k-space against that without delay; `navigators`: directions of those delivered.
double epi_error(double delay, const std::vector<bool>& navigators, std::vector<std::string>& told) {
  auto header = cartesian_header();
  header.trajectory = "epi";
  header.encoded_matrix = {32, 16, 1};
  header.step_1 = Limit{15, 8};
  Stream stream(header);
  for (const bool reversed : navigators) stream.deliver(epi_line(8, 0, reversed, delay, true));
  for (int step = 0; step < 16; ++step) stream.deliver(epi_line(step, step - 8, step % 2 == 1, delay, false));
  const auto scan = scan_of(stream);
  told = stream.assembler.summary().inferred;
  const auto& missing = stream.assembler.summary().missing;
  told.insert(told.end(), missing.begin(), missing.end());
  for (const auto& message : scan.messages) told.push_back(message.text);
  double difference = 0, all = 0;
  const auto count = scan.kspace.sample_count();
  for (int coil = 0; coil < coils; ++coil)
    for (std::int64_t m = 0; m < count; ++m) {
      const auto truth = echo(coil, scan.trajectory.k[m], scan.trajectory.k[count + m], 0);
      difference += norm(Complex<double>(scan.kspace.values[coil * count + m]) - truth);
      all += norm(truth);
    }
  return std::sqrt(difference / all);
}

TEST(VolumeAssembler, phase_correction_readouts_align_echoes_of_opposite_directions) {
  std::vector<std::string> told;
  for (const double delay : {0.0, 0.7, -1.6}) {
    EXPECT_GE(epi_error(delay, {}, told), 0.4);
    EXPECT_TRUE(says(told, "ghost at half the FOV"));
    EXPECT_LE(epi_error(delay, {false, true, false}, told), 5e-3) << delay;  // what lies beyond the readout
    EXPECT_TRUE(says(told, "by 3 phase-correction readouts"));
    EXPECT_TRUE(says(told, "echoes of opposite directions differ by"));
    EXPECT_GE(epi_error(delay, {false, false}, told), 0.4) << "navigators of one direction tell nothing";
    EXPECT_TRUE(says(told, "ghost at half the FOV"));
  }
}

}  // namespace
}  // namespace fhd::io::mrd

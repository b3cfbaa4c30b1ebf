// Readouts made by hand, without a file: the rules hold for whoever delivers them.
#include "io/scan/mrd/volume_assembler.hpp"

#include <algorithm>
#include <array>
#include <numbers>

#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/scan/mrd/readouts.hpp"

namespace fhd::io::mrd {
namespace {
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

TEST(VolumeAssembler, keeps_scaled_readouts_beside_scaled_reference_lines_of_the_image) {
  Stream stream;  // siemens_to_ismrmrd: bits 10 of all, 22 and 23 of the reference lines
  for (int i = 0; i < 6; ++i) {
    auto readout = line_readout(i, i);
    readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA);
    if (i == 2 || i == 3) readout.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING);
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  EXPECT_EQ(stream.assembler.summary().samples_per_scan, 6 * samples);
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

TEST(VolumeAssembler, shares_tr_among_the_segments_of_a_readout) {
  auto header = header_8x8();
  header.encoded_matrix = {32, 32, 1};
  header.acquisition.excitation_time_s = 0.004;
  Stream stream(header);
  for (int i = 0; i < 8; ++i) {
    auto readout = line_readout(i, i / 2);
    readout.head.idx.segment = static_cast<std::uint16_t>(i % 2);
    for (std::size_t s = 0; s < samples; ++s)
      readout.trajectory[2 * s] += static_cast<float>(samples * (i % 2));
    stream.deliver(readout);
  }
  stream.assembler.finish(stream.source(), stream.source());
  EXPECT_DOUBLE_EQ(stream.assembler.summary().readout_time_s, 0.002);
}

TEST(VolumeAssembler, takes_the_kind_of_trajectory_from_readouts_where_the_header_states_none) {
  auto without = header_8x8();
  without.trajectory.clear();
  Stream positions(without);
  for (int i = 0; i < 8; ++i) positions.deliver(line_readout(i, i - 4));
  EXPECT_EQ(scan_of(positions).kspace.sample_count(), 8 * samples);
  EXPECT_TRUE(says(positions.assembler.summary().inferred, "taken to be 'other'"));

  auto lines = cartesian_header();
  lines.trajectory.clear();
  Stream stated(cartesian_header()), inferred(lines), few(lines), longer(lines);
  for (int i = 0; i < 8; ++i) {
    stated.deliver(cartesian(i, i));
    inferred.deliver(cartesian(i, i));
    if (i < 4) few.deliver(cartesian(i, i));
    auto readout = cartesian(i, i);
    readout.head.number_of_samples = 2 * samples;
    readout.values.resize(2 * readout.values.size());
    longer.deliver(readout);
  }
  EXPECT_TRUE(std::ranges::equal(scan_of(inferred).trajectory.k, scan_of(stated).trajectory.k));
  EXPECT_TRUE(says(inferred.assembler.summary().inferred, "taken to be 'cartesian'"));
  for (auto* other : {&few, &longer})
    EXPECT_REFUSED(other->assembler.finish(other->source(), other->source()), "a <trajectory>, found none");
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

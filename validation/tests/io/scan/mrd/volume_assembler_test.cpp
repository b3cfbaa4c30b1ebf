// Readouts made by hand, without a file: the rules hold for whoever delivers them.
#include "io/scan/mrd/volume_assembler.hpp"

#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::mrd {
namespace {

constexpr int samples = 8, coils = 2;

struct OwnedReadout {
  ReadoutHead head{};
  std::vector<float> k, values;
  Readout view() const { return {head, k, values}; }
};

/// A line of k-space along x at ky = `line`, values (number, sample + 100 coil).
OwnedReadout line_readout(int number, int line) {
  OwnedReadout readout;
  readout.head.number_of_samples = samples;
  readout.head.active_channels = coils;
  readout.head.trajectory_dimensions = 2;
  readout.head.sample_time_us = 2;
  for (int s = 0; s < samples; ++s)
    readout.k.insert(readout.k.end(), {static_cast<float>(s - samples / 2), static_cast<float>(line)});
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
  VolumeAssembler::Source source() {
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
  EXPECT_FALSE(stream.assembler.noise(stream.source()).has_value());
}

TEST(VolumeAssembler, takes_noise_and_leaves_out_what_is_not_of_the_image) {
  Stream stream;
  auto noise = line_readout(7, 0);
  noise.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
  noise.head.discard_pre = 3;
  stream.deliver(noise);
  auto navigator = line_readout(0, 0);
  navigator.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA);
  navigator.k.assign(2, 1e9F);  // its sizes are not looked at
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
  const auto found = stream.assembler.noise(stream.source());
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->shape(), (Shape{coils, samples - 3}));
  EXPECT_EQ((*found)[samples - 3], (Complex<float>{7, 103}));
}

TEST(VolumeAssembler, places_cartesian_readouts_by_their_encoding_steps_and_direction) {
  auto header = header_8x8();
  header.trajectory = "epi";
  header.encoded_matrix = {8, 8, 4};
  header.step_1 = Limit{7, 3};
  Stream stream(header);
  for (int i = 0; i < 2; ++i) {
    auto readout = line_readout(i, 0);
    readout.k.clear();
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
}

TEST(VolumeAssembler, names_the_readout_that_contradicts_its_head_or_the_others) {
  Stream stream;
  stream.deliver(line_readout(0, 0));
  auto short_trajectory = line_readout(1, 1);
  short_trajectory.k.pop_back();
  EXPECT_CONTAINS(error_of([&] { stream.deliver(short_trajectory); }),
                  "readout[1].traj: expected 16 numbers");
  auto no_samples = line_readout(2, 1);
  no_samples.head.discard_pre = samples;
  EXPECT_CONTAINS(error_of([&] { stream.deliver(no_samples); }), "readout[2]: expected more samples");
  auto short_values = line_readout(3, 1);
  short_values.values.pop_back();
  stream.deliver(short_values);
  stream.assembler.finish(stream.source(), stream.source());
  EXPECT_CONTAINS(error_of([&] { stream.assembler.volume(0, 0, stream.source()); }),
                  "readout[3].data: expected 32 numbers");
  EXPECT_CONTAINS(error_of([&] { stream.assembler.volume(1, 0, stream.source()); }), "a slice from 0 to 0");

  Stream disagreeing;
  disagreeing.deliver(line_readout(0, 0));
  auto one_coil = line_readout(1, 1);
  one_coil.head.active_channels = 1;
  disagreeing.deliver(one_coil);
  EXPECT_CONTAINS(error_of([&] { disagreeing.assembler.finish(disagreeing.source(), disagreeing.source()); }),
                  "readout[1]: expected 2 channels");
  Stream nothing;
  EXPECT_CONTAINS(error_of([&] { nothing.assembler.finish(nothing.source(), nothing.source()); }),
                  "0 readouts, all flagged");
}

}  // namespace
}  // namespace fhd::io::mrd

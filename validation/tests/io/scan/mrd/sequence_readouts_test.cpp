// Readouts that a Pulseq sequence has played, without a file of their own.
#include "io/scan/mrd/sequence_readouts.hpp"

#include "io/scan/mrd/volume_assembler.hpp"
#include "recon/error.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/scan/pulseq/sequences.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::io::mrd {
namespace {

constexpr int adc_samples = 10;

class SequenceReadoutsTest : public tests::ScratchTest {
 protected:
  /// Writes two gradient echoes, which `label` counts, and a third ADC event of nothing but noise ahead if `noise`.
  ReadOptions options_of(const std::string& label, bool noise = false) const {
    auto text = pulseq::tests::gradient_echo(5);
    for (std::size_t at = 0; (at = text.find(" LIN", at)) != text.npos; ++at) text.replace(at + 1, 3, label);
    if (noise) {
      text.insert(text.find("1 100 1 0"), "0 120 0 0 0 0 1 3\n");
      text.insert(text.find("1 1 1 0"), "3 1 2 0\n4 1 3 1\n");
      text.insert(text.find("extension LABELINC"), "2 1 NOISE\n3 0 NOISE\n");
      text.replace(text.find("3 120 0 2 0 0 1 1"), 17, "3 120 0 2 0 0 1 4");
    }
    tests::write_text(path("x.seq"), text);
    ReadOptions options;
    options.outside.trajectory = path("x.seq");
    return options;
  }
  static SharedReadout readout(int number, std::uint16_t slice = 0) {
    OwnedReadout one;
    one.head.number_of_samples = adc_samples;
    one.head.active_channels = 1;
    one.head.idx.slice = slice;
    for (int s = 0; s < 2 * adc_samples; ++s) one.values.push_back(static_cast<float>(number));
    return std::make_shared<const OwnedReadout>(std::move(one));
  }
  static Header header() {
    Header header;
    header.encoded_matrix = {24, 24, 1};
    header.encoded_fov_mm = {200, 0, 5};  // along y that of the sequence, 100 mm
    header.trajectory = "other";
    return header;
  }
  static ReadoutScan scan_of(const ReadOptions& options, std::vector<SharedReadout> readouts) {
    return ReadoutScan(header(), options, {"scan", "header", "readouts"}, std::move(readouts));
  }
};

/// Expects the positions (cycles/FOV) and times of echo `echo` from its sample `first` on.
void expect_echo(const Scan& scan, int echo, std::int64_t at = 0) {
  const auto count = scan.kspace.sample_count();
  for (int s = 0; s < adc_samples; ++s) {
    EXPECT_NEAR(scan.trajectory.k[at + s], (-105 + 10 * (s + 0.5)) * 0.2, 1e-10);
    EXPECT_NEAR(scan.trajectory.k[count + at + s], echo * 55 * 0.1, 1e-10);
    EXPECT_EQ(scan.trajectory.k[2 * count + at + s], 0);
    EXPECT_NEAR((*scan.sample_time_s)[at + s], 1.8e-3 + 1e-4 * (s + 0.5), 1e-12);
  }
}

TEST_F(SequenceReadoutsTest, take_positions_and_times_from_the_sequence) {
  const auto scan = scan_of(options_of("LIN"), {readout(1), readout(2)});
  EXPECT_TRUE(scan.summary().follows_sequence);
  EXPECT_EQ(scan.summary().time_origin, TimeOrigin::excitation);
  EXPECT_EQ(scan.summary().geometry.fov_mm[1], 100);
  const auto volume = scan.read(0, 0);
  ASSERT_EQ(volume.kspace.sample_count(), 2 * adc_samples);
  expect_echo(volume, 0);
  expect_echo(volume, 1, adc_samples);
}

TEST_F(SequenceReadoutsTest, take_labels_where_the_scan_counts_nothing) {
  const auto labelled = scan_of(options_of("SLC"), {readout(1), readout(2)});
  EXPECT_EQ(labelled.summary().slice_count, 2);
  expect_echo(labelled.read(1, 0), 1);
  const auto counted = scan_of(options_of("SLC"), {readout(1, 5), readout(2, 3)});
  EXPECT_EQ(counted.summary().slice_counters, (std::vector<int>{3, 5}));
  expect_echo(counted.read(1, 0), 0);
  const auto repeated = scan_of(options_of("REP"), {readout(1), readout(2)});
  EXPECT_EQ(repeated.summary().repetition_count, 2);
  const auto noise = scan_of(options_of("LIN", true), {readout(7), readout(1), readout(2)}).read(0, 0);
  ASSERT_TRUE(noise.noise.has_value());
  EXPECT_EQ((*noise.noise)[0].re, 7);
  expect_echo(noise, 0);
  auto scanner = *readout(8, 3);  // the scanner's own noise is none of the sequence
  scanner.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
  const auto own = std::make_shared<const OwnedReadout>(std::move(scanner));
  const auto both = scan_of(options_of("LIN", true), {own, readout(7), readout(1), readout(2)});
  EXPECT_EQ(both.summary().samples_per_scan, 2 * adc_samples) << "the label NOISE counts beside it";
  EXPECT_EQ(scan_of(options_of("SLC"), {own, readout(1), readout(2)}).summary().slice_count, 2);
  const auto navigated = scan_of(options_of("NAV"), {readout(1), readout(2)});
  EXPECT_EQ(navigated.summary().samples_per_scan, adc_samples) << "the second is no sample of the image";
}

TEST_F(SequenceReadoutsTest, turn_positions_out_of_the_axes_of_the_magnet) {
  const auto turned_readout = [](int number) {
    auto one = *readout(number);
    one.head.read_dir[1] = 1;
    one.head.phase_dir[0] = -1;
    one.head.slice_dir[2] = 1;
    return std::make_shared<const OwnedReadout>(std::move(one));
  };
  auto options = options_of("LIN");
  options.trajectory_axes = TrajectoryAxes::magnet;
  for (const char* label : {"LIN", "NOROT"}) {
    if (label == std::string("NOROT")) options = options_of(label);
    const auto volume = scan_of(options, {turned_readout(1), turned_readout(2)}).read(0, 0);
    // The second echo: along the magnet's x from -100 on, y 55.
    EXPECT_NEAR(volume.trajectory.k[adc_samples], 55 * 0.2, 1e-10) << label;
    EXPECT_NEAR(volume.trajectory.k[2 * adc_samples + adc_samples], 100 * 0.1, 1e-10) << label;
  }
  auto siemens = header();
  siemens.acquisition.vendor = "SIEMENS", siemens.acquisition.patient_position = "HFS";
  const auto volume =
      ReadoutScan(siemens, options, {"scan", "header", "readouts"}, {turned_readout(1), turned_readout(2)})
          .read(0, 0);
  EXPECT_NEAR(volume.trajectory.k[adc_samples], -55 * 0.2, 1e-10) << "y is A";
  EXPECT_NEAR(volume.trajectory.k[2 * adc_samples + adc_samples], 100 * 0.1, 1e-10);
  options.trajectory_axes = TrajectoryAxes::magnet;
  EXPECT_THROW(scan_of(options, {readout(1), readout(2)}), Error) << "no directions";
}

TEST_F(SequenceReadoutsTest, of_a_scan_that_was_stopped_are_the_first) {
  const auto options = options_of("LIN", true);
  OwnedReadout noise = *readout(0), first = *readout(1);
  noise.head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
  noise.head.scan_counter = 1, first.head.scan_counter = 2;
  const auto scan = scan_of(
      options, {std::make_shared<const OwnedReadout>(noise), std::make_shared<const OwnedReadout>(first)});
  EXPECT_TRUE(says(scan.summary().missing, "The scan was stopped: the last 1 of 3 ADC events"));
  const auto volume = scan.read(0, 0);
  ASSERT_EQ(volume.kspace.sample_count(), adc_samples);
  expect_echo(volume, 0);
  first.head.scan_counter = 3;
  EXPECT_THROW(scan_of(options, {std::make_shared<const OwnedReadout>(noise),
                                 std::make_shared<const OwnedReadout>(first)}),
               Error)
      << "a readout is missing";
}

TEST_F(SequenceReadoutsTest, must_be_as_many_as_adc_events) {
  EXPECT_THROW(scan_of(options_of("LIN"), {readout(1)}), Error);
  EXPECT_THROW(scan_of(options_of("LIN"), {readout(1), readout(2), readout(3)}), Error);
}

}  // namespace
}  // namespace fhd::io::mrd

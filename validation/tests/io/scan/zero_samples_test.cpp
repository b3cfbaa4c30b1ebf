// Zero-filled k-space, in every format, and what looks like it.
#include "io/scan/scan_parts.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

using ZeroSamples = FolderTest;
constexpr std::int64_t readout = 20, readouts = 30, samples = readout * readouts;

/// A scan of which `is_zero` says the samples that hold zeros.
template <class IsZero>
Scan filled(const IsZero& is_zero, std::int64_t coils = 3) {
  auto scan = random_scan({16, 12, 1}, coils, readout, readouts);
  for (std::int64_t m = 0; m < samples; ++m)
    for (std::int64_t coil = 0; coil < coils && is_zero(m); ++coil)
      scan.kspace.values[coil * samples + m] = {};
  return scan;
}
/// Leaves out the zeros; returns the readout length of what is left.
std::int64_t readout_length_after(Scan& scan) {
  VolumeContext context{0, 0, readout};
  leave_out_zeros(scan, context);
  return context.readout_length;
}
bool of_lines(std::int64_t m) { return m / readout % 3 != 0; }

TEST_F(ZeroSamples, a_mask_is_left_out_and_said_whatever_the_format) {
  const auto scan = filled(of_lines);
  for (const auto& [name, format] :
       {std::pair{"s.h5", ScanFormat::fhd}, {"s.mrd", ScanFormat::ismrmrd}, {"s.cfl", ScanFormat::bart}}) {
    write_scan(path(name), format, {1, 1, readout, {scan}});
    const auto file = open_scan(path(name));
    const auto read = file->read(0, 0);
    ASSERT_EQ(read.kspace.sample_count(), samples / 3) << name;
    EXPECT_NO_THROW(read.validate(name));
    EXPECT_EQ(read.kspace.values[readout + 4], scan.kspace.values[3 * readout + 4]);
    EXPECT_NEAR(read.trajectory.k[readout + 4], scan.trajectory.k[3 * readout + 4], 1e-5);
    ASSERT_EQ(read.messages.size(), 1u);
    EXPECT_CONTAINS(read.messages[0].text, "400 of 600 samples (67 %) are exactly zero in every coil");
    EXPECT_CONTAINS(read.messages[0].text, "--zeros measured");
    EXPECT_EQ(file->summary().readout_length, readout) << "whole readouts are left out";
    ReadOptions measured;
    measured.zeros_are_measured = true;
    const auto as_stored = open_scan(path(name), measured)->read(0, 0);
    EXPECT_EQ(as_stored.kspace.sample_count(), samples) << name;
    EXPECT_TRUE(as_stored.messages.empty());
  }
}

TEST_F(ZeroSamples, times_and_calibration_follow) {
  auto scan = filled([](std::int64_t m) { return m % 2 == 1; });
  scan.calibration = Calibration{scan.trajectory, scan.kspace};
  const auto before = scan;
  EXPECT_EQ(readout_length_after(scan), 0) << "no whole readouts";
  ASSERT_EQ(scan.kspace.sample_count(), samples / 2);
  EXPECT_EQ((*scan.sample_time_s)[7], (*before.sample_time_s)[14]);
  EXPECT_EQ(scan.calibration->kspace.sample_count(), samples / 2);
  EXPECT_NO_THROW(scan.validate("scan"));
}

TEST_F(ZeroSamples, readouts_that_are_kept_keep_their_numbers) {
  auto scan = filled([](std::int64_t m) { return m / readout == 1 || m / readout == 2; });
  ASSERT_EQ(readout_length_after(scan), readout);
  ASSERT_EQ(scan.readout_numbers.size(), static_cast<std::size_t>(samples / readout - 2));
  EXPECT_EQ(scan.readout_numbers[0], 0);
  EXPECT_EQ(scan.readout_numbers[1], 3);
}

TEST_F(ZeroSamples, values_in_double_follow_and_count_where_single_precision_has_none) {
  auto scan = filled(of_lines);
  scan.kspace.in_double = converted<Complex<double>>(scan.kspace.values);
  scan.calibration = Calibration{scan.trajectory, scan.kspace};
  scan.kspace.in_double[readout + 4] = {1e-60, 0};  // of coil 0, on a line of zeros
  readout_length_after(scan);
  ASSERT_EQ(scan.kspace.sample_count(), samples / 3 + 1);
  EXPECT_EQ(scan.kspace.in_double[readout].re, 1e-60);
  EXPECT_EQ(scan.calibration->kspace.in_double.extent(1), samples / 3);
  EXPECT_NO_THROW(scan.validate("scan"));
}

TEST_F(ZeroSamples, a_scan_that_was_stopped_is_suspected_but_not_partial_fourier) {
  auto stopped = filled([](std::int64_t m) { return m / readout >= 18; });
  auto half = stopped;
  EXPECT_EQ(readout_length_after(stopped), readout);
  EXPECT_EQ(stopped.kspace.sample_count(), 18 * readout);
  ASSERT_EQ(stopped.messages.size(), 1u);
  EXPECT_EQ(stopped.messages[0].severity, Severity::suspicion);
  EXPECT_CONTAINS(stopped.messages[0].text, "the last 12 of 30 readouts");
  for (std::int64_t m = 0; m < samples; ++m)  // lines in their order
    half.trajectory.k[samples + m] = 0.2 * static_cast<double>(m / readout - readouts / 2);
  readout_length_after(half);
  ASSERT_EQ(half.messages.size(), 1u);
  EXPECT_EQ(half.messages[0].severity, Severity::note);
  EXPECT_CONTAINS(half.messages[0].text, "partial Fourier");
}

TEST_F(ZeroSamples, an_array_that_was_padded_is_neither_stopped_nor_partial_fourier) {
  auto padded = filled([](std::int64_t m) { return m / readout >= 18; });
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 18 * readout; m < samples; ++m) padded.trajectory.k[axis * samples + m] = 0;
  EXPECT_EQ(readout_length_after(padded), readout);
  EXPECT_EQ(padded.kspace.sample_count(), 18 * readout);
  ASSERT_EQ(padded.messages.size(), 1u);
  EXPECT_EQ(padded.messages[0].severity, Severity::note);
  EXPECT_EQ(padded.messages[0].text.find("partial Fourier"), std::string::npos);
}

TEST_F(ZeroSamples, a_mask_of_whole_numbers_in_one_coil_is_left_out) {
  auto scan = filled([](std::int64_t) { return false; }, 1);
  for (std::int64_t m = 0; m < samples; ++m) {
    auto& d = scan.kspace.values[m];
    d = of_lines(m) ? Complex<float>{} : Complex<float>{std::round(20 * d.re), std::round(20 * d.im)};
  }
  readout_length_after(scan);
  EXPECT_EQ(scan.kspace.sample_count(), samples / 3);
}

TEST_F(ZeroSamples, a_readout_that_was_lost_is_left_out_with_a_warning) {
  constexpr std::int64_t many = 200;
  auto scan = random_scan({16, 12, 1}, 3, readout, many);
  for (std::int64_t coil = 0; coil < 3; ++coil)
    for (std::int64_t n = 0; n < readout; ++n)
      scan.kspace.values[coil * many * readout + 70 * readout + n] = {};
  EXPECT_EQ(readout_length_after(scan), readout);
  EXPECT_EQ(scan.kspace.sample_count(), (many - 1) * readout);
  ASSERT_EQ(scan.messages.size(), 1u);
  EXPECT_EQ(scan.messages[0].severity, Severity::warning);
}

TEST_F(ZeroSamples, few_or_accidental_zeros_are_measured) {
  const auto kept = [](Scan scan) {
    readout_length_after(scan);
    return scan.kspace.sample_count() == samples && scan.messages.empty();
  };
  EXPECT_TRUE(kept(filled([](std::int64_t) { return false; })));
  EXPECT_TRUE(kept(filled([](std::int64_t) { return true; }))) << "nothing is left";
  EXPECT_TRUE(kept(filled([](std::int64_t m) { return m % 100 == 0; }))) << "one in a hundred";
  EXPECT_FALSE(kept(filled([](std::int64_t m) { return m % 50 == 0; })));
  EXPECT_TRUE(kept(filled([](std::int64_t m) { return m != 77; }))) << "one sample is no scan";
  auto rounded = filled([](std::int64_t) { return false; }, 1);  // a small signal in whole numbers
  for (auto& value : rounded.kspace.values)
    value = {std::round(value.re * 1.2F), std::round(value.im * 1.2F)};
  EXPECT_GE(std::count(rounded.kspace.values.begin(), rounded.kspace.values.end(), Complex<float>{}),
            samples / 20);
  EXPECT_TRUE(kept(rounded));
  auto decayed = filled([](std::int64_t) { return false; });  // the signal of all coils decays below a step
  for (std::int64_t i = 0; i < 3 * samples; ++i) {
    auto& d = decayed.kspace.values[i];
    const float size = 6 * std::exp(-0.01F * static_cast<float>(i % samples));
    d = {std::round(size * d.re), std::round(size * d.im)};
  }
  EXPECT_TRUE(kept(decayed));
}

}  // namespace
}  // namespace fhd::io

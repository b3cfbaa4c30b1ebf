// Pulseq sequences: small ones, whose positions are known in closed form, and files that others wrote.
#include "io/scan/pulseq/sequence.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "recon/error.hpp"
#include "validation/tests/io/scan/pulseq/sequences.hpp"

namespace fhd::io::pulseq {
namespace {

using tests::gradient_echo;
using tests::Text;

Sequence played(const std::string& text) { return Sequence(parse_sequence(text, "x.seq")); }
std::string refusal(const std::string& text) {
  try {
    played(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Positions {
  std::array<std::vector<double>, 3> k;
  std::vector<double> time;
};
Positions positions(const Sequence& sequence, std::int64_t adc) {
  const auto count = sequence.played().sample_count(adc);
  const auto n = static_cast<std::size_t>(count);
  Positions found{{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)},
                  std::vector<double>(n)};
  sequence.played().sample(adc, 0, count, {found.k[0].data(), found.k[1].data(), found.k[2].data()},
                           found.time.data());
  return found;
}

class OfVersion : public testing::TestWithParam<int> {};

/// 1 ms of pulse, a gradient of -1e5 Hz/m for 1 ms and one of 1e5 Hz/m with an ADC of 10 samples of 100 us.
TEST_P(OfVersion, plays_a_gradient_echo) {
  const auto sequence = played(gradient_echo(GetParam()));
  ASSERT_EQ(sequence.adc_count(), 2);
  for (std::int64_t adc = 0; adc < 2; ++adc) {
    const auto found = positions(sequence, adc);
    for (int i = 0; i < 10; ++i) {
      // -110 from the first (1 ms and two ramps of 0.1 ms), 5 from the ramp of the second.
      EXPECT_NEAR(found.k[0][std::size_t(i)], -110 + 5 + 10 * (i + 0.5), 1e-9);
      EXPECT_NEAR(found.k[1][std::size_t(i)], adc == 0 ? 0 : 55, 1e-9);
      EXPECT_NEAR(found.time[std::size_t(i)], 0.5e-3 + 1.2e-3 + 0.1e-3 + 1e-4 * (i + 0.5), 1e-12);
    }
    EXPECT_NEAR(sequence.played().start_s(adc), 2.35e-3 + static_cast<double>(adc) * 4.4e-3, 1e-12);
    EXPECT_EQ(sequence.label(adc, LabelName::LIN), GetParam() >= 3 ? adc : 0);
  }
  EXPECT_EQ(sequence.played().count_of(PulseUse::excitation), 2);
  EXPECT_EQ(sequence.fov_mm(), (std::array<double, 3>{200, 100, 5}));
}
INSTANTIATE_TEST_SUITE_P(Versions, OfVersion, testing::Values(2, 3, 4, 5));

TEST(Sequence, of_old_versions_tells_the_use_of_pulses_by_their_angle) {
  // A block pulse of 1 ms: 360 degrees for each kHz.
  for (const auto& [hz, use] : {std::pair{250.0, PulseUse::excitation},
                                {251.0, PulseUse::refocusing},
                                {500.0, PulseUse::refocusing}}) {
    auto text = gradient_echo(4);
    const auto at = text.find("1 80 1 2 0 0 0 0");
    text.replace(at, 4, fmt::format("1 {}", hz * 1000 / 999));  // 999 of 1000 steps count
    EXPECT_EQ(played(text).played().count_of(use), 2) << hz;
  }
}

TEST(Sequence, takes_a_long_pulse_on_fat_for_a_saturation) {
  auto text = Text(4);
  text.blocks = "1 800 1 0 0 0 0 0\n2 100 0 0 0 0 1 0\n";
  text.rf = "1 50 1 2 0 0 -424.5 0\n";
  text.adc = "1 4 10000 0 0 0\n";
  text.shapes = "shape_id 1\nnum_samples 8000\n1\n0\n0\n7997\nshape_id 2\nnum_samples 8000\n0\n0\n7998\n";
  EXPECT_EQ(played(text.all()).played().count_of(PulseUse::none), 2);
}

TEST(Sequence, integrates_shapes_between_raster_centres) {
  // 0 1 2 3 at 5, 15, 25, 35 us; then an extended trapezoid; then twice as many values.
  for (const int minor : {4, 5}) {
    Text text(minor);
    const char* zeros = minor == 5 ? " 0 0 " : " ";
    text.blocks = "1 10 0 1 0 0 1 0\n2 10 0 0 2 0 1 0\n3 10 0 0 0 3 1 0\n";
    text.gradients = fmt::format("1 1000{}1 0 0\n2 2000{}2 3 10\n3 1000{}4 -1 0\n",
                                 minor == 5 ? " 0 3500 " : zeros, zeros, minor == 5 ? " 0 0 " : zeros);
    text.adc = minor == 5 ? "1 10 10000 0 0 0 0 0 0\n" : "1 10 10000 0 0 0\n";
    text.shapes =
        "shape_id 1\nnum_samples 4\n0\n1\n1\n1\n"  // 1.4: as many numbers as values
        "shape_id 2\nnum_samples 3\n0\n1\n0\n"
        "shape_id 3\nnum_samples 3\n0\n2\n6\n"
        "shape_id 4\nnum_samples 3\n1\n1\n1\n";
    auto changed = text.all();
    changed.replace(changed.find("4\n0\n1\n1\n1\n"), 10, "4\n0\n1\n2\n3\n");
    const auto sequence = played(changed);
    const auto first = positions(sequence, 0), second = positions(sequence, 1),
               third = positions(sequence, 2);
    // Until 5, 15, 25, 35 us: 0, 5e-3, 20e-3, 45e-3 1/m; until 40 us from 3000 to 3500 Hz/m.
    EXPECT_NEAR(first.k[0][1], 5e-3, 1e-12) << minor;
    EXPECT_NEAR(first.k[0][3], 45e-3, 1e-12);
    EXPECT_NEAR(first.k[0][9], 45e-3 + 3250 * 5e-6, 1e-12);
    EXPECT_NEAR(second.k[1][9], 2000 * 30e-6, 1e-12) << "a triangle of 60 us";
    // 0 or the first value at the start, 1000 Hz/m from 5 to 15 us, the last at 20 us.
    const double ends = minor == 5 ? 500 * 10e-6 : 500 * 5e-6 + 1000 * 5e-6;
    EXPECT_NEAR(third.k[2][9], 1000 * 10e-6 + ends, 1e-12);
  }
}

TEST(Sequence, begins_an_old_shape_where_the_gradient_ahead_has_ended) {
  Text text(4);
  text.blocks = "1 2 0 1 0 0 0 0\n2 2 0 1 0 0 1 0\n3 3 0 2 0 0 0 0\n";
  text.gradients = "1 1000 1 0 0\n2 1000 1 0 10\n";
  text.adc = "1 2 10000 0 0 0\n";
  text.shapes = "shape_id 1\nnum_samples 2\n1\n1\n";
  // Block 1: from 0 over 1000, 1000 to 1000 Hz/m. Block 2 begins at 1000.
  const auto found = positions(played(text.all()), 0);
  EXPECT_NEAR(found.k[0][0], 1000 * 25e-6 - 500 * 5e-6, 1e-12);
  EXPECT_NEAR(found.k[0][1], 1000 * 35e-6 - 500 * 5e-6, 1e-12);
}

TEST(Sequence, unpacks_shapes) {
  const auto values = [](std::vector<double> numbers, std::int64_t count, bool may_be_plain = true) {
    return unpacked({count, std::move(numbers)}, may_be_plain, 1000, "shape");
  };
  EXPECT_EQ(values({1, 0, 0, 2, -1}, 6), (std::vector<double>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(values({0.5, 0.5, 0, 0.5, 0.5, 1}, 5), (std::vector<double>{0.5, 1, 1.5, 2, 2.5}));
  EXPECT_EQ(values({3, 1}, 2), (std::vector<double>{3, 1})) << "as many numbers as values";
  EXPECT_EQ(values({3, 1}, 2, false), (std::vector<double>{3, 4})) << "which 1.2 does not know";
  EXPECT_THROW(values({1, 1}, 5), Error);
  EXPECT_THROW(values({1, 1, 1e15}, 100), Error);
  EXPECT_THROW(values({1, 1, -1}, 100), Error);
  EXPECT_THROW(values({1, 1, 0.5}, 100), Error);
  EXPECT_THROW(values({1, 2}, 3), Error);
  EXPECT_THROW(values({1, 2}, 1001), Error);
  EXPECT_THROW(values({}, 0), Error) << "a shape without num_samples";
}

TEST(Sequence, labels_and_turns_blocks_by_their_extensions) {
  Text text(5);
  text.blocks = "1 100 0 1 0 0 1 3\n2 100 0 1 0 0 1 5\n3 100 0 1 0 0 1 0\n";
  text.trap = "1 1000 0 1000 0 0\n";
  text.adc = "1 1 1000000 0 0 0 0 0 0\n";
  // The list of block 1 was made of set SLC 7, then SLC + 2, then the rotation: the last comes first.
  text.extensions =
      "1 1 1 0\n2 2 1 1\n3 3 1 2\n4 2 1 0\n5 4 9 4\n"
      "extension LABELSET 1\n1 7 SLC\nextension LABELINC 2\n1 2 SLC\n"
      "extension ROTATIONS 3\n1 0.70710678118 0 0 0.70710678118\nextension TRIGGERS 4\n9 1 2 0 10\n";
  const auto sequence = played(text.all());
  EXPECT_EQ(sequence.label(0, LabelName::SLC), 9);
  EXPECT_EQ(sequence.label(1, LabelName::SLC), 11);
  EXPECT_EQ(sequence.label(2, LabelName::SLC), 11);
  EXPECT_NEAR(positions(sequence, 0).k[1][0], 0.5, 1e-9);
  EXPECT_NEAR(positions(sequence, 2).k[0][0], 1.5, 1e-9);
  EXPECT_NEAR(positions(sequence, 2).k[1][0], 1, 1e-9);
}

TEST(Sequence, says_what_it_takes_for_granted) {
  Text text(5);
  text.definitions += "FOV 256 256 5\n";
  text.blocks = "1 100 0 0 0 0 1 1\n";
  text.adc = "1 4 10000 0 0 0 50 0 7\n";
  text.extensions = "1 1 1 2\n2 2 1 0\nextension DELAYS 1\n1 0 0 1 TE\nextension SHIMS 2\n1 0\n";
  std::string all;
  const auto sequence = played(text.all());
  for (const auto& remark : sequence.remarks()) all += remark + "\n";
  for (const char* part : {"mm", "soft delays", "frequency offsets", "modulate", "SHIMS"})
    EXPECT_NE(all.find(part), all.npos) << part;
}

TEST(Sequence, that_is_damaged_is_refused_in_one_line) {
  const auto changed = [](const char* from, const char* to) {
    auto text = gradient_echo(5);
    const auto at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, std::string(from).size(), to);
  };
  const std::pair<std::string, const char*> cases[]{
      {"", "[VERSION]"},
      {"[BLOCKS]\n1 1 0 0 0 0 0 0\n", "[VERSION]"},
      {"words\n", "section"},
      {changed("minor 5", "minor 6"), "1.2 to 1.5"},
      {changed("major 1", "major 2"), "1.2 to 1.5"},
      {changed("[TRAP]", "[TRAPS]"), "'[TRAPS]'"},
      {changed("1 100 1 0 0 0 0 0", "1 100 1 0 0 0 0"), "numbers of a block"},  // as of 1.2
      {changed("1 100 1 0 0 0 0 0", "1 100 1"), "numbers of a block"},
      {changed("1 100 1 0 0 0 0 0", "1 100 9 0 0 0 0 0"), "RF pulse 9"},
      {changed("1 100 1 0 0 0 0 0", "1 1e30 1 0 0 0 0 0"), "a whole number"},
      {changed("2 120 0 1 0 0 0 0", "2 120 0 7 0 0 0 0"), "gradient 7"},
      {changed("2 120 0 1 0 0 0 0", "2 110 0 1 0 0 0 0"), "events that end within"},
      {changed("3 120 0 2 0 0 1 1", "3 120 0 2 0 0 5 1"), "ADC event 5"},
      {changed("3 120 0 2 0 0 1 1", "3 120 0 2 0 0 1 6"), "extension 6"},
      {changed("1 1 1 0", "1 1 1 1"), "a cycle"},
      {changed("1 1 1 0", "1 1 8 0"), "label 8"},
      {changed("1 1 1 0", "1 7 1 0"), "type 7"},
      {changed("1 -100000 100", "1 nan 100"), "a finite number"},
      {changed("1 -100000 100", "1 1e999 100"), "a finite number"},
      {changed("1 -100000 100", "1 -100000 -100"), "a time"},
      {changed("1 10 100000", "1 10 0"), "dwell"},
      {changed("1 10 100000", "1 1e12 100000"), "a whole number"},
      {changed("1 -100000 100", "2 -100000 100"), "one gradient 2"},
      {changed("GradientRasterTime 1e-05", "GradientRasterTime -1"), "GradientRasterTime"}};
  for (const auto& [text, part] : cases) {
    const auto line = refusal(text);
    EXPECT_NE(line.find(part), line.npos) << "'" << line << "' lacks '" << part << "'";
    EXPECT_EQ(line.find('\n'), line.npos);
  }
  auto huge = Text(4);
  huge.blocks = "1 100 0 1 0 0 0 0\n";
  huge.gradients = "1 1000 1 0 0\n";
  huge.shapes = "shape_id 1\nnum_samples 1000000000000\n0\n0\n999999999998\n";
  EXPECT_NE(refusal(huge.all()).find("shapes of 1 to"), std::string::npos);
  huge.shapes = "shape_id 1\n";
  EXPECT_NE(refusal(huge.all()).find("shapes of 1 to"), std::string::npos);
}

TEST(Sequence, is_recognised_by_its_beginning) {
  EXPECT_TRUE(is_sequence_text("# Pulseq\r\n\r\n[VERSION]\r\nmajor 1\r\n"));
  EXPECT_FALSE(is_sequence_text("\x89HDF\r\n"));
  EXPECT_FALSE(is_sequence_text("1 2 3\n[VERSION]\n"));
  EXPECT_FALSE(is_sequence("/nowhere"));
  EXPECT_FALSE(is_sequence("/dev/null"));
}

/// Sequences that Pulseq and JEMRIS wrote. Positions by pypulseq 1.5.0 (calculate_kspace), in 1/m.
struct Foreign {
  const char* name;
  std::int64_t adcs, samples;
  double last_k[3], last_s;  ///< of the last sample, since the start of the sequence
};
class ForeignSequence : public testing::TestWithParam<Foreign> {};
TEST_P(ForeignSequence, has_the_positions_of_pypulseq) {
  const auto& expected = GetParam();
  const auto path = std::string(FHD_SCANS) + "/pulseq/" + expected.name;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const auto sequence = read_sequence(path);
  ASSERT_EQ(sequence.adc_count(), expected.adcs);
  const auto last = expected.adcs - 1;
  ASSERT_EQ(sequence.played().sample_count(last), expected.samples);
  const auto found = positions(sequence, last);
  double largest = 0;
  for (const auto& axis : found.k)
    for (const double k : axis) largest = std::max(largest, std::abs(k));
  for (std::size_t axis = 0; axis < 3; ++axis)
    EXPECT_NEAR(found.k[axis].back(), expected.last_k[axis], 1e-6 * largest);
  const double last_s = sequence.played().start_s(last) +
                        static_cast<double>(expected.samples - 1) * sequence.played().dwell_s(last);
  EXPECT_NEAR(last_s, expected.last_s, 1e-9);
}
INSTANTIATE_TEST_SUITE_P(
    Files, ForeignSequence,
    testing::Values(
        Foreign{"v1.2_radial_JEMRIS.seq", 32, 32, {-482.045174861, -47.4767532377, 0}, 0.633225},
        Foreign{"v1.4_epi.seq", 192, 64, {-145.455159999, 140.90847, -0.00181999990673}, 0.153778},
        Foreign{"v1.4_spiral.seq", 1, 28000, {59.752609465, -175.9093695, 0.00198000000273}, 0.0593893},
        Foreign{"v1.5_gre_rad.seq", 3, 480, {489.07175125, 103.956125, -9.34496711125e-08}, 0.01367875}));

}  // namespace
}  // namespace fhd::io::pulseq

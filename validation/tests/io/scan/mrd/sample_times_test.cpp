// Times of samples: echo trains, segments that go on, readouts of their own.
#include "io/scan/mrd/sample_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <vector>

namespace fhd::io::mrd {
namespace {

constexpr int readout_samples = 32;
constexpr double dwell_us = 5, readout_s = readout_samples * dwell_us * 1e-6, spacing_s = 192e-6;

ReadoutHead line(int step, bool reversed = false) {
  ReadoutHead head{};
  head.number_of_samples = readout_samples;
  head.sample_time_us = dwell_us;
  head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(step);
  if (reversed) head.set_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
  return head;
}

Header header_of(const std::string& encoding, const std::string& rest = "") {
  return parse_header("<ismrmrdHeader><encoding>" + encoding + "</encoding>" + rest + "</ismrmrdHeader>",
                      "header");
}
std::string described(const std::string& parameters) {
  return "<trajectory>epi</trajectory><trajectoryDescription>" + parameters + "</trajectoryDescription>";
}
std::string parameter(const std::string& name, const std::string& value, const char* kind = "Long") {
  const auto element = std::string("userParameter") + kind;
  return "<" + element + "><name>" + name + "</name><value>" + value + "</value></" + element + ">";
}

std::vector<TimedReadout> timed(const std::vector<ReadoutHead>& heads) {
  return {heads.begin(), heads.end()};
}
Array<double> no_positions(std::size_t readouts) {
  return Array<double>({3, static_cast<std::int64_t>(readouts) * readout_samples});
}
/// Returns the times of the first samples in echo spacings; empty where times are not known.
std::vector<double> echoes(const Header& header, const std::vector<ReadoutHead>& heads) {
  const auto times = sample_times(header, true, timed(heads), no_positions(heads.size()));
  std::vector<double> found;
  for (std::size_t i = 0; times && i < heads.size(); ++i)
    found.push_back(std::round(1e6 * times->seconds[static_cast<std::int64_t>(i) * readout_samples] / spacing_s) /
                    1e6);
  return found;
}

struct Statement {
  const char* name;
  std::string encoding, rest;
  double spacing_s;
};
std::ostream& operator<<(std::ostream& out, const Statement& each) { return out << each.name; }

class EchoSpacing : public testing::TestWithParam<Statement> {};
TEST_P(EchoSpacing, is_that_which_fits_the_readouts) {
  const auto& each = GetParam();
  const std::vector<ReadoutHead> heads{line(0), line(1, true), line(2)};
  const auto times = sample_times(header_of(each.encoding, each.rest), true, timed(heads), no_positions(3));
  ASSERT_EQ(times.has_value(), each.spacing_s > 0);
  if (!times) return;
  EXPECT_EQ(times->origin, TimeOrigin::train_start);
  for (int i = 0; i < 3; ++i)
    for (int s = 0; s < readout_samples; ++s)
      EXPECT_NEAR(times->seconds[i * readout_samples + s], i * each.spacing_s + s * dwell_us * 1e-6, 1e-12);
}
const std::string sequence_ms = "<sequenceParameters><echo_spacing>0.192</echo_spacing></sequenceParameters>";
INSTANTIATE_TEST_SUITE_P(
    , EchoSpacing,
    testing::Values(
        Statement{"siemens_epi_map", described(""), sequence_ms, spacing_s},
        Statement{"siemens_general_map", described(parameter("echoSpacing", "192")), "", spacing_s},
        Statement{"as_a_double", described(parameter("EchoSpacing", "192.0", "Double")), "", spacing_s},
        Statement{"user_parameter", described(""),
                  "<userParameters>" + parameter("echo_spacing_us", "192") + "</userParameters>", spacing_s},
        Statement{"sequence_in_seconds", described(""),
                  "<sequenceParameters><echo_spacing>0.000192</echo_spacing></sequenceParameters>",
                  spacing_s},
        Statement{"sequence_in_microseconds", described(""),
                  "<sequenceParameters><echo_spacing>192</echo_spacing></sequenceParameters>", spacing_s},
        Statement{"trapezoid",
                  described(parameter("rampUpTime", "16") + parameter("flatTopTime", "160") +
                            parameter("rampDownTime", "16")),
                  "", spacing_s},
        Statement{"one_that_fits_behind_one_that_does_not", described(parameter("echoSpacing", "0.3")),
                  sequence_ms, spacing_s},
        Statement{"shorter_than_a_readout", described(parameter("echoSpacing", "100")), "", 0},
        Statement{"several", described(""),
                  "<sequenceParameters><echo_spacing>0.192</echo_spacing><echo_spacing>0.5</echo_spacing>"
                  "</sequenceParameters>",
                  0},
        Statement{"no_number", described(parameter("echoSpacing", "nan")), "", 0},
        Statement{"none", described(parameter("rampUpTime", "16") + parameter("flatTopTime", "160")), "",
                  0}));

TEST(EchoTrain, ends_where_counters_stamps_or_its_length_say_so) {
  const auto header = header_of(described(""), sequence_ms);
  const auto train = [](std::vector<int> steps) {
    std::vector<ReadoutHead> heads;
    for (const int step : steps) heads.push_back(line(step, heads.size() % 2 == 1));
    return heads;
  };
  using Echoes = std::vector<double>;
  EXPECT_EQ(echoes(header, train({0, 1, 2, 3})), (Echoes{0, 1, 2, 3}));
  EXPECT_EQ(echoes(header, train({7, 5, 3, 1})), (Echoes{0, 1, 2, 3})) << "downwards, every second line";
  EXPECT_EQ(echoes(header, train({0, 2, 4, 1, 3, 5})), (Echoes{0, 1, 2, 0, 1, 2})) << "two shots";
  auto planes = train({0, 1, 2, 2, 3, 4});
  for (int i = 3; i < 6; ++i) planes[i].idx.kspace_encode_step_2 = 1;
  EXPECT_EQ(echoes(header, planes), (Echoes{0, 1, 2, 0, 1, 2}));
  auto averages = train({0, 1, 2, 2, 3, 4});
  for (int i = 3; i < 6; ++i) averages[i].idx.average = 1;
  EXPECT_EQ(echoes(header, averages), (Echoes{0, 1, 2, 0, 1, 2}));
  const auto of_three = header_of("<echoTrainLength>3</echoTrainLength>" + described(""), sequence_ms);
  EXPECT_EQ(echoes(of_three, train({0, 1, 2, 3, 4, 5})), (Echoes{0, 1, 2, 0, 1, 2})) << "blocks of lines";
  const auto etl = header_of(described(parameter("etl", "2")), sequence_ms);
  EXPECT_EQ(echoes(etl, train({0, 1, 2, 3})), (Echoes{0, 1, 0, 1}));
  const auto nominal = header_of(described(parameter("etl", "64")), sequence_ms);
  EXPECT_EQ(echoes(nominal, train({0, 2, 4, 6})), (Echoes{0, 1, 2, 3})) << "the factor before acceleration";
  auto siemens = header;
  siemens.acquisition.vendor = "SIEMENS";
  auto stamped = train({0, 1, 2, 3, 4, 5});
  for (int i = 0; i < 6; ++i)
    stamped[i].acquisition_time_stamp = static_cast<std::uint32_t>(1000 + i / 2 + (i >= 3 ? 40 : 0));
  EXPECT_EQ(echoes(siemens, stamped), (Echoes{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(echoes(header, train({3, 4, 2, 5, 1, 6})), Echoes{}) << "no trains along y";
}

TEST(EchoTrains, are_recognised_without_their_name) {
  const auto cartesian = header_of("<trajectory>cartesian</trajectory>");
  const auto lines = [](auto reversed) {
    std::vector<ReadoutHead> heads;
    for (int i = 0; i < 16; ++i) heads.push_back(line(i, reversed(i)));
    return heads;
  };
  const auto alternating = lines([](int i) { return i % 2 == 1; }),
             forwards = lines([](int) { return false; });
  EXPECT_TRUE(are_echo_trains(cartesian, timed(alternating), false, false));
  EXPECT_TRUE(are_echo_trains(cartesian, timed(lines([](int i) { return i % 4 % 2 == 1; })), false, false));
  EXPECT_FALSE(are_echo_trains(cartesian, timed(lines([](int i) { return i >= 8; })), false, false))
      << "an average in each direction";
  EXPECT_FALSE(are_echo_trains(cartesian, timed(lines([](int) { return true; })), false, false));
  EXPECT_FALSE(are_echo_trains(cartesian, timed(forwards), false, false));
  EXPECT_TRUE(are_echo_trains(cartesian, timed(forwards), false, true)) << "navigators of both directions";
  EXPECT_TRUE(are_echo_trains(header_of("<trajectory>EPI</trajectory>"), timed(forwards), true, false));
  EXPECT_FALSE(are_echo_trains(cartesian, timed(alternating), true, false)) << "the trajectory says more";
  // 16 lines in two ticks of 2.5 ms, 0.31 ms each, of 0.28 ms; and the 3 ms of a balanced sequence.
  const auto stamped = [&](double step_ms, double dwell) {
    auto heads = forwards;
    for (int i = 0; i < 16; ++i) {
      heads[i].acquisition_time_stamp = static_cast<std::uint32_t>(1000 + i * step_ms / 2.5);
      heads[i].sample_time_us = static_cast<float>(dwell);
    }
    return timed(heads);
  };
  auto siemens = cartesian;
  siemens.acquisition.vendor = "Siemens";
  siemens.acquisition.excitation_time_s = 2;
  EXPECT_TRUE(are_echo_trains(siemens, stamped(0.5, 0.48e3 / readout_samples), false, false));
  EXPECT_FALSE(are_echo_trains(siemens, stamped(7, 3e3 / readout_samples), false, false)) << "MPRAGE";
  siemens.acquisition.excitation_time_s = 0.003;
  EXPECT_FALSE(are_echo_trains(siemens, stamped(3, 1e3 / readout_samples), false, false)) << "balanced";
}

TEST(SampleTimes, go_on_through_the_segments_of_one_readout_alone) {
  // A spiral of 3 * 32 samples with a gap of one sample between segments, then a second one.
  std::vector<ReadoutHead> heads;
  Array<double> k({3, 6 * readout_samples});
  for (int i = 0; i < 6; ++i) {
    auto head = line(i / 3);
    head.idx.segment = static_cast<std::uint16_t>(i % 3);
    heads.push_back(head);
    for (int s = 0; s < readout_samples; ++s) {
      const double t = (i % 3) * (readout_samples + 1) + s, angle = 0.1 * t + i / 3;
      k[i * readout_samples + s] = 0.1 * t * std::cos(angle);
      k[(6 + i) * readout_samples + s] = 0.1 * t * std::sin(angle);
    }
  }
  const Header header = header_of("<trajectory>spiral</trajectory>");
  auto times = sample_times(header, false, timed(heads), k);
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->origin, TimeOrigin::readout_start);
  for (int i = 0; i < 6; ++i)
    EXPECT_NEAR(times->seconds[i * readout_samples + 1], ((i % 3) * (readout_samples + 1) + 1) * dwell_us * 1e-6, 1e-12) << i;
  // Segments that count excitations, each of which begins at the centre.
  for (int i = 0; i < 6; ++i)
    for (int s = 0; s < readout_samples; ++s) k[i * readout_samples + s] = 0.1 * s, k[(6 + i) * readout_samples + s] = 0.05 * s;
  times = sample_times(header, false, timed(heads), k);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(times->seconds[i * readout_samples], 0, 1e-12);
}

TEST(SampleTimes, are_not_known_without_a_dwell_time_or_where_the_file_has_changed) {
  const auto header = header_of("<trajectory>cartesian</trajectory>");
  auto heads = std::vector{line(0), line(1)};
  EXPECT_TRUE(sample_times(header, false, timed(heads), no_positions(2)).has_value());
  EXPECT_FALSE(sample_times(header, false, timed(heads), no_positions(1)).has_value());
  heads[1].sample_time_us = 0;
  EXPECT_FALSE(sample_times(header, false, timed(heads), no_positions(2)).has_value());
}

}  // namespace
}  // namespace fhd::io::mrd

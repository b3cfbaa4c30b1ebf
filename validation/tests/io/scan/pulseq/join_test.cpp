// Readouts and ADC events: which belong together, and what is refused.
#include "io/scan/pulseq/join.hpp"

#include <gtest/gtest.h>

#include "recon/error.hpp"
#include "validation/tests/io/scan/pulseq/sequences.hpp"

namespace fhd::io::pulseq {
namespace {

/// Returns a sequence whose ADC events have these lengths and values of one label.
Sequence sequence_of(const std::vector<int>& lengths, const char* label = "NOISE",
                     const std::vector<int>& values = {}) {
  tests::Text text(4);
  std::string sets;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    text.blocks += fmt::format("{} 100 0 0 0 0 {} {}\n", i, i + 1, values.empty() ? 0 : i + 1);
    text.adc += fmt::format("{} {} 1000 0 0 0\n", i + 1, lengths[i]);
    if (values.empty()) continue;
    text.extensions += fmt::format("{} 1 {} 0\n", i + 1, i + 1);
    sets += fmt::format("{} {} {}\n", i + 1, values[i], label);
  }
  if (!values.empty()) text.extensions += "extension LABELSET 1\n" + sets;
  return Sequence(parse_sequence(text.all(), "x.seq"));
}

MeasuredReadout readout(std::int64_t samples, bool is_noise = false, int average = 0, int repetition = 0,
                        int slice = 0) {
  return {samples, is_noise, average, repetition, {slice, 0, 0, 0}, 0};
}

/// Returns the ADC events of the readouts, and the first samples where they are not 0.
std::string joined(const Sequence& sequence, const std::vector<MeasuredReadout>& readouts) {
  std::string text;
  for (const auto& place : join_readouts(sequence, readouts, "scan.h5").places)
    text +=
        fmt::format("{}{} ", place.adc, place.first_sample > 0 ? fmt::format("+{}", place.first_sample) : "");
  return text;
}

TEST(Join, joins_readouts_and_adc_events_in_their_order) {
  EXPECT_EQ(joined(sequence_of({4, 8, 4}), {readout(4), readout(8), readout(4)}), "0 1 2 ");
  EXPECT_EQ(joined(sequence_of({4, 8}), {readout(9, true), readout(4), readout(8)}), "-1 0 1 ")
      << "the scanner's noise";
  EXPECT_EQ(joined(sequence_of({4, 8}, "NOISE", {1, 0}), {readout(4, true), readout(8)}), "0 1 ");
  EXPECT_EQ(joined(sequence_of({4, 8, 8}, "NOISE", {1, 0, 0}), {readout(8), readout(8)}), "1 2 ");
  EXPECT_EQ(joined(sequence_of({12, 6}), {readout(4), readout(4), readout(4), readout(6)}), "0 0+4 0+8 1 ")
      << "parts of long ADC events";
  const auto parts = join_readouts(sequence_of({4}), std::array{readout(2), readout(2)}, "scan.h5");
  EXPECT_NE(parts.sentence.find("parts"), std::string::npos) << "which is said";
}

TEST(Join, joins_several_plays_by_averages_repetitions_and_volumes) {
  const auto two = sequence_of({4, 8});
  EXPECT_EQ(joined(two, {readout(4), readout(8), readout(4, false, 1), readout(8, false, 1)}), "0 1 0 1 ");
  EXPECT_EQ(joined(two, {readout(4), readout(8), readout(4, false, 0, 3), readout(8, false, 0, 3)}),
            "0 1 0 1 ");
  // Slices take turns: each has its own play.
  EXPECT_EQ(joined(two, {readout(4), readout(4, false, 0, 0, 1), readout(8), readout(8, false, 0, 0, 1)}),
            "0 0 1 1 ");
  const auto once = sequence_of({5, 4, 6}, "ONCE", {1, 0, 2});
  EXPECT_EQ(joined(once, {readout(5), readout(4), readout(4, false, 1), readout(4, false, 2),
                          readout(6, false, 2)}),
            "0 1 1 1 2 ");
  EXPECT_EQ(joined(once, {readout(5), readout(4), readout(6)}), "0 1 2 ");
}

std::string refusal(const Sequence& sequence, const std::vector<MeasuredReadout>& readouts) {
  try {
    join_readouts(sequence, readouts, "scan.h5");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Join, joins_a_scan_that_was_stopped_with_the_beginning) {
  const auto counted = [](std::int64_t samples, std::int64_t number, int line = 0, int average = 0) {
    auto one = readout(samples, false, average);
    one.scan_counter = number, one.line = line, one.dwell_s = 1e-6;
    return one;
  };
  const auto four = sequence_of({4, 8, 4, 8});
  const std::vector stopped{counted(4, 7), counted(8, 8), counted(4, 9)};
  EXPECT_EQ(joined(four, stopped), "0 1 2 ");
  EXPECT_NE(join_readouts(four, stopped, "x").missing.find("the last 1 of 4 ADC events"), std::string::npos);
  EXPECT_EQ(join_readouts(four, std::array{readout(4), readout(8), readout(4), readout(8)}, "x").missing, "");
  const auto lines = sequence_of({4, 4, 4}, "LIN", {3, 1, 2});
  EXPECT_EQ(joined(lines, {counted(4, 0, 3), counted(4, 0, 1)}), "0 1 ");
  EXPECT_EQ(joined(four, {readout(9, true), counted(4, 7), counted(8, 8)}), "-1 0 1 ");
  EXPECT_EQ(joined(sequence_of({4, 4, 4, 4}), {readout(4, true), counted(4, 7), counted(4, 8)}), "-1 0 1 ")
      << "the scanner's noise is no ADC event";
  // The second play of an average ends early.
  EXPECT_EQ(joined(sequence_of({4, 8}), {counted(4, 1), counted(8, 2), counted(4, 3, 0, 1)}), "0 1 0 ");

  auto wrong = stopped;
  wrong[1].dwell_s = 2e-6;
  EXPECT_NE(refusal(four, wrong), "none") << "another dwell time";
  wrong = stopped;
  wrong[2].scan_counter = 10;
  EXPECT_NE(refusal(four, wrong), "none") << "a readout is missing before the last";
  wrong = stopped;
  wrong[2].is_last = true;
  EXPECT_NE(refusal(four, wrong), "none") << "the scan ended by itself";
  EXPECT_NE(refusal(four, {counted(4, 1), counted(4, 2)}), "none") << "another length";
  EXPECT_NE(refusal(four, {readout(4), readout(8)}), "none") << "nothing tells that none is missing between";
  EXPECT_NE(refusal(lines, {counted(4, 1, 3), counted(4, 2, 2)}), "none") << "other lines";
  EXPECT_NE(refusal(sequence_of({8, 8}), {counted(8, 1), counted(4, 2)}), "none") << "a part of an ADC event";
}

TEST(Join, refuses_others_and_names_both_numbers) {
  const auto two = sequence_of({4, 8});
  auto half = readout(4);  // of a line whose oversampling was removed
  half.dwell_s = 2e-6;
  for (const auto& [line, parts] :
       {std::pair(refusal(two, {readout(4), readout(8), readout(9)}),
                  std::array{"3 readouts of scan.h5", "2 ADC events"}),
        {refusal(two, {readout(4), readout(8), readout(4), readout(8)}), {"4 readouts", "2 ADC events"}},
        {refusal(two, {readout(4), readout(4)}), {"ADC event 2 of 4 samples", "8 samples"}},
        {refusal(two, {readout(4), readout(4), readout(4, false, 0, 0, 1)}), {"3 readouts", "2 ADC events"}},
        {refusal(sequence_of({8}), {half, half}), {"2 readouts", "1 ADC events"}},
        {refusal(sequence_of({4, 8}, "NOISE", {1, 0}), {readout(1, true)}),
         {"1 of them noise", "1 of them labelled NOISE"}}})
    for (const char* part : parts) EXPECT_NE(line.find(part), line.npos) << "'" << line << "' lacks " << part;
}

}  // namespace
}  // namespace fhd::io::pulseq

// Sequences beside scans that keep no readouts.
#include "io/scan/pulseq/sequence_volumes.hpp"

#include <gtest/gtest.h>

#include "recon/error.hpp"
#include "validation/tests/io/scan/pulseq/sequences.hpp"

namespace fhd::io::pulseq {
namespace {

ScanSummary summary_of(std::int64_t slices) {
  ScanSummary summary;
  summary.slice_count = slices;
  summary.geometry.matrix_size = {24, 24, 1};
  return summary;
}

TEST(SequenceVolumes, are_told_by_labels) {
  auto text = tests::gradient_echo(4);
  for (std::size_t at = 0; (at = text.find(" LIN", at)) != text.npos; ++at) text.replace(at + 1, 3, "SLC");
  auto two = summary_of(2), one = summary_of(1);
  one.geometry.fov_mm = {400, 300, 0};
  const SequenceVolumes of_two(Sequence(parse_sequence(text, "x.seq")), two),
      of_one(Sequence(parse_sequence(text, "x.seq")), one);
  EXPECT_EQ(two.geometry.fov_mm, (std::array<double, 3>{200, 100, 5})) << "as the sequence says";
  const auto second = of_two.read(1, 0), all = of_one.read(0, 0);
  ASSERT_EQ(second.k.extent(1), 10);
  ASSERT_EQ(all.k.extent(1), 20);
  EXPECT_NEAR(second.k[0], -100, 1e-9);
  EXPECT_NEAR(second.k[10], 55, 1e-9);
  EXPECT_EQ(of_two.scale(), (std::array<double, 3>{0.2, 0.1, 0}));
  EXPECT_NEAR(second.time_s[9], 1.8e-3 + 0.95e-3, 1e-12);
  EXPECT_NEAR(all.k[20 + 10], 55, 1e-9);
  EXPECT_EQ(of_one.scale(), (std::array<double, 3>{0.4, 0.3, 0})) << "with the FOV of the scan";
  EXPECT_FALSE(one.inferred.empty()) << "which differs from that of the sequence";
}

TEST(SequenceVolumes, need_a_fov) {
  auto text = tests::gradient_echo(4);
  text.replace(text.find("FOV"), 3, "fov");
  auto summary = summary_of(1);
  EXPECT_THROW(SequenceVolumes(Sequence(parse_sequence(text, "x.seq")), summary), Error);
}

}  // namespace
}  // namespace fhd::io::pulseq

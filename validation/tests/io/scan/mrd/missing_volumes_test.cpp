// Measurements that were stopped or lack a volume.
#include <algorithm>

#include "io/scan/scan_parts.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/io/scan/mrd/readouts.hpp"

namespace fhd::io::mrd {
namespace {

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

}  // namespace
}  // namespace fhd::io::mrd

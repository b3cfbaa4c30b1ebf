#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "validation/tests/io/scan/mrd/readouts.hpp"

namespace fhd::io::mrd {
namespace {

void point_along(OwnedReadout& readout, std::array<float, 3> read, std::array<float, 3> phase,
                 std::array<float, 3> slice) {
  std::ranges::copy(read, readout.head.read_dir);
  std::ranges::copy(phase, readout.head.phase_dir);
  std::ranges::copy(slice, readout.head.slice_dir);
}

TEST(Slices, are_ordered_by_stack_and_place_and_have_their_own_directions) {
  Stream stream;
  const float places[]{6, 0, 3};
  for (int slice = 0; slice < 4; ++slice) {
    auto readout = line_readout(slice, 0);
    readout.head.idx.slice = static_cast<std::uint16_t>(slice);
    if (slice < 3) {
      point_along(readout, {1, 0, 0}, {0, 1, 0}, {0, 0, 1});
      readout.head.position[2] = places[slice];
    } else {
      point_along(readout, {0, 1, 0}, {0, 0, -1}, {-1, 0, 0});
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

TEST(Slices, of_siemens_lie_against_the_encoded_directions) {
  for (const int partitions : {1, 4}) {
    auto header = header_8x8();
    header.acquisition.vendor = "SIEMENS";
    header.encoded_matrix[2] = partitions;
    Stream stream(header);
    auto readout = line_readout(0, 0);
    point_along(readout, {0, 1, 0}, {0, 0, 1}, {1, 0, 0});
    stream.deliver(readout);
    stream.assembler.finish(stream.source(), stream.source());
    const auto& geometry = stream.assembler.summary().geometry;
    EXPECT_EQ(geometry.read_direction, (std::array<double, 3>{0, -1, 0}));
    EXPECT_EQ(geometry.phase_direction, (std::array<double, 3>{0, 0, -1}));
    EXPECT_EQ(geometry.slice_direction[0], partitions == 1 ? 1 : -1);
  }
}

TEST(Slices, have_trajectories_turned_out_of_the_axes_of_the_magnet) {
  Stream stream;
  for (int line = 0; line < 8; ++line) {
    auto readout = line_readout(line, line - 4);
    const auto k = readout.trajectory;
    readout.head.trajectory_dimensions = 3;
    readout.trajectory.clear();
    point_along(readout, {0, 0.6F, 0.8F}, {1, 0, 0}, {0, 0.8F, -0.6F});
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

}  // namespace
}  // namespace fhd::io::mrd

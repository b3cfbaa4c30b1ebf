// Tones of one frequency are taken off the samples, and little else is.
#include "recon/pipeline/tone.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "data/simulate.hpp"
#include "validation/verdict/readouts.hpp"
#include "validation/verdict/tone_search.hpp"

namespace fhd {
namespace {

using Index = std::int64_t;
using data::TrajectoryKind;

data::Simulation simulated(TrajectoryKind kind) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {64, 64, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 4;
  return data::simulate(settings);
}

double energy_of(const Array<Complex<float>>& values) {
  double sum = 0;
  for (const auto& d : values) sum += norm(Complex<double>(d));
  return sum;
}

struct Planted {
  const char* name;
  TrajectoryKind kind;
  double frequency;     ///< cycles/sample
  bool runs;            ///< the phase advances alike from readout to readout; else it is random
  double most_is_left;  ///< of the root mean square of the tone
};

constexpr double share = 0.2;

/// Adds a tone of a fifth of the signal.
void plant(double frequency, bool runs, data::Simulation& made) {
  auto& values = made.scan.kspace.values;
  const double size = share * std::sqrt(energy_of(values) / static_cast<double>(values.size()));
  std::mt19937 random(3);
  std::vector<double> phase;
  for (Index j = 0; j < made.readout_count; ++j)
    phase.push_back(runs ? 0.31 * static_cast<double>(j) : std::uniform_real_distribution<>()(random));
  for (Index i = 0; i < values.size(); ++i) {
    const Index m = i % made.scan.kspace.sample_count();
    const double turns = frequency * static_cast<double>(m % made.readout_length) +
                         phase[static_cast<std::size_t>(m / made.readout_length)];
    values[i] += Complex<float>(Complex<double>{size * std::cos(2 * std::numbers::pi * turns),
                                                size * std::sin(2 * std::numbers::pi * turns)});
  }
}

class Tones : public testing::TestWithParam<Planted> {};

TEST_P(Tones, are_found_and_taken_off) {
  const auto& [name, kind, frequency, runs, most_is_left] = GetParam();
  auto made = simulated(kind);
  const Scan right(made.scan);
  plant(frequency, runs, made);
  auto& scan = made.scan;
  Array<Complex<float>> planted(scan.kspace.values), left(scan.kspace.values);
  for (Index i = 0; i < planted.size(); ++i) planted[i] = planted[i] - right.kspace.values[i];
  const auto starts = validation::readout_starts(scan.trajectory, made.readout_length);
  const auto found = validation::tone_in(scan.trajectory, scan.kspace, starts);
  ASSERT_TRUE(found);
  EXPECT_NEAR(*found, frequency, 0.5 / static_cast<double>(std::min<Index>(made.readout_length, 256)));
  const auto tone = take_off_tone(scan.kspace, starts, sample_clock({}, scan.trajectory).times, *found);
  EXPECT_NEAR(tone.frequency, frequency, 1e-4);
  EXPECT_NEAR(tone.share, share / std::sqrt(1 + share * share), 0.003);
  EXPECT_EQ(tone.advances_alike, runs);
  for (Index i = 0; i < left.size(); ++i) left[i] = scan.kspace.values[i] - right.kspace.values[i];
  EXPECT_LT(std::sqrt(energy_of(left) / energy_of(planted)), most_is_left);
}

INSTANTIATE_TEST_SUITE_P(
    All, Tones,
    testing::Values(Planted{"radial", TrajectoryKind::golden_radial, 0.137, true, 0.02},
                    Planted{"radial_random", TrajectoryKind::golden_radial, 0.137, false, 0.1},
                    Planted{"spiral", TrajectoryKind::spiral, 0.137, true, 0.01},
                    Planted{"spiral_random", TrajectoryKind::spiral, 0.137, false, 0.02},
                    Planted{"cartesian", TrajectoryKind::cartesian, -0.41, true, 0.03},
                    Planted{"cartesian_random", TrajectoryKind::cartesian, -0.41, false, 0.25}),
    [](const auto& planted) { return std::string(planted.param.name); });

TEST(ToneSearch, finds_none_in_scans_that_are_right) {
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::spiral, TrajectoryKind::cartesian}) {
    const auto made = simulated(kind);
    EXPECT_FALSE(validation::tone_in(made.scan.trajectory, made.scan.kspace,
                                     validation::readout_starts(made.scan.trajectory, made.readout_length)));
  }
}

TEST(SampleClock, counts_in_dwell_times_where_times_are_known) {
  Trajectory trajectory{Array<double>({3, 4})};
  const auto counted = sample_clock({}, trajectory);
  EXPECT_EQ(counted.dwell_s, 0);
  EXPECT_EQ(counted.times, (std::vector<double>{0, 1, 2, 3}));
  Array<double> times({4});
  for (int m = 0; m < 4; ++m) times[m] = 0.25 + 0.5 * m;
  const auto clock = sample_clock(times, trajectory);
  EXPECT_EQ(clock.dwell_s, 0.5);
  EXPECT_EQ(clock.times, (std::vector<double>{0.5, 1.5, 2.5, 3.5}));
}

}  // namespace
}  // namespace fhd

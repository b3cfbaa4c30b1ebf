// Mistakes planted in the samples: found, with their size, and none in scans that are right.
#include "validation/verdict/data_findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

#include "validation/tests/validation/verdict/planted.hpp"
#include "validation/verdict/judgement.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;
using Index = std::int64_t;

double root_mean_square(const Scan& scan) {
  double sum = 0;
  for (const auto& d : scan.kspace.values) sum += norm(Complex<double>(d));
  return std::sqrt(sum / static_cast<double>(scan.kspace.values.size()));
}

struct Planted {
  const char* name;
  TrajectoryKind kind;
  std::array<int, 3> matrix_size;
  int coils;
  const char* code;
  double amount, tolerance;
  std::function<void(data::Simulation&)> plant;
};

std::function<void(data::Simulation&)> tone(double share, double frequency) {
  return [=](data::Simulation& made) {
    const double amplitude = share * root_mean_square(made.scan);
    change_samples(made, [&](Complex<float> d, Index, Index readout, Index n) {
      const double angle =
          2 * std::numbers::pi * (frequency * static_cast<double>(n) + 0.37 * static_cast<double>(readout));
      return d + Complex<float>(static_cast<float>(amplitude * std::cos(angle)),
                                static_cast<float>(amplitude * std::sin(angle)));
    });
  };
}

void hamming(data::Simulation& made) {
  const auto length = static_cast<double>(made.readout_length);
  change_samples(made, [&](Complex<float> d, Index, Index, Index n) {
    return static_cast<float>(
               0.54 - 0.46 * std::cos(2 * std::numbers::pi * (static_cast<double>(n) + 0.5) / length)) *
           d;
  });
}

/// Multiplies Cartesian samples by a window of |k| that is zero at its radius of 32 and beyond.
void hann(data::Simulation& made) {
  change_samples(made, [&](Complex<float> d, Index, Index readout, Index n) {
    const double radius = std::hypot(static_cast<double>(readout - 32), static_cast<double>(n - 32)) / 32;
    return static_cast<float>(0.5 + 0.5 * std::cos(std::numbers::pi * std::min(1.0, radius))) * d;
  });
}

/// Adds a tenth of the line at the centre of k-space to each.
void unencoded_echo(data::Simulation& made) {
  const auto told = made.scan.kspace.values;
  const Index samples = made.scan.kspace.sample_count(), length = made.readout_length,
              centre = made.readout_count / 2;
  change_samples(made, [&](Complex<float> d, Index coil, Index, Index n) {
    return d + 0.1f * told[coil * samples + centre * length + n];
  });
}

/// Moves k along x through each readout, by 3 cycles/FOV from its first to its last sample.
void drift(data::Simulation& made) {
  const auto length = static_cast<double>(made.readout_length);
  for (Index m = 0; m < made.scan.kspace.sample_count(); ++m) {
    double& k = made.scan.trajectory.k[m];
    k = std::clamp(k + 3 * (static_cast<double>(m % made.readout_length) / length - 0.5), -32.0, 32.0);
  }
}

/// Leaves out a readout; the last one comes twice.
std::function<void(data::Simulation&)> lost(Index which) {
  return [=](data::Simulation& made) {
    move_readouts(made, [&](Index j) { return j < which ? j : std::min(j + 1, made.readout_count - 1); });
  };
}

void exchange(data::Simulation& made) {
  move_readouts(made, [](Index j) { return j == 5 ? 9 : j == 9 ? 5 : j; });
}

void spike(data::Simulation& made) {
  const Index length = made.readout_length;
  for (Index coil = 0; coil < made.scan.kspace.coil_count(); ++coil)
    made.scan.kspace.values[coil * made.scan.kspace.sample_count() + 7 * length + length / 4] =
        Complex<float>(static_cast<float>(30 * root_mean_square(made.scan)), 0.f);
}

/// Multiplies readout j by factor(j).
std::function<void(data::Simulation&)> gains(const std::function<float(Index)>& factor) {
  return [=](data::Simulation& made) {
    change_samples(made, [&](Complex<float> d, Index, Index readout, Index) { return factor(readout) * d; });
  };
}

void noise_in_readout(data::Simulation& made) {
  const float size = static_cast<float>(10 * root_mean_square(made.scan));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  change_samples(made, [&](Complex<float> d, Index, Index readout, Index) {
    return readout == 20 ? Complex<float>(size * normal(random), size * normal(random)) : d;
  });
}

void ramp(data::Simulation& made) {
  change_samples(made, [](Complex<float> d, Index, Index, Index n) {
    return std::min(1.f, static_cast<float>(n) / 5) * d;
  });
}

std::function<void(data::Simulation&)> imaginary_gain(float gain) {
  return [=](data::Simulation& made) {
    change_samples(made,
                   [=](Complex<float> d, Index, Index, Index) { return Complex<float>(d.re, gain * d.im); });
  };
}

void wrap(data::Simulation& made) {
  float most = 0;
  for (const auto& d : made.scan.kspace.values) most = std::max({most, std::abs(d.re), std::abs(d.im)});
  most /= 3;
  const auto wrapped = [=](float x) { return x - 2 * most * std::floor((x + most) / (2 * most)); };
  change_samples(made, [&](Complex<float> d, Index, Index, Index) {
    return Complex<float>(wrapped(d.re), wrapped(d.im));
  });
}

void swap_neighbours(data::Simulation& made) {
  move_readouts(made, [&](Index j) { return std::min(j ^ 1, made.readout_count - 1); });
}

void even_first(data::Simulation& made) {
  const Index half = (made.readout_count + 1) / 2;
  move_readouts(made, [=](Index j) { return j < half ? 2 * j : 2 * (j - half) + 1; });
}

class DataFindings : public testing::TestWithParam<Planted> {};

TEST_P(DataFindings, tell_a_planted_mistake_with_its_size) {
  const auto& planted = GetParam();
  auto made = simulated(planted.kind, planted.matrix_size, planted.coils);
  planted.plant(made);
  const Verdict v = verdict_of(made.scan);
  ASSERT_TRUE(v.cause) << v.sentence;
  EXPECT_EQ(v.cause->code, planted.code) << v.cause->text;
  EXPECT_NEAR(v.cause->amount, planted.amount, planted.tolerance) << v.cause->text;
  EXPECT_EQ(v.judgement, Verdict::Judgement::unexplained);
}

// The line at the centre has twice the signal of three lines on both sides: 0.02 of it is 0.04 of theirs.
// A window at the ends is the mean of the last 24th of a readout: 0.08 at its end, 0.09 there.
INSTANTIATE_TEST_SUITE_P(
    All, DataFindings,
    testing::Values(
        Planted{"tone_radial", TrajectoryKind::golden_radial, {64, 64, 1}, 4, "tone", 20, 3, tone(0.2, 0.13)},
        Planted{"tone_spiral", TrajectoryKind::spiral, {64, 64, 1}, 4, "tone", 10, 1.5, tone(0.1, 0.13)},
        Planted{
            "tone_spiral_one_coil", TrajectoryKind::spiral, {64, 64, 1}, 1, "tone", 10, 1.5, tone(0.1, 0.13)},
        Planted{
            "tone_cartesian", TrajectoryKind::cartesian, {64, 64, 1}, 1, "tone", 30, 4.5, tone(0.3, 0.41)},
        Planted{"hamming_radial", TrajectoryKind::golden_radial, {64, 64, 1}, 4, "window", 9, 1.4, hamming},
        Planted{"hamming_spiral", TrajectoryKind::spiral, {64, 64, 1}, 4, "window", 9, 1.4, hamming},
        Planted{"lost_radial", TrajectoryKind::golden_radial, {48, 48, 1}, 4, "order", 30, 1, lost(30)},
        Planted{"lost_spiral", TrajectoryKind::spiral, {96, 96, 1}, 6, "order", 4, 1, lost(4)},
        Planted{"lost_3d", TrajectoryKind::stack_of_stars, {24, 24, 8}, 4, "order", 90, 2, lost(90)},
        Planted{"exchanged", TrajectoryKind::spiral, {96, 96, 1}, 6, "exchange", 5, 0.1, exchange},
        Planted{"spike", TrajectoryKind::golden_radial, {48, 48, 1}, 4, "spikes", 1, 0.1, spike},
        Planted{"gain_radial",
                TrajectoryKind::golden_radial,
                {48, 48, 1},
                4,
                "odd_readouts",
                10,
                1,
                gains([](Index j) { return j == 20 ? 10.f : 1.f; })},
        Planted{"gain_cartesian",
                TrajectoryKind::cartesian,
                {64, 64, 1},
                4,
                "odd_readouts",
                10,
                3,
                gains([](Index j) { return j == 20 ? 10.f : 1.f; })},
        Planted{"lost_readouts",
                TrajectoryKind::golden_radial,
                {48, 48, 1},
                4,
                "odd_readouts",
                5,
                0.1,
                gains([](Index j) { return j % 12 == 5 ? 1e-3f : 1.f; })},
        Planted{"lost_centre",
                TrajectoryKind::cartesian,
                {64, 64, 1},
                4,
                "odd_readouts",
                0.04,
                0.01,
                gains([](Index j) { return j == 32 ? 0.02f : 1.f; })},
        Planted{"noise_in_readout",
                TrajectoryKind::golden_radial,
                {48, 48, 1},
                4,
                "odd_readouts",
                20,
                0.1,
                noise_in_readout},
        Planted{"hann_one_coil", TrajectoryKind::cartesian, {64, 64, 1}, 1, "window", 0.3, 0.3, hann},
        Planted{
            "unencoded", TrajectoryKind::cartesian, {64, 64, 1}, 4, "unencoded", 9.1, 0.2, unencoded_echo},
        Planted{"drift", TrajectoryKind::golden_radial, {64, 64, 1}, 4, "shim", -3, 0.1, drift},
        Planted{"ramp", TrajectoryKind::spiral, {64, 64, 1}, 4, "samples", 3, 2, ramp},
        Planted{
            "imaginary_lost", TrajectoryKind::spiral, {64, 64, 1}, 4, "imaginary", 0, 0.1, imaginary_gain(0)},
        Planted{"imaginary_half",
                TrajectoryKind::cartesian,
                {64, 64, 1},
                4,
                "imaginary",
                50,
                6,
                imaginary_gain(0.5f)},
        Planted{"wrapped", TrajectoryKind::golden_radial, {48, 48, 1}, 4, "wrapped", 1e4, 1e4, wrap},
        Planted{
            "swapped", TrajectoryKind::golden_radial, {48, 48, 1}, 4, "exchange", 0, 0.1, swap_neighbours},
        Planted{"even_first", TrajectoryKind::cartesian, {64, 64, 1}, 4, "exchange", 0, 0.1, even_first}),
    [](const auto& planted) { return std::string(planted.param.name); });

TEST(DataFindings, find_nothing_in_scans_that_are_right) {
  const struct {
    TrajectoryKind kind;
    std::array<int, 3> matrix_size;
    int coils;
  } cases[] = {{TrajectoryKind::golden_radial, {64, 64, 1}, 6},
               {TrajectoryKind::spiral, {48, 61, 1}, 4},
               {TrajectoryKind::spiral, {64, 64, 1}, 1},
               {TrajectoryKind::cartesian, {48, 48, 1}, 8},
               {TrajectoryKind::cartesian, {64, 64, 1}, 1},
               {TrajectoryKind::stack_of_stars, {24, 24, 12}, 4},
               {TrajectoryKind::variable_density_spiral, {64, 64, 1}, 8}};
  for (const auto& [kind, matrix_size, coils] : cases) {
    const Verdict v = verdict_of(simulated(kind, matrix_size, coils).scan);
    for (const char* code : {"tone", "window", "order", "exchange", "spikes", "offset", "imaginary",
                             "wrapped", "odd_readouts", "samples", "unencoded"}) {
      const auto* found = validation::change_of(v, code);
      EXPECT_EQ(found, nullptr) << data::name_of(kind) << ": " << found->text;
    }
  }
}

}  // namespace
}  // namespace fhd

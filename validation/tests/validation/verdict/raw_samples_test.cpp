// Mistakes that the samples of a file show by themselves: each under its name, and none in scans that are right.
#include "validation/verdict/raw_samples.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <random>

#include "data/simulate.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;
using Index = std::int64_t;
using Change = std::function<void(data::Simulation&)>;

data::Simulation raw_scan(TrajectoryKind kind) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {64, 64, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 4;
  return data::simulate(settings);
}

void round_samples(data::Simulation& made, float step) {
  for (auto& d : made.scan.kspace.values)
    d = {step * std::round(d.re / step), step * std::round(d.im / step)};
}

/// Rounds to a step that is a fifth of the root mean square.
void cast_to_integers(data::Simulation& made) {
  double square = 0;
  for (const auto& d : made.scan.kspace.values) square += norm(Complex<double>(d));
  round_samples(
      made, static_cast<float>(std::sqrt(square / static_cast<double>(made.scan.kspace.values.size()) / 5)));
}

void round_positions(data::Simulation& made) {
  for (double& k : made.scan.trajectory.k) k = std::rint(k);
}

void read_floats_late(data::Simulation& made) {
  auto& d = made.scan.kspace.values;
  for (Index i = 0; i < d.size(); ++i) d[i] = {d[i].im, i + 1 < d.size() ? d[i + 1].re : 0};
}

/// Replaces each readout d(n) by sum_n d(n) exp(i 2 pi n x / N), x from -N/2 on.
void transform_readouts(data::Simulation& made) {
  const Index length = made.readout_length;
  auto& values = made.scan.kspace.values;
  for (Index first = 0; first < values.size(); first += length) {
    std::vector<std::complex<double>> profile(static_cast<std::size_t>(length));
    for (Index x = 0; x < length; ++x)
      for (Index n = 0; n < length; ++n)
        profile[static_cast<std::size_t>(x)] +=
            std::complex<double>(static_cast<double>(values[first + n].re),
                                 static_cast<double>(values[first + n].im)) *
            std::polar(1.0, 2 * std::numbers::pi * static_cast<double>((n - length / 2) * (x - length / 2)) /
                                static_cast<double>(length));
    for (Index x = 0; x < length; ++x)
      values[first + x] = {static_cast<float>(profile[static_cast<std::size_t>(x)].real()),
                           static_cast<float>(profile[static_cast<std::size_t>(x)].imag())};
  }
}

void unlock_second_board(data::Simulation& made) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> turn(0, 2 * std::numbers::pi);
  auto& kspace = made.scan.kspace;
  for (Index first = 0; first < kspace.sample_count(); first += made.readout_length) {
    const double angle = turn(random);
    for (Index coil = 2; coil < 4; ++coil)
      for (Index n = 0; n < made.readout_length; ++n) {
        auto& d = kspace.values[coil * kspace.sample_count() + first + n];
        d = Complex<float>(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))) * d;
      }
  }
}

/// Moves the samples of readout j by places(j); those at its ends repeat, they do not wrap.
Change move_samples(const std::function<Index(Index)>& places) {
  return [=](data::Simulation& made) {
    const auto told = made.scan.kspace.values;
    const Index length = made.readout_length, readouts = made.readout_count;
    for (Index i = 0; i < told.size(); ++i) {
      const Index n = i % length;
      made.scan.kspace.values[i] =
          told[i - n + std::clamp<Index>(n - places(i / length % readouts), 0, length - 1)];
    }
  };
}

Index random_place(Index readout) { return (readout * readout * 7919 + readout * 104729) / 13 % 3 - 1; }

void move_positions(data::Simulation& made) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal(0, 0.5);
  auto& k = made.scan.trajectory.k;
  for (Index first = 0; first < 2 * made.scan.kspace.sample_count(); first += made.readout_length) {
    const double by = normal(random);
    for (Index n = 0; n < made.readout_length; ++n) k[first + n] += by;
  }
}

struct RawMistake {
  const char* name;
  TrajectoryKind kind;
  const char* code;
  double amount, tolerance;
  Change plant;
};

std::optional<Finding> cause_told(const Scan& scan) {
  auto found = validation::cause_in_raw_samples(scan, true);
  return found ? found : validation::cause_by_elimination(scan);
}

class RawSamples : public testing::TestWithParam<RawMistake> {};

TEST_P(RawSamples, tell_a_planted_mistake_with_its_size) {
  const auto& planted = GetParam();
  auto made = raw_scan(planted.kind);
  planted.plant(made);
  const auto found = cause_told(made.scan);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, planted.code) << found->text;
  EXPECT_NEAR(found->amount, planted.amount, planted.tolerance) << found->text;
}

// A step s of rms^2 = 5 s^2 changes both parts by s / sqrt(12) each: 100 sqrt(1 / 6 / 5) = 18 %.
// Places of -1, 0 and 1 have 0.8 samples rms.
INSTANTIATE_TEST_SUITE_P(
    All, RawSamples,
    testing::Values(
        RawMistake{"rounded", TrajectoryKind::golden_radial, "rounded", 18, 1, cast_to_integers},
        RawMistake{"rounded_lines", TrajectoryKind::cartesian, "rounded", 18, 1, cast_to_integers},
        RawMistake{"positions", TrajectoryKind::golden_radial, "rounded_positions", 1, 1e-6, round_positions},
        RawMistake{"positions_of_spirals", TrajectoryKind::spiral, "rounded_positions", 1, 1e-6,
                   round_positions},
        RawMistake{"floats", TrajectoryKind::spiral, "floats", 1, 0, read_floats_late},
        RawMistake{"projections", TrajectoryKind::golden_radial, "transformed", 10, 10, transform_readouts},
        RawMistake{"hybrid_space", TrajectoryKind::cartesian, "transformed", 10, 10, transform_readouts},
        RawMistake{"boards", TrajectoryKind::golden_radial, "boards", 2, 0, unlock_second_board},
        RawMistake{"boards_of_lines", TrajectoryKind::cartesian, "boards", 2, 0, unlock_second_board},
        RawMistake{"lost_samples", TrajectoryKind::golden_radial, "lost_samples", -5, 0,
                   move_samples([](Index j) { return j < 40 ? 0 : -5; })},
        RawMistake{"jitter", TrajectoryKind::golden_radial, "jitter", 0.8, 0.1, move_samples(random_place)},
        RawMistake{"phase_ramps", TrajectoryKind::golden_radial, "phase_ramps", 0.7, 0.3, move_positions}),
    [](const auto& planted) { return std::string(planted.param.name); });

TEST(RawSamples, tell_nothing_of_scans_that_are_right) {
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::radial, TrajectoryKind::spiral,
                          TrajectoryKind::variable_density_spiral, TrajectoryKind::cartesian}) {
    const auto found = cause_told(raw_scan(kind).scan);
    EXPECT_FALSE(found) << data::name_of(kind) << ": " << found->text;
  }
}

TEST(RawSamples, integers_of_a_receiver_whose_noise_is_a_step_are_right) {
  auto made = raw_scan(TrajectoryKind::golden_radial);
  std::mt19937 random(3);
  std::normal_distribution<float> noise(0, 0.01f);
  for (auto& d : made.scan.kspace.values) d = {0.001f * d.re + noise(random), 0.001f * d.im + noise(random)};
  round_samples(made, 0.01f);
  const auto found = validation::cause_in_raw_samples(made.scan, true);
  EXPECT_TRUE(!found || found->code != "rounded") << found->text;
}

}  // namespace
}  // namespace fhd

// Mistakes planted in the lines of a Cartesian scan without maps: found, with their size, and none in lines that are right.
#include "validation/verdict/line_causes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <random>

#include "validation/tests/validation/verdict/planted.hpp"

namespace fhd {
namespace {

using Index = std::int64_t;
using Lines = data::Simulation;

Lines simulated_lines(double noise = 30, int coils = 6,
                      data::PhantomKind phantom = data::PhantomKind::shepp_logan, int matrix = 64) {
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::cartesian;
  settings.trajectory.matrix_size = {matrix, matrix, 1};
  settings.phantom = phantom;
  settings.coil_count = coils;
  settings.snr = noise;
  return data::simulate(settings);
}

std::optional<Finding> cause_in(const Lines& made) {
  const auto& scan = made.scan;
  VerifierInput<float> input{scan.trajectory, scan.geometry.matrix_size, scan.kspace.values.data(), 1,
                             nullptr};
  input.coil_count = scan.kspace.coil_count();
  std::vector<Index> starts;
  for (Index j = 0; j <= made.readout_count; ++j) starts.push_back(j * made.readout_length);
  return validation::cause_in_lines(input, starts, 0.05);
}

std::function<void(Lines&)> each(const SampleChange& change) {
  return [=](Lines& made) { change_samples(made, change); };
}
Complex<float> turned(Complex<float> value, double angle) {
  return Complex<float>(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))) * value;
}
/// Moves the object by voxels along x and y, times when(share of the scan).
std::function<void(Lines&)> moved(double x, double y, const std::function<double(double)>& when) {
  return each([=](Complex<float> value, Index, Index line, Index place) {
    const double turns = (x * static_cast<double>(place - 32) + y * static_cast<double>(line - 32)) / 64;
    return turned(value, -2 * std::numbers::pi * turns * when(static_cast<double>(line) / 64));
  });
}
/// Puts line source(j) at the place of line j.
std::function<void(Lines&)> from(const std::function<Index(Index)>& source) {
  return [=](Lines& made) { move_readouts(made, source); };
}
double drawn(Index line, unsigned seed) {
  std::mt19937 generator(seed + static_cast<unsigned>(line));
  return std::normal_distribution<double>()(generator);
}

struct PlantedInLines {
  const char* name;
  std::function<void(Lines&)> plant;
  const char* code;
  double amount, tolerance;  ///< of its size; tolerance 0: any
};

class LineCauses : public testing::TestWithParam<PlantedInLines> {};

TEST_P(LineCauses, are_found_with_their_size) {
  auto made = simulated_lines();
  GetParam().plant(made);
  const auto found = cause_in(made);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, GetParam().code) << found->text;
  EXPECT_GE(found->image_change, 0.05);
  if (GetParam().tolerance > 0) {
    EXPECT_NEAR(found->amount, GetParam().amount, GetParam().tolerance) << found->text;
  }
}

constexpr double degree = std::numbers::pi / 180;
INSTANTIATE_TEST_SUITE_P(
    Planted, LineCauses,
    testing::Values(
        PlantedInLines{"phase_of_every_second",
                       each([](auto d, Index, Index j, Index) { return turned(d, j % 2 * 40 * degree); }),
                       "phase", 40, 3},
        PlantedInLines{"rf_spoiling", each([](auto d, Index, Index j, Index) {
                         return turned(d, 117 * degree * static_cast<double>(j * (j + 1) / 2));
                       }),
                       "phase", 117, 1},
        PlantedInLines{"random_phases",
                       each([](auto d, Index, Index j, Index) { return turned(d, drawn(j, 1)); }), "phase", 0,
                       0},
        PlantedInLines{"random_gains", each([](auto d, Index, Index j, Index) {
                         return static_cast<float>(std::exp(0.3 * drawn(j, 2))) * d;
                       }),
                       "signal", 30, 10},
        PlantedInLines{"one_of_ten_times_the_gain",
                       each([](auto d, Index, Index j, Index) { return (j == 24 ? 10.f : 1.f) * d; }),
                       "odd_readouts", 10, 1.5},
        PlantedInLines{"lost_line",
                       each([](auto d, Index, Index j, Index) { return (j == 28 ? 1e-6f : 1.f) * d; }),
                       "odd_readouts", 0, 0.2},
        PlantedInLines{"breathing",
                       moved(0, 2, [](double time) { return std::sin(2 * std::numbers::pi * 5 * time); }),
                       "motion", 2, 0.3},
        PlantedInLines{"a_move_along_y", moved(0, 1.5, [](double time) { return time < 0.5 ? 0. : 1.; }),
                       "motion", 1.5, 0.75},
        PlantedInLines{"a_move_along_x", moved(3, 0, [](double time) { return time < 0.4 ? 0. : 1.; }),
                       "motion", 3, 0.5},
        PlantedInLines{"two_exchanged", from([](Index j) { return j == 29   ? 34
                                                                  : j == 34 ? 29
                                                                            : j; }),
                       "exchange", 29, 0.5},
        PlantedInLines{"neighbours_swapped", from([](Index j) { return j ^ 1; }), "exchange", 0, 0},
        PlantedInLines{"a_coil_conjugated",
                       each([](auto d, Index coil, Index, Index) { return coil == 1 ? conj(d) : d; }), "coil",
                       1, 0.5},
        PlantedInLines{"a_coil_lost", each([](auto d, Index coil, Index j, Index) {
                         return (coil == 1 && j >= 32 ? 0.f : 1.f) * d;
                       }),
                       "coil", 1, 0.5}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(LineCausesOfRightLines, are_none) {
  for (const double noise : {5., 30., 200.}) {
    const auto found = cause_in(simulated_lines(noise));
    EXPECT_FALSE(found) << found->text;
  }
}

// A line that is moved between samples must not lose noise, and two coils look likelier with one of them conjugated.
TEST(LineCausesOfRightLines, are_none_in_noise) {
  for (const auto phantom : {data::PhantomKind::resolution, data::PhantomKind::anatomy})
    for (const int coils : {2, 4})
      for (const double noise : {3., 10.}) {
        const auto found = cause_in(simulated_lines(noise, coils, phantom));
        EXPECT_FALSE(found) << found->text;
      }
}

// The lines that are kept of more than 160 begin with an odd readout here.
TEST(LineCausesOfManyLines, are_told_by_number) {
  auto made = simulated_lines(30, 4, data::PhantomKind::shepp_logan, 190);
  from([](Index j) { return j ^ 1; })(made);
  const auto found = cause_in(made);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, "exchange") << found->text;
}

}  // namespace
}  // namespace fhd

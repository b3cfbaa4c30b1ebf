// Density compensation is the fixed point of its iteration, and nothing else is.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/trajectory.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

struct Case {
  std::string name;
  Trajectory trajectory;
  std::array<int, 3> matrix_size;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto kind : data::trajectory_kinds)
    for (const double undersampling : {1.0, 3.0}) {
      data::TrajectorySettings settings;
      settings.kind = kind;
      settings.undersampling = undersampling;
      const bool is_3d = data::dimensions_of(kind) == 3;
      settings.matrix_size = {is_3d ? 16 : 33, is_3d ? 16 : 33, is_3d ? 16 : 1};
      settings.fov_mm = {240, 240, is_3d ? 240.0 : 5.0};
      all.push_back({std::string(data::name_of(kind)) + (undersampling > 1 ? ", a third" : ""),
                     data::design_trajectory(settings).trajectory, settings.matrix_size});
    }
  for (const int samples : {1, 50, 500, 2000, 5000})
    all.push_back({std::to_string(samples) + " at random",
                   tests::random_trajectory({32, 32, 1}, samples, 1),
                   {32, 32, 1}});
  return all;
}

// recon/pipeline/trajectory_operators.cpp takes twice of both for density compensation.
TEST(DensityDeviation, of_what_is_made_is_small_for_every_design) {
  for (const auto& [name, trajectory, matrix_size] : cases()) {
    const auto found =
        density_deviation(trajectory, matrix_size, density_compensation(trajectory, matrix_size));
    EXPECT_LE(found.largest, 0.175) << name;
    EXPECT_LE(found.rms, 0.016) << name;
  }
}

/// Returns the deviation of a radial scan.
class Changed : public testing::Test {
 protected:
  template <class Change>
  DensityDeviation of(const Change& change) const {
    auto weights = weights_;
    for (std::int64_t m = 0; m < weights.size(); ++m) weights[m] = change(m, weights[m]);
    return density_deviation(trajectory_, matrix_size_, weights);
  }
  const std::array<int, 3> matrix_size_{32, 32, 1};
  const Trajectory trajectory_ = [this] {
    data::TrajectorySettings settings;
    settings.matrix_size = matrix_size_;
    settings.fov_mm = {240, 240, 5};
    return data::design_trajectory(settings).trajectory;
  }();
  const Array<double> weights_ = density_compensation(trajectory_, matrix_size_);
};
using DensityDeviationOfChanges = Changed;

TEST_F(DensityDeviationOfChanges, is_the_change_of_a_scale) {
  const double own = of([](std::int64_t, double w) { return w; }).rms;
  for (const double factor : {0.5, 0.95, 1.05, 2.0}) {
    const auto found = of([&](std::int64_t, double w) { return factor * w; });
    EXPECT_NEAR(found.rms, std::abs(factor - 1), factor * own) << factor;
    EXPECT_GT(found.rms, 0.03) << factor;
  }
}

TEST_F(DensityDeviationOfChanges, shows_a_flat_one_and_one_of_another_order) {
  const auto samples = weights_.size();
  EXPECT_GT(of([&](std::int64_t, double) { return 1.0 / static_cast<double>(samples); }).largest, 1);
  EXPECT_GT(of([&](std::int64_t m, double) { return weights_[(m + samples / 7) % samples]; }).largest, 1);
}

TEST_F(DensityDeviationOfChanges, shows_one_sample_among_many) {
  EXPECT_GT(of([](std::int64_t m, double w) { return m == 100 ? 100 * w : w; }).largest, 0.35);
}

TEST_F(DensityDeviationOfChanges, is_infinite_where_a_weight_is_none) {
  for (const double wrong : {0.0, -1e-3, std::nan(""), HUGE_VAL})
    EXPECT_EQ(of([&](std::int64_t m, double w) { return m == 7 ? wrong : w; }).rms, HUGE_VAL) << wrong;
}

}  // namespace
}  // namespace fhd

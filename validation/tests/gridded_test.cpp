// The gridded transform against the direct one, at the accuracy that was asked for.
#include <gtest/gtest.h>

#include <limits>

#include "data/trajectory.hpp"
#include "recon/fourier/fourier_transform.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using tests::random_values;

struct NamedTrajectory {
  std::string name;
  std::array<int, 3> matrix_size;
  Trajectory trajectory;
  std::int64_t coils;
};

/// Random samples on every matrix of the direct tests, and designed trajectories, odd sizes included; all of
/// them reach the edge of k-space.
const std::vector<NamedTrajectory>& trajectories() {
  static const auto all = [] {
    std::vector<NamedTrajectory> list;
    unsigned seed = 1;
    for (const auto& c : tests::transform_cases())
      list.push_back({"random, " + c.text(), c.matrix_size,
                      tests::random_trajectory(c.matrix_size, c.samples, seed++), c.coils});
    using enum data::TrajectoryKind;
    for (const auto& [kind, matrix] : std::vector<std::pair<data::TrajectoryKind, std::array<int, 3>>>{
             {radial, {48, 48, 1}},
             {golden_radial, {51, 51, 1}},
             {spiral, {64, 64, 1}},
             {variable_density_spiral, {45, 45, 1}},
             {cartesian, {20, 17, 1}},
             {stack_of_stars, {24, 24, 7}},
             {stack_of_spirals, {20, 20, 6}},
             {golden_means_radial_3d, {15, 15, 15}},
             {phyllotaxis_radial_3d, {16, 16, 12}}}) {
      data::TrajectorySettings settings;
      settings.kind = kind;
      settings.matrix_size = matrix;
      settings.fov_mm = {240, 240, matrix[2] == 1 ? 5.0 : 240};
      settings.undersampling = 4;
      list.push_back(
          {std::string(data::name_of(kind)), matrix, data::design_trajectory(settings).trajectory, 2});
    }
    return list;
  }();
  return all;
}

template <class T>
class GriddedTransform : public ::testing::Test {
 protected:
  /// Accuracies that a user may ask for: those of the contract within reach of the tests' direct transform.
  static std::vector<double> accuracies() {
    if (sizeof(T) == 4) return {1e-2, 1e-3, 1e-5};
    return {1e-3, 1e-5, 1e-8, 1e-11};
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GriddedTransform, Precisions);

TYPED_TEST(GriddedTransform, is_as_close_to_the_direct_transform_as_requested) {
  unsigned seed = 1001;
  for (const auto& c : trajectories()) {
    const auto direct = make_direct_transform<double>(c.trajectory, c.matrix_size, Backend::cpu);
    const auto images = random_values<TypeParam>(direct->images_shape(c.coils), seed++);
    const auto samples = random_values<TypeParam>(direct->samples_shape(c.coils), seed++);
    Array<Complex<double>> exact_samples(samples.shape()), exact_images(images.shape());
    direct->forward(converted<Complex<double>>(images), exact_samples);
    direct->adjoint(converted<Complex<double>>(samples), exact_images);
    for (const double accuracy : this->accuracies()) {
      SCOPED_TRACE(c.name + ", accuracy " + std::to_string(accuracy));
      const auto gridded =
          make_gridded_transform<TypeParam>(c.trajectory, c.matrix_size, accuracy, Backend::cpu);
      Array<Complex<TypeParam>> gridded_samples(samples.shape()), gridded_images(images.shape());
      gridded->forward(images, gridded_samples);
      gridded->adjoint(samples, gridded_images);
      EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(gridded_samples), exact_samples), accuracy);
      EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(gridded_images), exact_images), accuracy);
    }
  }
}

TYPED_TEST(GriddedTransform, adjoint_is_conjugate_transpose) {
  // Forward and adjoint share kernel, roll-off and FFT, so that they are transposes to rounding whatever the
  // requested accuracy: 6e-8 (1e-16) times the root of the number of operations per output.
  unsigned seed = 2001;
  for (const auto& c : trajectories())
    for (const double accuracy : {1e-2, 1e-5}) {
      SCOPED_TRACE(c.name + ", accuracy " + std::to_string(accuracy));
      const auto gridded =
          make_gridded_transform<TypeParam>(c.trajectory, c.matrix_size, accuracy, Backend::cpu);
      const auto x = random_values<TypeParam>(gridded->images_shape(c.coils), seed++);
      const auto y = random_values<TypeParam>(gridded->samples_shape(c.coils), seed++);
      Array<Complex<TypeParam>> ax(y.shape()), ahy(x.shape());
      gridded->forward(x, ax);
      gridded->adjoint(y, ahy);
      EXPECT_LE(tests::adjointness_error(x, ax, y, ahy), sizeof(TypeParam) == 4 ? 1e-6 : 1e-13);
    }
}

TYPED_TEST(GriddedTransform, takes_samples_slightly_beyond_the_edge) {
  // Files round k: |k| up to N/2 x 1.005 is accepted by Scan::validate, and must not fall off the grid.
  const std::array<int, 3> matrix{12, 11, 1};
  Trajectory trajectory{Array<double>({3, 4})};
  for (int m = 0; m < 4; ++m) {
    trajectory.k[m] = (m % 2 ? 1 : -1) * 6 * 1.005;
    trajectory.k[4 + m] = (m / 2 ? 1 : -1) * 5.5 * 1.005;
  }
  const auto direct = make_direct_transform<double>(trajectory, matrix, Backend::cpu);
  const auto gridded = make_gridded_transform<TypeParam>(trajectory, matrix, 1e-5, Backend::cpu);
  const auto samples = random_values<TypeParam>({1, 4}, 1);
  Array<Complex<double>> exact(direct->images_shape(1));
  Array<Complex<TypeParam>> image(exact.shape());
  direct->adjoint(converted<Complex<double>>(samples), exact);
  gridded->adjoint(samples, image);
  EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(image), exact), 1e-5);
}

TYPED_TEST(GriddedTransform, overwrites_what_was_in_the_output) {
  const std::array<int, 3> matrix{10, 9, 4};
  const auto gridded =
      make_gridded_transform<TypeParam>(tests::random_trajectory(matrix, 300, 1), matrix, 1e-5, Backend::cpu);
  const auto images = random_values<TypeParam>(gridded->images_shape(2), 2);
  auto fresh = Array<Complex<TypeParam>>(gridded->samples_shape(2)),
       used = random_values<TypeParam>(fresh.shape(), 3);
  gridded->forward(images, fresh);
  gridded->forward(images, used);
  EXPECT_TRUE(std::equal(fresh.begin(), fresh.end(), used.begin()));
  auto fresh_images = Array<Complex<TypeParam>>(images.shape()), used_images = images;
  gridded->adjoint(fresh, fresh_images);
  gridded->adjoint(fresh, used_images);
  EXPECT_TRUE(std::equal(fresh_images.begin(), fresh_images.end(), used_images.begin()));
}

TYPED_TEST(GriddedTransform, refuses_accuracies_that_it_cannot_reach) {
  const std::array<int, 3> matrix{8, 8, 1};
  const auto trajectory = tests::random_trajectory(matrix, 20, 1);
  for (const double accuracy : {0.0, -1.0, 1e-16, 2.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(make_gridded_transform<TypeParam>(trajectory, matrix, accuracy, Backend::cpu), Error)
        << accuracy;
}

}  // namespace

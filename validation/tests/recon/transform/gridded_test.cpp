// The gridded transform against the direct one, at the accuracy that was asked for; its kernel, Q, and
// density compensation.
#include "recon/transform/gridded/gridded.hpp"

#include <limits>
#include <random>

#include "recon/array/fft.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "validation/tests/recon/transform/transform_checks.hpp"

namespace {

using namespace fhd;
using tests::designed;
using tests::random_values;
using tests::relative_error;

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
  for (const auto& c : tests::trajectories()) {
    SCOPED_TRACE(c.name);
    tests::expect_accuracy<TypeParam>(c.trajectory, c.matrix_size, c.coils, this->accuracies(), Device::cpu(),
                                      seed);
    seed += 2;
  }
  tests::expect_accuracy<TypeParam>(tests::beyond_the_edge({12, 11, 1}), {12, 11, 1}, 1, {1e-5},
                                    Device::cpu());
}

TEST(GriddedTransformAccuracy, keeps_its_accuracy_on_large_matrices) {
  // Few samples on a large matrix: the grid is oversampled least, and rounding errors must not grow beyond the request.
  const std::array<int, 3> matrix{162, 162, 162};
  const auto trajectory = tests::random_trajectory(matrix, 300, 1);
  const auto samples = random_values<float>({1, 300}, 2);
  const auto direct = make_direct_transform<float>(trajectory, matrix, Device::cpu());  // its error: 1e-6
  Array<Complex<float>> exact(direct->images_shape(1)), found(exact.shape());
  direct->adjoint(samples, exact);
  for (const double accuracy : {1e-3, 1e-4, 1e-5}) {
    make_gridded_transform<float>(trajectory, matrix, accuracy, Device::cpu())->adjoint(samples, found);
    EXPECT_LE(relative_error(found, exact), accuracy);
  }
}

TYPED_TEST(GriddedTransform, refuses_accuracies_that_it_cannot_reach) {
  const std::array<int, 3> matrix{8, 8, 1};
  const auto trajectory = tests::random_trajectory(matrix, 20, 1);
  for (const double accuracy : {0.0, -1.0, 1e-16, 2.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(make_gridded_transform<TypeParam>(trajectory, matrix, accuracy, Device::cpu()), Error)
        << accuracy;
}

TYPED_TEST(GriddedTransform, point_spread_is_as_close_to_the_direct_one_as_requested) {
  tests::expect_accurate_point_spreads<TypeParam>(this->accuracies(), Device::cpu());
}

TEST(KaiserBessel, bessel_function_has_its_tabulated_values) {
  // Abramowitz and Stegun, table 9.8, and its defining series.
  EXPECT_EQ(bessel_i0(0), 1);
  EXPECT_NEAR(bessel_i0(1), 1.2660658777520084, 1e-15);
  EXPECT_NEAR(bessel_i0(10) / 2815.7166284662544, 1, 1e-14);
}

TEST(KaiserBessel, polynomials_reproduce_the_kernel_to_the_requested_accuracy) {
  for (const double accuracy : {1e-2, 1e-3, 1e-5, 1e-8}) {
    const KaiserBessel kernel(accuracy, 2);
    for (int i = 0; i < kernel.width; ++i)
      for (double z = -1; z < 1; z += 0.05) {
        double sum = 0, power = 1;
        for (const auto& coefficients : kernel.coefficients) sum += coefficients[i] * power, power *= z;
        EXPECT_LE(std::abs(sum - kernel.value(-kernel.width / 2.0 + i + (z + 1) / 2)), accuracy);
      }
  }
}

TEST(KaiserBessel, transform_is_the_integral_of_the_kernel) {
  const KaiserBessel kernel(1e-5, 2);
  for (const double xi : {0.0, 0.1, 0.25, 0.3}) {
    // The kernel jumps by 1 / I0(beta) at its ends and is smooth between: the midpoint rule is good to h^2.
    const int steps = 20000;
    const double h = static_cast<double>(kernel.width) / steps;
    double integral = 0;
    for (int i = 0; i < steps; ++i) {
      const double u = -kernel.width / 2.0 + (i + 0.5) * h;
      integral += h * kernel.value(u) * std::cos(2 * std::numbers::pi * xi * u);
    }
    EXPECT_NEAR(kernel.transform(xi), integral, 1e-6 * kernel.transform(0)) << xi;
  }
}

TEST(KaiserBessel, width_grows_with_accuracy_and_is_refused_beyond_reach) {
  EXPECT_LT(KaiserBessel(1e-2, 2).width, KaiserBessel(1e-5, 2).width);
  EXPECT_LT(KaiserBessel(1e-5, 2).width, KaiserBessel(1e-5, 1.25).width);
  EXPECT_THROW(KaiserBessel(1e-15, 1.1), Error);
  EXPECT_THROW(KaiserBessel(0, 2), Error);
}

TransformSizes sizes(std::array<int, 3> matrix, std::int64_t samples, Precision precision, Device device) {
  return {matrix, {samples, samples, samples}, precision, device};
}

TEST(Gridding, grid_and_kernel_have_one_point_on_an_axis_of_one_voxel) {
  const auto g = choose_gridding(sizes({48, 51, 1}, 1, Precision::single_precision, Device::cpu()), 1e-3);
  for (int axis = 0; axis < 2; ++axis) {
    EXPECT_GE(static_cast<double>(g.grid[axis]), g.kernel.oversampling * g.matrix_size[axis]);
    EXPECT_EQ(g.grid[axis], good_fft_size(static_cast<int>(g.grid[axis])));
  }
  EXPECT_EQ(g.grid[2], 1);
  EXPECT_EQ(g.points, (std::array<int, 3>{g.kernel.width, g.kernel.width, 1}));
  EXPECT_EQ(g.grid_points(), g.grid[0] * g.grid[1]);
  EXPECT_EQ(g.kernel_points(), g.kernel.width * g.kernel.width);
}

TEST(Gridding, is_a_compiled_width_that_keeps_the_accuracy) {
  for (const auto device : {Device::cpu(), Device::cuda()}) {
    for (const auto precision : {Precision::single_precision, Precision::double_precision})
      for (const double accuracy : {1e-2, 1e-3, 1e-5})
        for (const std::int64_t samples : {1000, 100000000}) {
          const auto g = choose_gridding(sizes({96, 96, 96}, samples, precision, device), accuracy);
          const auto& single = compiled_widths<float>;
          const auto& wide = compiled_widths<double>;
          EXPECT_TRUE(precision == Precision::single_precision
                          ? std::count(single.begin(), single.end(), g.kernel.width)
                          : std::count(wide.begin(), wide.end(), g.kernel.width));
          if (g.products != Products::full) {
            EXPECT_LE(g.kernel.width, 8);
            EXPECT_EQ(g.grid[0] % 4, 0);
          }
          // gridding.hpp: the bound of the aliasing error; kernels of tensor cores keep to its mean, a fifth to a half.
          const double share = std::sqrt(1 - 1 / g.kernel.oversampling);
          EXPECT_LE(
              (g.products == Products::full ? 10 : 2) * std::exp(-std::numbers::pi * g.kernel.width * share),
              accuracy * (1 + 1e-6));
        }
    // Few samples on a large matrix take a wide kernel and a small grid, many a narrow kernel.
    const auto width = [&](std::int64_t samples) {
      return choose_gridding(sizes({96, 96, 96}, samples, Precision::single_precision, device), 1e-3)
          .kernel.width;
    };
    EXPECT_GT(width(1000), width(100000000));
  }
}

TEST(KaiserBessel, polynomial_of_even_powers_is_the_kernel) {
  for (const int width : {3, 5, 7, 8}) {
    const KaiserBessel kernel(KaiserBessel::Points{width}, 1.5);
    for (const int terms : {9, 12}) {
      const auto coefficients = kernel.even_polynomial(terms);
      for (double u = -width / 2.0; u <= width / 2.0; u += 0.01) {
        const double v = 1 - std::pow(2 * u / width, 2);
        double sum = 0;
        for (int i = terms - 1; i >= 0; --i) sum = sum * v + coefficients[i];
        // The series of I0 in beta^2 v / 4 from that term on: (beta^2 / 4)^terms / terms!^2, over I0(beta).
        const double left = std::exp(2 * (terms * std::log(kernel.beta / 2) - std::lgamma(terms + 1.0)));
        EXPECT_NEAR(sum, kernel.value(u), left / kernel.i0_of_beta + 1e-14)
            << width << ' ' << terms << ' ' << u;
      }
    }
  }
}

TEST(Gridding, of_tensor_cores_aliases_as_little_as_asked) {
  // The mean square over voxels n and positions u of sum_p phi(p - u) exp(i 2 pi n (p - u) / G) / phi^(n / G) - 1:
  // what an axis adds to the error of random values.
  for (const double accuracy : {1e-2, 1e-3, 1e-4, 1e-5}) {
    const auto g =
        choose_gridding(sizes({64, 64, 64}, 1000000, Precision::single_precision, Device::cuda()), accuracy);
    ASSERT_NE(g.products, Products::full);
    const auto factors = g.deapodisation(0);
    double square = 0;
    constexpr int positions = 16;
    for (int n = 0; n < 64; ++n)
      for (int i = 0; i < positions; ++i) {
        const double u = (i + 0.5) / positions;
        Complex<double> sum;
        for (int p = -4; p <= 5; ++p) {
          const double phase = 2 * std::numbers::pi * (n - 32) * (p - u) / static_cast<double>(g.grid[0]);
          sum += g.kernel.value(p - u) * Complex<double>(std::cos(phase), std::sin(phase));
        }
        square += norm(factors[static_cast<std::size_t>(n)] * sum - Complex<double>(1)) / (64 * positions);
      }
    EXPECT_LE(std::sqrt(3 * square), accuracy);
    EXPECT_GE(std::sqrt(3 * square), accuracy / 100);  // no more is paid for than was asked
  }
}

TEST(RunPlan, takes_every_sample_once_and_no_more_rows_than_its_sizes_say) {
  std::mt19937 generator(5);
  for (const std::array<int, 3> matrix :
       {std::array{20, 20, 20}, {33, 20, 1}, {30, 1, 30}, {1, 1, 40}, {50, 6, 9}})
    for (const std::int64_t samples : {1, 7, 300, 5000, 200000})
      for (const double spread : {0.01, 0.3, 1.0}) {  // share of the keys that samples fall on
        const auto shape = grid_shape(
            choose_gridding(sizes(matrix, samples, Precision::single_precision, Device::cpu()), 1e-3));
        const std::int64_t columns = std::int64_t{shape.tiles[0]} * shape.tiles[1],
                           keys = columns * shape.size[2];
        std::vector<std::int32_t> begins(keys + 1);
        std::uniform_int_distribution<std::int64_t> key(0, std::int64_t(spread * double(keys - 1)));
        for (std::int64_t m = 0; m < samples; ++m) ++begins[key(generator) + 1];
        for (std::int64_t i = 0; i < keys; ++i) begins[i + 1] += begins[i];
        const RunSizes most(shape, samples, 1);
        const RunPlan plan(begins.data(), shape, most.length);
        EXPECT_LE(plan.first_row.back(), most.rows);
        for (int line = 0; line < shape.tiles[1]; ++line)
          EXPECT_LE(plan.first_row[line + 1] - plan.first_row[line], most.rows_of_a_line);
        std::int64_t taken = 0, rows = 0;
        for (const auto& run : plan.runs) {
          EXPECT_EQ(run.begin, taken);
          EXPECT_LE(run.count, most.length);
          taken += run.count, rows += run.plane_count;
        }
        EXPECT_EQ(taken, samples);
        EXPECT_EQ(rows, plan.first_row.back());
        auto listed = plan.row_lists;
        std::sort(listed.begin(), listed.end());
        for (std::int64_t i = 0; i < rows; ++i) ASSERT_EQ(listed[i], i);  // every row has one writer
      }
}

TYPED_TEST(GriddedTransform, holds_the_bytes_that_its_cost_says) {
  // FFTW takes memory of its own with the first plan of a process.
  make_gridded_transform<TypeParam>(tests::random_trajectory({16, 16, 16}, 10, 1), {16, 16, 16}, 1e-5,
                                    Device::cpu());
  for (const auto& [matrix, samples, coils] :
       std::vector<std::tuple<std::array<int, 3>, std::int64_t, std::int64_t>>{
           {{128, 128, 1}, 40000, 6}, {{48, 40, 32}, 60000, 2}, {{64, 64, 1}, 300000, 1}}) {
    SCOPED_TRACE(samples);
    const auto trajectory = tests::random_trajectory(matrix, samples, 1);
    tests::expect_bytes_of_cost<TypeParam>(coils, Device::cpu(), [&, matrix = matrix] {
      return make_gridded_transform<TypeParam>(trajectory, matrix, 1e-5, Device::cpu());
    });
  }
}

TEST(GriddedCost, of_tensor_cores_counts_blocks_of_eight_coils) {
  const GriddedCost cost(sizes({96, 96, 96}, 500000, Precision::single_precision, Device::cuda()), 1e-5);
  ASSERT_TRUE(cost.tensors());
  const auto spread = [&](std::int64_t coils) {
    return cost.adjoint(coils).at(WorkUnit::kernel_point, Precision::single_precision);
  };
  EXPECT_EQ(spread(1), spread(8));
  EXPECT_EQ(spread(9), 2 * spread(8));
  // The kernels of the CPU, where they are asked for, and accuracies beyond split halves.
  const auto same = sizes({96, 96, 96}, 500000, Precision::single_precision, Device::cuda());
  EXPECT_FALSE(GriddedCost(same, 1e-5, 0, GriddingChoice::of_cpu).tensors());
  EXPECT_FALSE(GriddedCost(same, 1e-6).tensors());
}

TEST(GriddedCost, of_sizes_that_no_machine_holds_is_large_and_no_overflow) {
  for (const Device device : {Device::cpu(), Device::cuda()}) {
    const GriddedCost cost(sizes({50000, 50000, 50000}, 1 << 20, Precision::single_precision, device), 1e-4);
    EXPECT_GT(cost.scratch_bytes(8), std::size_t{1} << 50);
    EXPECT_GT(cost.point_spread_scratch_bytes(), std::size_t{1} << 50);
  }
}

/// 2D image with no detail finer than about three voxels: k-space corners, which a radial scan never visits,
/// are empty.
Array<Complex<double>> smooth_image(std::array<int, 3> matrix) {
  Array<Complex<double>> image({1, matrix[2], matrix[1], matrix[0]});
  const auto r = [&](int axis, std::int64_t n) {
    return static_cast<double>(n - matrix[axis] / 2) / matrix[axis];
  };
  const double width =
      3.0 / matrix[0];  // standard deviation: exp(-2 (pi 3 / 2)^2) = 5e-20 at the edge of k-space
  std::int64_t p = 0;
  for (int z = 0; z < matrix[2]; ++z)
    for (int y = 0; y < matrix[1]; ++y)
      for (int x = 0; x < matrix[0]; ++x, ++p)
        for (const auto& [cx, cy, height] :
             {std::array{0.1, -0.2, 1.0}, std::array{-0.2, 0.05, 0.7}, std::array{0.0, 0.25, -0.4}})
          image[p] +=
              height * Complex<double>(std::exp(-(std::pow(r(0, x) - cx, 2) + std::pow(r(1, y) - cy, 2)) /
                                                (2 * width * width)));
  return image;
}

/// The gridded image of `image` as seen by `trajectory`: adjoint of the compensated samples.
double error_of_compensated_adjoint(const Trajectory& trajectory, std::array<int, 3> matrix) {
  const auto image = smooth_image(matrix);
  const auto weights = density_compensation(trajectory, matrix);
  const auto direct = make_direct_transform<double>(trajectory, matrix, Device::cpu());
  Array<Complex<double>> samples(direct->samples_shape(1)), result(image.shape());
  direct->forward(image, samples);
  for (std::int64_t m = 0; m < samples.size(); ++m) samples[m] *= weights[m];
  direct->adjoint(samples, result);
  return relative_error(result, image);
}

TEST(DensityCompensation, makes_the_adjoint_an_image_of_the_right_intensity) {
  // Nyquist-sampled scans: what is left, some per cent, is the ripple of the weights and not a scale (a wrong
  // scale would be 100 %).
  for (const auto kind :
       {data::TrajectoryKind::cartesian, data::TrajectoryKind::radial, data::TrajectoryKind::spiral})
    for (const int n : {48, 51}) {
      SCOPED_TRACE(std::string(data::name_of(kind)) + " " + std::to_string(n));
      EXPECT_LE(error_of_compensated_adjoint(designed(kind, {n, n, 1}), {n, n, 1}), 0.1);
    }
}

TEST(DensityCompensation, of_radial_samples_is_the_ramp) {
  const int n = 64;
  const auto trajectory = designed(data::TrajectoryKind::radial, {n, n, 1});
  const auto weights = density_compensation(trajectory, {n, n, 1});
  const auto samples = trajectory.sample_count();
  double sum = 0, expected_sum = 0, squared_difference = 0, squared = 0;
  std::vector<double> radii;
  for (std::int64_t m = 0; m < samples; ++m) {
    EXPECT_GE(weights[m], 0);
    const double radius = std::hypot(trajectory.k[m], trajectory.k[samples + m]);
    radii.push_back(radius);
    if (radius > 4 && radius < n / 2.0 - 4) sum += weights[m], expected_sum += radius;
  }
  for (std::int64_t m = 0; m < samples; ++m)
    if (radii[m] > 4 && radii[m] < n / 2.0 - 4) {
      const double ramp = radii[m] * sum / expected_sum;
      squared_difference += (weights[m] - ramp) * (weights[m] - ramp), squared += ramp * ramp;
    }
  EXPECT_LE(std::sqrt(squared_difference / squared), 0.1);  // the fixed point is the ramp up to ripple
}

TEST(DensityCompensation, shares_a_weight_among_repeated_samples) {
  const int n = 16;
  const auto trajectory = designed(data::TrajectoryKind::cartesian, {n, n, 1});
  const auto samples = trajectory.sample_count();
  Trajectory doubled{Array<double>({3, 2 * samples})};
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < 2 * samples; ++m)
      doubled.k[axis * 2 * samples + m] = trajectory.k[axis * samples + m % samples];
  const auto once = density_compensation(trajectory, {n, n, 1}),
             twice = density_compensation(doubled, {n, n, 1});
  for (std::int64_t m = 0; m < samples; ++m) {
    EXPECT_NEAR(twice[m], once[m] / 2, 1e-3 * once[m]);
    EXPECT_NEAR(twice[m], twice[m + samples], 1e-6 * once[m]);
  }
}

TEST(DensityCompensation, of_a_single_sample_is_finite) {
  const auto weights = density_compensation({Array<double>({3, 1})}, {8, 8, 1});
  ASSERT_EQ(weights.size(), 1);
  EXPECT_TRUE(std::isfinite(weights[0]));
  EXPECT_GT(weights[0], 0);
}

}  // namespace

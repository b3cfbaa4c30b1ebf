// The preconditioner as an operator, and conjugate gradient with it.
#include <gtest/gtest.h>

#include <limits>

#include "recon/array/vector_math.hpp"
#include "validation/tests/recon/encoding/preconditioned_problem.hpp"

namespace {

using namespace fhd;
using tests::preconditioned_problems;
using tests::PreconditionedProblem;
using tests::random_values;

template <class T>
class Preconditioner : public ::testing::Test {
 protected:
  static constexpr bool is_single = sizeof(T) == 4;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Preconditioner, Precisions);

TYPED_TEST(Preconditioner, is_hermitian_and_positive_definite) {
  using T = TypeParam;
  for (auto& problem : preconditioned_problems<T>())
    for (const bool roughness : {false, true}) {
      problem.roughness = roughness;
      const auto m = problem.preconditioner();
      for (unsigned seed = 1; seed < 6; ++seed) {
        const auto x = random_values<T>(problem.image(), seed),
                   y = random_values<T>(problem.image(), seed + 9);
        Array<Complex<T>> mx(x.shape()), my(x.shape());
        m->forward(x, mx);
        m->forward(y, my);
        // Two FFTs and sums of at most five coils: some ten roundings, relative to |M x| |y|.
        EXPECT_LE(tests::adjointness_error(x, mx, y, my), this->is_single ? 1e-6 : 1e-14);
        EXPECT_GT(tests::dot(x, mx).re, 0);
      }
    }
}

TYPED_TEST(Preconditioner, circulant_has_the_products_of_the_operator_with_plane_waves) {
  using T = TypeParam;
  for (auto& problem : preconditioned_problems<T>()) {
    problem.maps = Array<Complex<T>>({1, problem.matrix[2], problem.matrix[1], problem.matrix[0]});
    for (auto& s : problem.maps) s = T(1);
    const auto normal = make_toeplitz_normal(problem.point_spread(), problem.maps);
    const auto circulant = circulant_of_point_spread(problem.point_spread(), problem.image());
    const auto [nx, ny, nz] = problem.matrix;
    std::int64_t k = 0;
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x, ++k) {
          Array<Complex<T>> wave(problem.image()), product(problem.image());
          for (std::int64_t p = 0; p < wave.size(); ++p) {
            const double angle =
                2 * std::numbers::pi *
                (static_cast<double>(z * (p / (nx * ny))) / nz + static_cast<double>(y * (p / nx % ny)) / ny +
                 static_cast<double>(x * (p % nx)) / nx);
            wave[p] = Complex<T>(Complex<double>(std::cos(angle), std::sin(angle)));
          }
          normal->forward(wave, product);
          const double expected = tests::dot(wave, product).re / static_cast<double>(wave.size());
          EXPECT_NEAR(
              circulant[k], expected,
              (this->is_single ? 1e-5 : 1e-12) * static_cast<double>(problem.trajectory.sample_count()));
        }
  }
}

TYPED_TEST(Preconditioner, of_a_full_cartesian_scan_and_a_uniform_coil_is_a_number) {
  using T = TypeParam;
  // T = m: every factor is known. One coil: damping 1. |S|^2 = 4, lambda = 36, m = 12 samples: s0 = 3, s = 1/7.
  PreconditionedProblem<T> problem{{4, 3, 1}, {Array<double>({3, 12})}, Array<Complex<T>>({1, 1, 3, 4}), 36};
  for (int i = 0; i < 12; ++i) problem.trajectory.k[i] = i % 4 - 2, problem.trajectory.k[12 + i] = i / 4 - 1;
  for (auto& s : problem.maps) s = Complex<T>(0, 2);
  const auto r = random_values<T>(problem.image(), 3);
  Array<Complex<T>> z(r.shape());
  problem.preconditioner()->forward(r, z);
  const double expected = 4.0 / 49 / (12 * 2) + 9.0 / 49 / 7 / 12;
  for (std::int64_t p = 0; p < r.size(); ++p)
    EXPECT_LE(abs(Complex<double>(z[p]) - expected * Complex<double>(r[p])),
              (this->is_single ? 1e-6 : 1e-14) * expected * tests::length(r));
}

TYPED_TEST(Preconditioner, divides_by_lambda_where_there_is_no_map) {
  using T = TypeParam;
  PreconditionedProblem<T> problem{
      {8, 6, 1}, tests::random_trajectory({8, 6, 1}, 60, 1), random_values<T>({2, 1, 6, 8}, 2)};
  const std::int64_t without = 21, voxels = 48;
  problem.maps[without] = problem.maps[voxels + without] = T(0);
  Array<Complex<T>> r(problem.image()), z(problem.image());
  r[without] = {3, -1};
  problem.preconditioner()->forward(r, z);
  for (std::int64_t p = 0; p < voxels; ++p)
    EXPECT_LE(abs(Complex<double>(z[p]) - (1 / problem.lambda) * Complex<double>(r[p])),
              this->is_single ? 1e-6 : 1e-15);
  problem.lambda = 0;  // nothing decides this voxel: it stays 0
  problem.preconditioner()->forward(r, z);
  for (const auto& value : z) EXPECT_EQ(abs(Complex<double>(value)), 0);
}

TYPED_TEST(Preconditioner, of_a_stack_is_that_of_each_image) {
  using T = TypeParam;
  for (const auto& problem : preconditioned_problems<T>()) {
    const Shape image = problem.image();
    const auto stack = random_values<T>({3, image[0], image[1], image[2]}, 4);
    Array<Complex<T>> all(stack.shape()), one(image);
    const auto m = problem.preconditioner(0, 2);
    m->forward_each(stack, all);
    for (int i = 0; i < 3; ++i) {
      m->forward(one_of(stack, image, i), one);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), one_of(all, image, i).begin()));
    }
  }
}

TYPED_TEST(Preconditioner, refuses_penalties_and_residuals_that_are_no_numbers) {
  auto problem = preconditioned_problems<TypeParam>().back();
  const auto a = problem.system();
  auto b = random_values<TypeParam>(problem.image(), 3);
  b[7].re = std::numeric_limits<TypeParam>::quiet_NaN();
  Array<Complex<TypeParam>> x(problem.image());
  EXPECT_THROW(conjugate_gradient<TypeParam>(a, b, x, {}, {}, problem.preconditioner().get()), Error);
  problem.lambda = b[7].re;
  EXPECT_THROW(problem.preconditioner(), Error);
}

TYPED_TEST(Preconditioner, leaves_the_solution_of_dense_least_squares) {
  tests::expect_dense_least_squares<TypeParam>(Device::cpu());
}

TYPED_TEST(Preconditioner, systems_of_a_stack_are_solved_as_by_themselves_with_the_residuals_of_the_system) {
  using T = TypeParam;
  const auto problem = preconditioned_problems<T>().back();
  const Shape image = problem.image();
  const auto a = problem.system();
  const auto m = problem.preconditioner();
  auto b = random_values<T>({3, image[0], image[1], image[2]}, 3);
  one_of(b, image, 1).fill_zero();
  const ConjugateGradientSettings settings{.iterations = 100, .tolerance = 1e-3, .check_every = 3};
  Array<Complex<T>> x(b.shape());
  const auto results = conjugate_gradients<T>(a, b, x, settings, {}, m.get());
  for (int i = 0; i < 3; ++i) {
    Array<Complex<T>> one(image), right_hand_side(image), product(image);
    copy(one_of(b, image, i), right_hand_side);
    const auto alone = conjugate_gradient<T>(a, right_hand_side, one, settings, {}, m.get());
    EXPECT_TRUE(alone.converged);
    EXPECT_EQ(alone.relative_residuals, results[static_cast<std::size_t>(i)].relative_residuals);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), one_of(x, image, i).begin()));
    a.forward(one, product);
    EXPECT_NEAR(tests::relative_error(product, right_hand_side), i == 1 ? 0 : alone.relative_residuals.back(),
                this->is_single ? 1e-5 : 1e-12);
  }
}

/// Spokes of a head-like disc seen by four coils, whose maps are smooth in it; beside it they are 0, or have phases at
/// random.
PreconditionedProblem<double> disc(int spokes, bool random_phases) {
  constexpr int n = 40, length = 2 * n;
  PreconditionedProblem<double> problem{
      {n, n, 1}, {Array<double>({3, spokes * length})}, random_values<double>({4, 1, n, n}, 5)};
  for (int i = 0; i < spokes * length; ++i) {
    const double radius = (i % length - n) / 2.0, angle = std::numbers::pi * (i / length) / spokes;
    problem.trajectory.k[i] = radius * std::cos(angle);
    problem.trajectory.k[spokes * length + i] = radius * std::sin(angle);
  }
  for (int coil = 0; coil < 4; ++coil)
    for (int p = 0; p < n * n; ++p) {
      const double x = (p % n - n / 2) / 20.0, y = (p / n - n / 2) / 20.0;
      auto& s = problem.maps[coil * n * n + p];
      const double far = std::pow(x - std::cos(1.57 * coil), 2) + std::pow(y - std::sin(1.57 * coil), 2),
                   near = std::exp(-far);
      if (x * x + y * y < 0.5)
        s = {near, 0.3 * near * x};
      else
        s = (random_phases ? near / abs(s) : 0) * s;
    }
  problem.lambda = 0.05 * spokes * length * std::pow(norm_l2(problem.maps), 2) / (n * n);
  return problem;
}

/// Until the image is within 1 % of the converged one.
int iterations_to_one_percent(const PreconditionedProblem<double>& problem,
                              const HermitianOperator<double>* m) {
  const auto a = problem.system();
  Array<Complex<double>> object(problem.image()), b(problem.image()), converged(problem.image());
  for (int p = 0; p < object.size(); ++p)
    if (std::pow(p % 40 - 20, 2) + std::pow(p / 40 - 20, 2) < 180) object[p] = {1.0 + p % 7 % 3, 0.2};
  make_toeplitz_normal(problem.point_spread(), problem.maps)->forward(object, b);
  conjugate_gradient<double>(a, b, converged, {.iterations = 500, .tolerance = 1e-10});
  for (int iterations = 1;; ++iterations) {
    Array<Complex<double>> x(problem.image());
    const ConjugateGradientSettings settings{.iterations = iterations, .tolerance = 0, .kept_residuals = 200};
    conjugate_gradient<double>(a, b, x, settings, {}, m);
    if (metrics::relative_l2(x, converged) <= 0.01 || iterations == 200) return iterations;
  }
}

// Where the phases of the maps are noise, so is the spectrum of the system: there is less to gain.
TEST(PreconditionedConjugateGradient, takes_less_than_half_the_iterations) {
  for (const int spokes : {60, 20})
    for (const bool random_phases : {false, true}) {
      const auto problem = disc(spokes, random_phases);
      const int plain = iterations_to_one_percent(problem, nullptr),
                preconditioned = iterations_to_one_percent(problem, problem.preconditioner().get());
      EXPECT_LT(random_phases ? preconditioned : 2 * preconditioned, plain)
          << spokes << " spokes" << (random_phases ? ", random phases" : "");
      EXPECT_LT(plain, 200);
    }
}

}  // namespace

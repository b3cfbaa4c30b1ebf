// Conjugate gradient and the largest eigenvalue on small dense systems, against the oracle's least squares.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "recon/solve/conjugate_gradient.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using tests::random_values;

/// A^H A + lambda of a dense A [row][column], in the precision T.
template <class T>
class DenseNormal : public HermitianOperator<T> {
 public:
  DenseNormal(Array<Complex<T>> matrix, T lambda) : matrix_(std::move(matrix)), lambda_(lambda) {}
  Shape domain() const override { return {matrix_.extent(1)}; }
  Device device() const override { return Device::cpu(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    const auto rows = matrix_.extent(0), columns = matrix_.extent(1);
    for (std::int64_t j = 0; j < columns; ++j) out[j] = lambda_ * in[j];
    for (std::int64_t i = 0; i < rows; ++i) {
      Complex<T> sum;
      for (std::int64_t j = 0; j < columns; ++j) sum += matrix_[i * columns + j] * in[j];
      for (std::int64_t j = 0; j < columns; ++j) out[j] += conj(matrix_[i * columns + j]) * sum;
    }
  }
  /// A^H b
  Array<Complex<T>> right_hand_side(const Array<Complex<T>>& b) const {
    Array<Complex<T>> result(domain());
    for (std::int64_t i = 0; i < b.size(); ++i)
      for (std::int64_t j = 0; j < result.size(); ++j)
        result[j] += conj(matrix_[i * result.size() + j]) * b[i];
    return result;
  }

 private:
  Array<Complex<T>> matrix_;
  T lambda_;
};

template <class T>
class ConjugateGradient : public ::testing::Test {
 protected:
  const DenseNormal<T> normal_{random_values<T>({60, 20}, 3), T(1)};
  const Array<Complex<T>> b_ = random_values<T>({20}, 4);
  Array<Complex<T>> x_{Shape{20}};
  ConjugateGradientResult solve(const ConjugateGradientSettings& settings) {
    return conjugate_gradient(normal_, b_, x_, settings);
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ConjugateGradient, Precisions);

TYPED_TEST(ConjugateGradient, equals_dense_least_squares) {
  const auto matrix = random_values<TypeParam>({60, 20}, 1), b = random_values<TypeParam>({60}, 2);
  const double lambda = 2;
  const DenseNormal<TypeParam> normal(matrix, static_cast<TypeParam>(lambda));
  Array<Complex<TypeParam>> x({20});
  const auto result =
      conjugate_gradient(normal, normal.right_hand_side(b), x, {.iterations = 60, .tolerance = 0});
  const auto expected =
      oracle::least_squares(converted<Complex<double>>(matrix), converted<Complex<double>>(b), lambda,
                            oracle::identity_matrix({20, 1, 1}));
  // Condition number of A^H A: ((1 + sqrt(1/3)) / (1 - sqrt(1/3)))^2 = 14; times the rounding of T and of
  // sums of 60.
  EXPECT_LE(tests::relative_error(x, expected), sizeof(TypeParam) == 4 ? 1e-5 : 1e-13);
  // Twenty unknowns: the residual is down to rounding after about as many iterations, and the solver stops
  // there.
  EXPECT_TRUE(result.converged);
  EXPECT_LE(result.relative_residuals.size(), 31u);
}

TYPED_TEST(ConjugateGradient, stops_at_the_tolerance_and_says_so) {
  const auto result = this->solve({.iterations = 100, .tolerance = 1e-3});
  EXPECT_TRUE(result.converged);
  EXPECT_LE(result.relative_residuals.size(), 30u);
  EXPECT_DOUBLE_EQ(result.relative_residuals.front(), 1);
  EXPECT_LE(result.relative_residuals.back(), 1e-3);
  EXPECT_GE(result.relative_residuals[result.relative_residuals.size() - 2], 1e-3);
  // The true residual agrees with that of the recurrence.
  Array<Complex<TypeParam>> ax({20});
  this->normal_.forward(this->x_, ax);
  EXPECT_LE(tests::relative_error(ax, this->b_), 1.01e-3);
  this->x_.fill_zero();
  const auto few = this->solve({.iterations = 2, .tolerance = 1e-6});
  EXPECT_FALSE(few.converged);
  EXPECT_EQ(few.relative_residuals.size(), 3u);
}

TYPED_TEST(ConjugateGradient, looks_at_the_residual_only_as_often_as_asked) {
  std::vector<std::int64_t> looks;
  conjugate_gradient(this->normal_, this->b_, this->x_, {.iterations = 7, .tolerance = 0, .check_every = 3},
                     [&](const Progress& progress) { looks.push_back(progress.done); });
  EXPECT_EQ(looks, (std::vector<std::int64_t>{0, 3, 6, 7}));
}

TYPED_TEST(ConjugateGradient, keeps_the_solution_of_the_iteration_that_reached_the_tolerance) {
  const auto expected = this->solve({.iterations = 30, .tolerance = 0.05});
  Array<Complex<TypeParam>> seldom({20});
  const auto found = conjugate_gradient(this->normal_, this->b_, seldom,
                                        {.iterations = 30, .tolerance = 0.05, .check_every = 7});
  EXPECT_TRUE(found.converged);
  EXPECT_NE((expected.relative_residuals.size() - 1) % 7, 0u) << "the case proves nothing";
  EXPECT_EQ(found.relative_residuals, expected.relative_residuals);
  EXPECT_TRUE(std::equal(this->x_.begin(), this->x_.end(), seldom.begin()));
}

TYPED_TEST(ConjugateGradient, gives_the_same_bytes_twice_and_from_zero) {
  this->solve({.iterations = 6, .tolerance = 0});
  EXPECT_GT(norm(this->x_[0]), 0);
  for (const bool from_zero : {false, true}) {
    Array<Complex<TypeParam>> again({20});
    conjugate_gradient(this->normal_, this->b_, again,
                       {.iterations = 6, .tolerance = 0, .from_zero = from_zero});
    EXPECT_TRUE(std::equal(again.begin(), again.end(), this->x_.begin()));
  }
}

TYPED_TEST(ConjugateGradient, continues_from_a_given_start) {
  const auto expected = random_values<TypeParam>({20}, 10);
  auto solution = expected;
  Array<Complex<TypeParam>> b({20});
  this->normal_.forward(solution, b);
  const auto result = conjugate_gradient(this->normal_, b, solution, {.iterations = 5, .tolerance = 1e-4});
  EXPECT_TRUE(result.converged);
  EXPECT_LE(tests::relative_error(solution, expected), 1e-4);
  EXPECT_LE(result.relative_residuals.size(), 2u);
}

TYPED_TEST(ConjugateGradient, of_a_stack_is_that_of_each) {
  const auto& normal = this->normal_;
  const ConjugateGradientSettings settings{.iterations = 30, .tolerance = 0.02, .check_every = 4};
  auto b = random_values<TypeParam>({4, 20}, 8);
  std::fill_n(b.data() + 40, 20, Complex<TypeParam>());         // one that is zero
  for (int i = 60; i < 80; ++i) b[i] = TypeParam(1e-3) * b[i];  // and one of another size
  Array<Complex<TypeParam>> x(b.shape());
  const auto found = conjugate_gradients(normal, b, x, settings);
  ASSERT_EQ(found.size(), 4u);
  std::set<std::size_t> lengths;
  for (int j = 0; j < 4; ++j) {
    Array<Complex<TypeParam>> one({20}), alone({20});
    std::copy_n(b.data() + 20 * j, 20, one.data());
    const auto expected = conjugate_gradient(normal, one, alone, settings);
    EXPECT_EQ(found[j].relative_residuals, expected.relative_residuals) << j;
    EXPECT_EQ(found[j].converged, expected.converged) << j;
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), x.begin() + 20 * j)) << j;
    lengths.insert(expected.relative_residuals.size());
  }
  EXPECT_GE(lengths.size(), 2u) << "all stop together: the case proves nothing";
  Array<Complex<TypeParam>> wrong({21});
  EXPECT_THROW(conjugate_gradients(normal, wrong, wrong, settings), Error);
}

TYPED_TEST(ConjugateGradient, of_zero_is_zero) {
  auto x = random_values<TypeParam>({20}, 12);
  EXPECT_TRUE(conjugate_gradient(this->normal_, Array<Complex<TypeParam>>({20}), x, {}).converged);
  EXPECT_EQ(tests::length(x), 0);
}

TYPED_TEST(ConjugateGradient, refuses_nan_and_overflow) {
  auto matrix = random_values<TypeParam>({60, 20}, 13);
  const auto& b = this->b_;
  auto& x = this->x_;
  matrix[33].re = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_THROW(conjugate_gradient(DenseNormal<TypeParam>(matrix, TypeParam(1)), b, x, {}), Error);
  matrix[33].re = std::numeric_limits<TypeParam>::max();
  x.fill_zero();
  EXPECT_THROW(conjugate_gradient(DenseNormal<TypeParam>(matrix, TypeParam(1)), b, x, {}), Error);
}

TYPED_TEST(ConjugateGradient, refuses_contradictory_shapes) {
  Array<Complex<TypeParam>> wrong({19});
  EXPECT_THROW(conjugate_gradient(this->normal_, wrong, this->x_, {}), Error);
  EXPECT_THROW(conjugate_gradient(this->normal_, this->b_, wrong, {}), Error);
}

TYPED_TEST(ConjugateGradient, largest_eigenvalue_of_a_diagonal_matrix) {
  // A = diag(1 ... 20), A^H A + 3: the largest is 403, reached exactly after as many Lanczos steps as
  // unknowns.
  Array<Complex<TypeParam>> diagonal({20, 20});
  for (int i = 0; i < 20; ++i) diagonal[i * 20 + i] = TypeParam(i + 1);
  const DenseNormal<TypeParam> normal(diagonal, TypeParam(3));
  EXPECT_NEAR(largest_eigenvalue(normal, 20), 403, sizeof(TypeParam) == 4 ? 403 * 1e-5 : 403 * 1e-12);
  // From below, and within a few per cent after ten steps.
  EXPECT_LE(largest_eigenvalue(normal, 10), 403.01);
  EXPECT_GE(largest_eigenvalue(normal, 10), 403 * 0.97);
  EXPECT_EQ(largest_eigenvalue(normal, 10), largest_eigenvalue(normal, 10));
}

}  // namespace

// Conjugate gradient in single and in double precision goes through the same images.
#include "recon/solve/residual_basis.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "validation/metrics.hpp"

namespace fhd {
namespace {

/// 40 spokes through the centre of k-space: its largest eigenvalue is 60 times the mean.
Trajectory radial(int matrix) {
  constexpr int spokes = 40;
  const int length = 2 * matrix;
  Trajectory trajectory{Array<double>(Shape{3, spokes * length})};
  for (int spoke = 0; spoke < spokes; ++spoke)
    for (int i = 0; i < length; ++i) {
      const double radius = (i - matrix) / 2.0, angle = 3.14159265358979 * spoke / spokes;
      trajectory.k[spoke * length + i] = radius * std::cos(angle);
      trajectory.k[spokes * length + spoke * length + i] = radius * std::sin(angle);
    }
  return trajectory;
}

template <class T>
Array<Complex<double>> image_after_30_iterations(int kept_residuals) {
  const std::array<int, 3> matrix{48, 48, 1};
  Array<Complex<T>> maps(Shape{1, 1, 48, 48});
  for (auto& s : maps) s = T(1);
  const auto normal =
      make_toeplitz_normal<T>(point_spread_direct<T>(radial(48), matrix, nullptr, Device::cpu()), maps);
  Array<Complex<T>> object(normal->domain()), right_hand_side(normal->domain()), image(normal->domain());
  for (int y = 10; y < 38; ++y)
    for (int x = 12; x < 36; ++x) object[y * 48 + x] = {T(1 + (x * y) % 5), T(0.25)};
  normal->forward(object, right_hand_side);
  conjugate_gradient<T>(*normal, right_hand_side, image, {30, 0, 30, kept_residuals});
  return converted<Complex<double>>(image);
}

TEST(ResidualBasis, single_and_double_precision_agree_after_30_iterations) {
  const auto reference = image_after_30_iterations<double>(30);
  // Rounding of single-precision operators (3e-7) times the amplification of 30 orthogonal steps, measured
  // 4e-6 ... 2e-5 on spirals and radials: an order of magnitude above it, an order of magnitude below what
  // happens without the basis.
  EXPECT_LE(metrics::relative_l2(image_after_30_iterations<float>(30), reference), 1e-4);
  EXPECT_GE(metrics::relative_l2(image_after_30_iterations<float>(0), reference), 1e-4)
      << "the problem no longer shows what the basis is for";
}

TEST(ResidualBasis, projects_out_what_it_keeps) {
  const Shape domain{1, 30, 41};  // not a multiple of the block
  constexpr int kept = 5;
  ResidualBasis<double> basis(domain, kept, Device::cpu());
  Array<double> squares(Shape{kept + 1});
  std::vector<Array<Complex<double>>> vectors;
  for (int j = 0; j <= kept; ++j) {
    Array<Complex<double>> v(domain);
    for (std::int64_t p = 0; p < v.size(); ++p)
      v[p] = {std::sin(0.1 * (j + 1) * p), std::cos(0.3 * p * p + j)};
    basis.project_out(v);
    dot(v, v, squares, j);
    if (j < kept) basis.keep(v, v, squares, j);
    for (const auto& earlier : vectors) {
      Complex<double> product;
      for (std::int64_t p = 0; p < v.size(); ++p) product += conj(earlier[p]) * v[p];
      // Sums of 1,230 rounded products of size one: sqrt(1230) 2^-53 relative to the norms.
      EXPECT_LE(std::sqrt(norm(product)), 1e-13 * norm_l2(earlier) * norm_l2(v));
    }
    vectors.push_back(v);
  }
}

}  // namespace
}  // namespace fhd

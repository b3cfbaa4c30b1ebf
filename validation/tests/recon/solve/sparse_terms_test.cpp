// Terms without squares: what they are, beside the definition written out here.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "recon/solve/terms/terms.hpp"
#include "validation/tests/recon/solve/term_checks.hpp"

namespace {

using namespace fhd;
using namespace fhd::tests;

struct Case {
  std::string name;
  Shape image;
  std::shared_ptr<const SparseTerm<double>> term;
};

/// z, y, x: odd, even, thin, with and without z.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Shape& image :
       {Shape{1, 16, 16}, Shape{1, 17, 23}, Shape{10, 9, 8}, Shape{5, 33, 12}, Shape{1, 1, 21}}) {
    all.push_back({"wavelet " + image.text(), image, wavelet_term<double>(image, Device::cpu())});
    all.push_back({"tv " + image.text(), image, sparse_term<double>(SparseKind::tv, image, Device::cpu())});
    all.push_back({"tgv " + image.text(), image, sparse_term<double>(SparseKind::tgv, image, Device::cpu())});
  }
  return all;
}

Shape unknowns_of(const Case& c) { return {1 + c.term->auxiliary(), c.image[0], c.image[1], c.image[2]}; }
Shape coefficients_of(const Case& c) { return {c.term->planes(), c.image[0], c.image[1], c.image[2]}; }

TEST(SparseTerm, adjoint_and_normal_product_belong_to_the_analysis) {
  for (const auto& c : cases())
    expect_adjoint_and_normal_of_analysis(*c.term, unknowns_of(c), coefficients_of(c), c.name);
}

TEST(Wavelet, is_orthogonal_at_every_size) {
  for (const auto& c : cases()) {
    if (!c.name.starts_with("wavelet")) continue;
    const auto x = random_values<double>(unknowns_of(c), 5);
    Array<Complex<double>> ax(coefficients_of(c)), back(x.shape());
    c.term->analyze(x, ax);
    c.term->add_adjoint(ax, 1, back);
    add_scaled(back, -1.0, x);
    EXPECT_LE(length(back), rounding * length(x)) << c.name;
    // Each of the shifted transforms by itself keeps lengths, as a square matrix that does is orthogonal.
    for (int shift = 0; shift < c.term->planes(); ++shift) {
      const auto plane = one_of(ax, c.image, shift);
      EXPECT_NEAR(length(plane) * std::sqrt(c.term->planes()), length(x), rounding * length(x)) << c.name;
    }
  }
}

TEST(Wavelet, of_a_plane_is_zero_but_where_the_period_closes) {
  // Two vanishing moments: a linear ramp has details only where the taps wrap around: 3 of 4 taps' width at each level.
  const Shape image{1, 1, 64};
  const auto term = wavelet_term<double>(image, Device::cpu());
  Array<Complex<double>> ramp(Shape{1, 1, 1, 64}), c(Shape{term->planes(), 1, 1, 64});
  for (std::int64_t x = 0; x < 64; ++x) ramp[x] = static_cast<double>(x);
  term->analyze(ramp, c);
  for (int shift = 0; shift < term->planes(); ++shift) {
    int details = 0;
    for (std::int64_t k = 4; k < 64; ++k) details += abs(c[shift * 64 + k]) > 1e-9;
    // Levels of 64, 32, 16, 8: the jump lies within the four taps of at most two coefficients, and of the two that its
    // echo in the means reaches.
    EXPECT_LE(details, 4 * 4) << shift;
    EXPECT_GE(details, 4) << shift;
  }
  for (auto& value : ramp) value = 3;
  term->analyze(ramp, c);
  EXPECT_LE(term->value(c), 1e-11);  // a constant costs nothing
}

TEST(Wavelet, refuses_images_without_an_axis_to_split) {
  EXPECT_THROW(wavelet_term<double>(Shape{7, 7, 7}, Device::cpu()), Error);
}

double tv_of(const Array<Complex<double>>& image) {
  double sum = 0;
  const Shape& n = image.shape();
  const auto at = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    return image[(z * n[1] + y) * n[2] + x];
  };
  for (std::int64_t z = 0; z < n[0]; ++z)
    for (std::int64_t y = 0; y < n[1]; ++y)
      for (std::int64_t x = 0; x < n[2]; ++x) {
        double square = 0;
        if (x + 1 < n[2]) square += norm(at(z, y, x + 1) - at(z, y, x));
        if (y + 1 < n[1]) square += norm(at(z, y + 1, x) - at(z, y, x));
        if (z + 1 < n[0]) square += norm(at(z + 1, y, x) - at(z, y, x));
        sum += std::sqrt(square);
      }
  return sum;
}

TEST(Tv, is_the_sum_of_the_lengths_of_differences) {
  for (const auto& c : cases()) {
    if (!c.name.starts_with("tv")) continue;
    const auto image = random_values<double>(c.image, 6);
    Array<Complex<double>> differences(coefficients_of(c));
    c.term->analyze(image, differences);
    EXPECT_NEAR(c.term->value(differences), tv_of(image), rounding * tv_of(image)) << c.name;
  }
}

TEST(Tgv, counts_no_slope_that_is_given_to_it_and_twice_how_slopes_change) {
  // rho = x^2 / 2 in a row of 9, v = its differences: what is left is E v, 1 at each of the 7 steps between them, but at the
  // end, where v falls to 0.
  const Shape image{1, 1, 9};
  const auto term = sparse_term<double>(SparseKind::tgv, image, Device::cpu());
  Array<Complex<double>> unknowns(Shape{2, 1, 1, 9}), c(Shape{term->planes(), 1, 1, 9});
  for (std::int64_t x = 0; x < 9; ++x) {
    unknowns[x] = 0.5 * static_cast<double>(x * x);
    unknowns[9 + x] = x < 8 ? static_cast<double>(x) + 0.5 : 0.0;
  }
  term->analyze(unknowns, c);
  EXPECT_NEAR(term->value(c), 2 * (7 * 1 + 7.5), 1e-12);
}

TEST(Tgv, counts_mixed_differences_as_the_norm_of_a_symmetric_matrix) {
  // v = (y, 0): E v = [0 1/2; 1/2 0] wherever y > 0, of norm 1 / sqrt(2). The image is 0: |v| counts as well.
  const std::int64_t n = 4;
  const auto term = sparse_term<double>(SparseKind::tgv, Shape{1, n, n}, Device::cpu());
  Array<Complex<double>> unknowns(Shape{3, 1, n, n}), c(Shape{term->planes(), 1, n, n});
  double slopes = 0;
  for (std::int64_t p = 0; p < n * n; ++p) {
    unknowns[n * n + p] = static_cast<double>(p / n);
    slopes += static_cast<double>(p / n);
  }
  term->analyze(unknowns, c);
  EXPECT_NEAR(term->value(c), slopes + 2 * n * (n - 1) / std::sqrt(2.0), 1e-12);
}

TEST(Identity, with_weights_counts_every_voxel_by_its_own) {
  const Shape image{1, 3, 5};
  Array<double> weights(image);
  for (std::int64_t p = 0; p < 15; ++p) weights[p] = static_cast<double>(p % 3);
  const auto x = random_values<double>(image, 10);
  double expected = 0;
  for (std::int64_t p = 0; p < 15; ++p) expected += weights[p] * norm(x[p]);
  const auto term = identity_term<double>(Array<double>(weights));
  EXPECT_NEAR(term->value(x), expected, rounding * expected);
  EXPECT_NEAR(term->circulant({0, 0, 0}), 1, rounding);
}

TEST(Shrink, leaves_a_subgradient) {
  for (const auto& c : cases())
    expect_subgradient_left_by_shrinking(*c.term, 1.3, coefficients_of(c), c.name);
}

}  // namespace

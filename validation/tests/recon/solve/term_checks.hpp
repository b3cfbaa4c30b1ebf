#pragma once
// Properties that hold for every term without squares.
#include <gtest/gtest.h>

#include <string>

#include "recon/array/vector_math.hpp"
#include "recon/solve/problem.hpp"
#include "validation/tests/problems.hpp"

namespace fhd::tests {

// Sums of some 1e4 products in double.
inline constexpr double rounding = 1e-13;

/// add_adjoint belongs to the analysis, and add_normal is both.
inline void expect_adjoint_and_normal_of_analysis(const SparseTerm<double>& term, const Shape& unknowns,
                                                  const Shape& coefficients, const std::string& name) {
  const auto x = random_values<double>(unknowns, 1), y = random_values<double>(coefficients, 2);
  Array<Complex<double>> ax(coefficients), ahy(unknowns);
  term.analyze(x, ax);
  term.add_adjoint(y, 1, ahy);
  EXPECT_LE(adjointness_error(x, ax, y, ahy), rounding) << name;
  EXPECT_GE(length(ax), 0.1 * length(x)) << name;
  auto both = random_values<double>(unknowns, 4), at_once = both;
  term.add_adjoint(ax, 0.7, both);
  term.add_normal(x, 0.7, at_once);
  EXPECT_LE(relative_error(at_once, both), rounding) << name;
}

/// For a proper convex g with prox p, c - p(c) is a subgradient of threshold g at p(c), so that, g being a norm,
/// <c - p, p> = threshold g(p) and <c - p, z> <= threshold g(z) for every z (Moreau).
inline void expect_subgradient_left_by_shrinking(const SparseTerm<double>& term, double threshold,
                                                 const Shape& coefficients, const std::string& name) {
  const auto given = random_values<double>(coefficients, 5);
  auto kept = given, rest = given;
  term.shrink(threshold, kept);
  add_scaled(rest, -1.0, kept);
  EXPECT_GT(length(kept), 0) << name;
  EXPECT_GT(length(rest), 0) << name;
  const double value = threshold * term.value(kept);
  // Singular values that are 0 come out as the roots of the rounding of squares, 1e-8 of the largest.
  EXPECT_NEAR(dot(rest, kept).re, value, 1e-8 * value) << name;
  for (unsigned seed = 6; seed < 12; ++seed) {
    const auto other = seed % 2 == 0 ? rest : random_values<double>(coefficients, seed);
    EXPECT_LE(dot(rest, other).re, threshold * term.value(other) * (1 + 1e-9) + 1e-9) << name;
  }
}

}  // namespace fhd::tests

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

inline void expect_adjoint_of_analysis(const SparseTerm<double>& term, const Shape& unknowns,
                                       const Shape& coefficients, const std::string& name) {
  const auto x = random_values<double>(unknowns, 1), y = random_values<double>(coefficients, 2);
  Array<Complex<double>> ax(coefficients), ahy(unknowns);
  term.analyze(x, ax);
  term.add_adjoint(y, 1, ahy);
  EXPECT_LE(adjointness_error(x, ax, y, ahy), rounding) << name;
  EXPECT_GE(length(ax), 0.1 * length(x)) << name;
}

/// add_normal is the analysis and its adjoint.
inline void expect_normal_of_analysis(const SparseTerm<double>& term, const Shape& unknowns,
                                      const Shape& coefficients, const std::string& name) {
  const auto x = random_values<double>(unknowns, 3), start = random_values<double>(unknowns, 4);
  Array<Complex<double>> ax(coefficients), both(start), at_once(start);
  term.analyze(x, ax);
  term.add_adjoint(ax, 0.7, both);
  term.add_normal(x, 0.7, at_once);
  add_scaled(at_once, -1.0, both);
  EXPECT_LE(length(at_once), rounding * length(both)) << name;
}

}  // namespace fhd::tests

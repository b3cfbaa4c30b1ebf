#pragma once
// The result of a solver of sparse terms. It minimises, over rho and the auxiliary unknowns u = (rho, ...),
//
//     J(u) = <rho, N rho> / 2 - Re <b, rho> + sum_j weight_j g_j(A_j u),   N = E^H E + lambda W^H W,  b = E^H d.
//
// u is a minimum if and only if there are coefficients z_j and dual variables y_j in the subdifferential of
// weight_j g_j at z_j with
//
//     stationarity  N rho - b + sum_j A_j^H y_j = 0,       feasibility  A_j u = z_j.
//
// The y_j come out of a prox: they are in the subdifferential to rounding. The relative residual is the larger of
// |stationarity| / |sum_j A_j^H y_j|, by how much the pull of the data and that of the terms differ, and
// |A u - z| / max(|A u|, |z|). (Of |b|, as conjugate gradient tells it, the pull of the terms is a thousandth or
// less: that says little of an image in which they matter.)
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/solve/problem.hpp"

namespace fhd {

struct SparseSettings {
  int iterations = 100;     ///< at most
  double tolerance = 1e-3;  ///< of the relative residual
};

template <class T>
struct SparseSolution {
  std::vector<double> relative_residuals;  ///< after each iteration; first, before them, is 1
  std::vector<double> objectives;          ///< J likewise, of the start at first
  bool converged = false;
  double stationarity = 0;  ///< of the image, over |b|
  /// y_j of each term, [planes][z][y][x], and sum A_j^H y_j of the image, [z][y][x].
  std::vector<Array<Complex<T>>> duals;
  Array<Complex<T>> subgradient;
  /// Unknowns behind the image, [auxiliary][z][y][x]; empty: none.
  Array<Complex<T>> auxiliary;
};

/// Throws Error unless the problem has sparse terms, b and the image are [z][y][x] of its domain, and the settings
/// make sense.
template <class T>
void require_sparse_problem(const Problem<T>& problem, const Array<Complex<T>>& b,
                            const Array<Complex<T>>& image, const SparseSettings& settings) {
  if (settings.iterations < 1) throw Error("iterations", "at least 1", std::to_string(settings.iterations));
  if (!(settings.tolerance >= 0 && settings.tolerance < 1))
    throw Error("tolerance", "a relative residual in [0, 1)", std::to_string(settings.tolerance));
  if (problem.sparse.empty()) throw Error("problem", "a sparse term", "none");
  require_shape(b, problem.normal->domain(), "right-hand side");
  require_shape(image, b.shape(), "solution");
}

/// Returns the stationarity |N rho - b + sum A_j^H y_j|, relative to |sum A_j^H y_j| and |b|.
inline double relative_stationarity(double gradient, double force, double b) {
  constexpr double least_force = 3e-4;  // of |b|: below, the terms hardly matter
  const double scale = std::max(force, least_force * b);
  return scale > 0 ? gradient / scale : 0;
}

/// M^-1 of N + penalty sum A_j^H A_j on the image; null: none.
template <class T>
using PreconditionerOf = std::function<std::shared_ptr<const HermitianOperator<T>>(double penalty)>;

}  // namespace fhd

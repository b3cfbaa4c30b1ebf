#pragma once
// The alternating direction method of multipliers, for any sum of sparse terms: it minimises, over rho and the auxiliary
// unknowns u = (rho, ...),
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
//
// With coefficients z_j = A_j u of their own and scaled duals w_j = y_j / penalty,
//
//     u   = argmin over u of <rho, N rho> / 2 - Re <b, rho> + penalty / 2 sum_j |A_j u - z_j + w_j|^2
//     a_j = r A_j u + (1 - r) z_j                            over-relaxation, r = 1.6
//     z_j = prox of (weight_j / penalty) g_j at a_j + w_j
//     w_j = w_j + a_j - z_j
//
// The system for u is solved for the correction to the last u, by some steps of preconditioned conjugate
// gradient. After every tenth of the first half of the iterations the penalty is doubled where feasibility is far
// behind stationarity, and halved where it is far ahead.
//
// Sources: Boyd, Parikh, Chu, Peleato and Eckstein, Found. Trends Mach. Learn. 3:1 (2011), 3.3, 3.4.1, 3.4.3;
// Eckstein and Bertsekas, Math. Program. 55:293 (1992), inexact steps; Wohlberg, arXiv:1704.06209 (2017),
// relative residuals.
#include <functional>
#include <memory>
#include <vector>

#include "recon/array/work.hpp"
#include "recon/domain/report.hpp"
#include "recon/solve/problem.hpp"

namespace fhd {

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

/// M^-1 of N + penalty sum A_j^H A_j on the image; null: none.
template <class T>
using PreconditionerOf = std::function<std::shared_ptr<const HermitianOperator<T>>(double penalty)>;

struct AdmmSettings {
  int iterations = 100;       ///< at most
  double tolerance = 1e-3;    ///< of the relative residual
  double penalty = 1;         ///< at first, in units of N
  int inner_iterations = 30;  ///< of conjugate gradient, at most; it stops at 0.3 of its first residual
  int check_every = 1;        ///< of conjugate gradient: ConjugateGradientSettings
};

/// Minimises J from `image` [z][y][x] as given, and from the duals and auxiliary unknowns of `start`, a solution with
/// the same terms of a problem that is near; without duals, from 0. A residual that is not finite throws Error.
template <class T>
SparseSolution<T> admm(const Problem<T>& problem, const Array<Complex<T>>& b, Array<Complex<T>>& image,
                       const AdmmSettings& settings, const PreconditionerOf<T>& preconditioner = {},
                       const ProgressCallback& progress = {}, SparseSolution<T> start = {});

/// Beside b and the image, of `voxels`, for terms of so many planes and auxiliary images in all.
double admm_bytes(double voxels, double planes, double auxiliary, Precision precision, Device device,
                  bool preconditioned);

}  // namespace fhd

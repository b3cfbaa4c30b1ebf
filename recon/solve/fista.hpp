#pragma once
// The fast iterative shrinkage-thresholding algorithm, for one term with A^H A = 1: J of sparse_solution.hpp with
//
//     v    = s - (N s - b) / L                                a step down the gradient, L >= the largest eigenvalue of N
//     rho' = A^H shrink(A v, weight / L)                      the prox of the term
//     s    = rho' + (t - 1) / t' (rho' - rho),  t' = (1 + sqrt(1 + 4 t^2)) / 2
//
// and t = 1 again whenever the step points back: Re <s - rho', rho' - rho> > 0. Where A holds K > 1 orthogonal transforms,
// the prox is that of their proximal average: a convex function that is below their mean by at most weight^2 / (2 L) for
// each coefficient. The dual is y = L (A v - shrink(A v, weight / L)).
//
// Sources: Beck and Teboulle, SIAM J. Imaging Sci. 2:183 (2009); O'Donoghue and Candes, Found. Comput. Math. 15:715 (2015),
// the restart; Yu, NIPS 26 (2013), the proximal average.
#include "recon/array/work.hpp"
#include "recon/solve/sparse_solution.hpp"

namespace fhd {

struct FistaSettings : SparseSettings {
  double largest_eigenvalue = 0;  ///< of N, or more
};

/// Minimises J from `image` [z][y][x] as given. Throws Error unless there is one term, which is_tight(), and for a residual
/// that is not finite.
template <class T>
SparseSolution<T> fista(const Problem<T>& problem, const Array<Complex<T>>& b, Array<Complex<T>>& image,
                        const FistaSettings& settings, const ProgressCallback& progress = {});

/// Beside b and the image, of `voxels`, for a term of so many planes.
double fista_bytes(double voxels, double planes, Precision precision);

}  // namespace fhd

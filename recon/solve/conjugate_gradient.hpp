#pragma once
// Conjugate gradient for Hermitian positive definite systems.
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/array/linear_operator.hpp"

namespace fhd {

struct ConjugateGradientSettings {
  int iterations = 30;      ///< at most
  double tolerance = 1e-4;  ///< stop when |r| <= tolerance |b|; 0: at the rounding of T
  /// Iterations between looks at the residual (a GPU waits for each). The solution is the one of the first
  /// iteration that reached the tolerance all the same.
  int check_every = 1;
  int kept_residuals =
      40;  ///< the first ones, to which later residuals are kept orthogonal (residual_basis.hpp)
};

struct ConjugateGradientResult {
  std::vector<double>
      relative_residuals;  ///< |r_i| / |b| for i = 0 ... iterations done; first is 1 when x starts at 0
  bool converged = false;
};

/// Solves A x = b from x as given (usually zero). Residuals are those of the recurrence. A residual that is
/// not finite throws Error. Source: Hestenes and Stiefel, J. Res. NBS 49:409 (1952); Shewchuk (1994), B2.
template <class T>
ConjugateGradientResult conjugate_gradient(const HermitianOperator<T>& a, const Array<Complex<T>>& b,
                                           Array<Complex<T>>& x, const ConjugateGradientSettings& settings,
                                           const ProgressCallback& progress = {});

/// The largest eigenvalue of A, from below, by `steps` Lanczos steps from a random start with a fixed seed:
/// the same number on every run. 10 steps come within a few per cent on F^H F. Source: Golub and Van Loan,
/// 4th ed., 10.1.
template <class T>
double largest_eigenvalue(const HermitianOperator<T>& a, int steps = 10);

}  // namespace fhd

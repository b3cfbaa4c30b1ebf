#pragma once
// Conjugate gradient for Hermitian positive definite systems, and the largest eigenvalue of their operators.
#include <vector>

#include "recon/array/linear_operator.hpp"
#include "recon/array/work.hpp"
#include "recon/domain/report.hpp"

namespace fhd {

struct ConjugateGradientSettings {
  int iterations = 30;      ///< at most
  double tolerance = 1e-4;  ///< stop when |r| <= tolerance |b|; 0: at the rounding of T
  /// Iterations between looks at the residual (a GPU waits for each). The solution is the one of the first
  /// iteration that reached the tolerance all the same.
  int check_every = 1;
  /// Vectors of the first residuals, to which later ones are kept orthogonal (residual_basis.hpp): with a
  /// preconditioner two of each residual.
  int kept_residuals = 40;
  bool from_zero = false;  ///< x is zero as given: the first residual is b, without an A x
};

struct ConjugateGradientResult {
  /// |r_i| / |b| for i = 0 ... iterations done; first is 1 when x starts at 0.
  std::vector<double> relative_residuals;
  bool converged = false;
  /// The largest eigenvalue of A (of M^-1 A with a preconditioner), from below: conjugate gradient is a Lanczos process, whose tridiagonal matrix its
  /// coefficients give. 0 where there was no iteration. Source: Golub and Van Loan, 4th ed., 11.3.
  double largest_ritz_value = 0;
};

/// Beside x and b, for vectors of `elements` numbers on their device, of so many systems.
double conjugate_gradient_bytes(double elements, const ConjugateGradientSettings& settings,
                                Precision precision, Device device, double systems = 1,
                                bool preconditioned = false);

/// Solves a stack of right-hand sides b_j, each a system A x_j = b_j of its own that stops by itself, from x as given
/// (usually zero): an operator that takes many vectors together does so in every iteration. Residuals are those of the
/// recurrence. A residual that is not finite throws Error. `progress` hears of the system that has converged least.
/// Source: Hestenes and Stiefel, J. Res. NBS 49:409 (1952); Shewchuk (1994), B2.
///
/// `preconditioner` applies M^-1, Hermitian and positive definite on vectors that residuals can be (B3); null: M = 1. What
/// is told, and when to stop, is still |b - A x| / |b|.
template <class T>
std::vector<ConjugateGradientResult> conjugate_gradients(
    const HermitianOperator<T>& a, const Array<Complex<T>>& b, Array<Complex<T>>& x,
    const ConjugateGradientSettings& settings, const ProgressCallback& progress = {},
    const HermitianOperator<T>* preconditioner = nullptr);

/// Solves one system.
template <class T>
ConjugateGradientResult conjugate_gradient(const HermitianOperator<T>& a, const Array<Complex<T>>& b,
                                           Array<Complex<T>>& x, const ConjugateGradientSettings& settings,
                                           const ProgressCallback& progress = {},
                                           const HermitianOperator<T>* preconditioner = nullptr) {
  require_shape(b, a.domain(), "right-hand side");
  return std::move(conjugate_gradients(a, b, x, settings, progress, preconditioner).front());
}

/// The largest eigenvalue of A, from below, by `steps` Lanczos steps from a random start with a fixed seed:
/// the same number on every run. 10 steps come within a few per cent on F^H F. Source: Golub and Van Loan,
/// 4th ed., 10.1.
template <class T>
double largest_eigenvalue(const HermitianOperator<T>& a, int steps = 10);
/// Starts from a vector that is not zero: fewer steps do where it is rich in the largest eigenvectors, as E^H d is.
template <class T>
double largest_eigenvalue_from(const HermitianOperator<T>& a, const Array<Complex<T>>& start, int steps);

}  // namespace fhd

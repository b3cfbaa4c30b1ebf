#pragma once
// The residuals of conjugate gradient are orthogonal, but for rounding: once the largest eigenvalues have
// converged (after a few iterations where the centre of k-space is dense), they lose it, convergence slows
// down, and images of a given iteration differ by 1e-3 ... 2e-2 between single and double precision, or
// between CPU and GPU, though F agrees to 1e-7. Subtracting the projections on earlier residuals restores it:
// single against double 1e-5 at 30 iterations. Source: Golub and Van Loan, Matrix Computations, 4th
// ed., 10.3.
#include "recon/array/array.hpp"

namespace fhd {

/// The first `capacity` residuals of one solve.
template <class T>
class ResidualBasis {
 public:
  /// Vectors have the size of `domain`.
  ResidualBasis(const Shape& domain, std::int64_t capacity, Device device);

  /// Of `elements` each, on their device.
  static double bytes(double elements, double capacity, Device device);

  /// r -= sum over kept residuals of r_j <r_j, r> / |r_j|^2. Sums in double, in an order that does not depend
  /// on threads.
  void project_out(Array<Complex<T>>& r);
  /// Keeps a copy of r, with |r|^2 = squares[index] on the device; does nothing when full.
  void keep(const Array<Complex<T>>& r, const Array<double>& squares, std::int64_t index);

 private:
  std::int64_t capacity_, count_ = 0, size_, blocks_;
  Array<Complex<T>> residuals_;  // [residual][element]
  Array<double> squares_;        // [residual]
  // Made once. CPU: partial sums of <r_j, r>, [block][kept residual]; a GPU: <r_j, r>, behind them partial sums.
  Array<Complex<double>> products_;
  Array<Complex<T>> coefficients_;  // CPU: <r_j, r> / |r_j|^2
};

namespace device {

/// The CUDA side, in residual_basis_cuda.cu: r -= sum over j < count of r_j <r_j, r> / squares[j], |r_j|^2 =
/// squares[j]. `products` has count (residual_basis_blocks + 1) elements.
template <class T>
void project_out(const Complex<T>* residuals, const double* squares, std::int64_t count, std::int64_t size,
                 Complex<double>* products, Complex<T>* r);
inline constexpr std::int64_t residual_basis_blocks = 528;  // 4 for each multiprocessor of an H100

}  // namespace device
}  // namespace fhd

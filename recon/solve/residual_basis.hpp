#pragma once
// The residuals of conjugate gradient are orthogonal, but for rounding: once the largest eigenvalues have
// converged (after a few iterations where the centre of k-space is dense), they lose it, convergence slows
// down, and images of a given iteration differ by 1e-3 ... 2e-2 between single and double precision, or
// between CPU and GPU, though F agrees to 1e-7. Subtracting the projections on earlier residuals restores it:
// single against double 1e-5 at 30 iterations. Source: Golub and Van Loan, Matrix Computations, 4th
// ed., 10.3.
#include <algorithm>

#include "recon/array/array.hpp"

namespace fhd {

/// The first `capacity` residuals of one solve, or of a stack of systems that are solved side by side.
template <class T>
class ResidualBasis {
 public:
  /// Vectors have the size of `domain`; a stack has `systems` of them.
  ResidualBasis(const Shape& domain, std::int64_t capacity, Device device, std::int64_t systems = 1);

  /// Of `elements` each, on their device.
  static double bytes(double elements, double capacity, Device device, double systems = 1);

  /// r -= sum over kept residuals of r_j <r_j, r> / |r_j|^2, of every system its own. Sums in double, in an order
  /// that does not depend on threads.
  void project_out(Array<Complex<T>>& r);
  /// Keeps a copy of r, with |r|^2 = squares[index ...] of the systems on the device; does nothing when full.
  void keep(const Array<Complex<T>>& r, const Array<double>& squares, std::int64_t index);

 private:
  void project_out_on_host(std::int64_t system, Complex<T>* r);

  std::int64_t capacity_, systems_, count_ = 0, size_, blocks_;
  Array<Complex<T>> residuals_;  // [residual][system][element]
  Array<double> squares_;        // [residual][system]
  // Made once. CPU: partial sums of <r_j, r>, [block][kept residual]; a GPU: <r_j, r>, behind them partial sums.
  Array<Complex<double>> products_;
  Array<Complex<T>> coefficients_;  // CPU: <r_j, r> / |r_j|^2
};

namespace device {

/// The CUDA side, in residual_basis_cuda.cu: r -= sum over j < count of r_j <r_j, r> / squares[j], |r_j|^2 =
/// squares[j], of each of `systems` of `size` elements. `products` has count systems (residual_basis_blocks(size) + 1)
/// elements.
template <class T>
void project_out(const Complex<T>* residuals, const double* squares, std::int64_t count, std::int64_t systems,
                 std::int64_t size, Complex<double>* products, Complex<T>* r);
/// As many as the size fills, at most 4 for each multiprocessor of an H100.
inline std::int64_t residual_basis_blocks(std::int64_t size) {
  constexpr std::int64_t elements_of_block = 1024, most = 528;
  return std::clamp((size + elements_of_block - 1) / elements_of_block, std::int64_t{1}, most);
}

}  // namespace device
}  // namespace fhd

#pragma once
// The residuals of conjugate gradient are orthogonal, but for rounding: once the largest eigenvalues have
// converged (after a few iterations where the centre of k-space is dense), they lose it, convergence slows
// down, and images of a given iteration differ by 1e-3 ... 2e-2 between single and double precision, or
// between CPU and GPU, though F agrees to 1e-7. Subtracting the projections on earlier residuals restores it:
// single against double 1e-5 at 30 iterations. Source: Golub and Van Loan, Matrix Computations, 4th
// ed., 10.3.
//
// With a preconditioner M the residuals are orthogonal in the product of M^-1: <z_j, r> = 0 with z_j = M^-1 r_j, which
// is kept beside r_j.
#include <algorithm>

#include "recon/array/array.hpp"

namespace fhd {

/// The first `capacity` residuals of one solve, or of a stack of systems that are solved side by side.
template <class T>
class ResidualBasis {
 public:
  /// Vectors have the size of `domain`; a stack has `systems` of them. `in_pairs`: with a preconditioner.
  ResidualBasis(const Shape& domain, std::int64_t capacity, Device device, std::int64_t systems = 1,
                bool in_pairs = false);

  /// Returns the bytes for vectors of `elements` each, on their device.
  static double bytes(double elements, double capacity, Device device, double systems = 1,
                      bool in_pairs = false);

  /// r -= sum over kept residuals of r_j <z_j, r> / <r_j, z_j>, of every system its own; z_j = r_j without a
  /// preconditioner. Sums in double, in an order that does not depend on threads.
  void project_out(Array<Complex<T>>& r);
  /// Keeps copies of r and, of pairs, z = M^-1 r, with <r, z> = products[index ...] of the systems on the device; does
  /// nothing when full.
  void keep(const Array<Complex<T>>& r, const Array<Complex<T>>& z, const Array<double>& products,
            std::int64_t index);

 private:
  void project_out_on_host(std::int64_t system, Complex<T>* r);

  std::int64_t capacity_, systems_, count_ = 0, size_, blocks_;
  /// z_j, or r_j where there are no pairs.
  const Array<Complex<T>>& duals() const { return duals_.empty() ? residuals_ : duals_; }

  Array<Complex<T>> residuals_, duals_;  // [residual][system][element]; duals_ of pairs
  Array<double> squares_;                // <r_j, z_j>, [residual][system]
  // Made once. CPU: partial sums of <z_j, r>, [block][kept residual]; a GPU: <z_j, r>, behind them partial sums.
  Array<Complex<double>> products_;
  Array<Complex<T>> coefficients_;  // CPU: <z_j, r> / <r_j, z_j>
};

namespace device {

/// The CUDA side, in residual_basis_cuda.cu: r -= sum over j < count of r_j <z_j, r> / squares[j],
/// squares[j] = <r_j, z_j>, of each of `systems` of `size` elements. `products` has count systems
/// (residual_basis_blocks(size) + 1) elements.
template <class T>
void project_out(const Complex<T>* residuals, const Complex<T>* duals, const double* squares,
                 std::int64_t count, std::int64_t systems, std::int64_t size, Complex<double>* products,
                 Complex<T>* r);
/// Returns the blocks that the size fills, at most 4 for each multiprocessor of an H100.
inline std::int64_t residual_basis_blocks(std::int64_t size) {
  constexpr std::int64_t elements_of_block = 1024, most = 528;
  return std::clamp((size + elements_of_block - 1) / elements_of_block, std::int64_t{1}, most);
}

}  // namespace device
}  // namespace fhd

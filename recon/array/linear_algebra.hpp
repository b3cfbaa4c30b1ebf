#pragma once
// Dense matrices in host memory, row-major [row][column], by OpenBLAS and its LAPACK. Large ones take as many
// threads as OpenMP would, of OpenBLAS's own pool: call these functions outside of parallel regions.
#include <functional>
#include <optional>

#include "recon/array/array.hpp"

namespace fhd {

/// Returns whether the addresses of the process are limited, as clusters and `ulimit -v` set it: OpenBLAS takes 128 MiB
/// of them for each thread.
bool has_limited_addresses();

/// a b, [m][k] times [k][n]...: the further axes of b are those of the result. T is float or double.
template <class T>
Array<Complex<T>> matrix_product(const Array<Complex<T>>& a, const Array<Complex<T>>& b);

/// b = a b for a square a, [n][n] times [n]...: memory that is used for the first time costs more than the
/// product.
template <class T>
void multiply_in_place(const Array<Complex<T>>& a, Array<Complex<T>>& b);

/// sum over columns of a a^H, [rows][columns] -> [rows][rows]. Columns are summed in single precision in
/// blocks of 1,024 and the blocks in double.
Array<Complex<double>> sum_of_outer_products(const Array<Complex<float>>& a);

/// Eigenvalues of a Hermitian matrix, largest first, and its orthonormal eigenvectors [index][component].
template <class T>
struct HermitianEigen {
  Array<T> values;
  Array<Complex<T>> vectors;
};
/// LAPACK's divide and conquer (cheevd, zheevd). T is float or double. Throws Error when the matrix holds NaN
/// or infinity.
template <class T>
HermitianEigen<T> hermitian_eigen(Array<Complex<T>> square);

/// The eigenvalues alone, largest first.
Array<double> hermitian_eigenvalues(Array<Complex<double>> square);

/// work(i) for 0 <= i < count, shared out among OpenMP's threads, in which the functions of this file may be called
/// for matrices of at most 64 rows, and matrix_product for few enough multiplications. Throws what one of them threw.
void for_each_small_problem(std::int64_t count, const std::function<void(std::int64_t)>& work);

/// All eigenvalues of a Hermitian matrix, largest first, and the eigenvectors [index][component] of as many of the
/// largest as `count_of` these says. What most of them cost is not spent: LAPACK's reduction to a tridiagonal
/// matrix (chetrd), its eigenvalues (dsterf), and the vectors of those that are wanted (dstein, cunmtr). Throws
/// Error when the matrix holds NaN or infinity.
HermitianEigen<float> leading_eigenvectors(Array<Complex<float>> matrix,
                                           const std::function<std::int64_t(const Array<float>&)>& count_of);

/// max(share * the largest eigenvalue, times_middle * that of number `middle`), 0 <= middle < n.
struct EigenvalueThreshold {
  double share, times_middle;
  std::int64_t middle;
};
/// Returns, for a positive semidefinite matrix, the eigenvectors [index][component] of the eigenvalues above the
/// threshold, and the largest eigenvalues, at least these. A large matrix, of which few are, costs a few
/// products with a fifth of it: by subspace iteration. Where that does not tell, all eigenvalues are found
/// (leading_eigenvectors). Throws Error when the matrix holds NaN or infinity.
HermitianEigen<float> eigenvectors_above(Array<Complex<float>> matrix, const EigenvalueThreshold& threshold);

/// The inverse of the lower Cholesky factor L of a Hermitian matrix = L L^H, lower triangular; nothing when
/// the matrix is not positive definite in double precision.
std::optional<Array<Complex<double>>> inverse_cholesky_factor(Array<Complex<double>> matrix);

}  // namespace fhd

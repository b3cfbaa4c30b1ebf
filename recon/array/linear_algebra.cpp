#include "recon/array/linear_algebra.hpp"

#include <cblas-openblas.h>
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fhd {
namespace {

/// OpenBLAS starts its threads as it is loaded, and they wait actively: half of the first 50 ms of a program
/// on two cores. So it is opened when a matrix needs it, which many reconstructions never do. Of LAPACK,
/// which it brings no header for, the Fortran interface: matrices are column-major, a row-major Hermitian
/// matrix arrives as its conjugate.
struct OpenBlas {
  template <class T>
  using Heevd = void(const char* job, const char* triangle, const int* n, Complex<T>* a, const int* lda, T* w,
                     Complex<T>* work, const int* lwork, T* rwork, const int* lrwork, int* iwork,
                     const int* liwork, int* info);
  using Potrf = void(const char* triangle, const int* n, Complex<double>* a, const int* lda, int* info);
  using Trtri = void(const char* triangle, const char* diagonal, const int* n, Complex<double>* a,
                     const int* lda, int* info);

  void* library = open();
  decltype(&openblas_set_num_threads) set_num_threads =
      function<decltype(&openblas_set_num_threads)>("openblas_set_num_threads");
  decltype(&cblas_cgemm) cgemm = function<decltype(&cblas_cgemm)>("cblas_cgemm");
  decltype(&cblas_zgemm) zgemm = function<decltype(&cblas_zgemm)>("cblas_zgemm");
  decltype(&cblas_cherk) cherk = function<decltype(&cblas_cherk)>("cblas_cherk");
  Heevd<float>* cheevd = function<Heevd<float>*>("cheevd_");
  Heevd<double>* zheevd = function<Heevd<double>*>("zheevd_");
  Potrf* zpotrf = function<Potrf*>("zpotrf_");
  Trtri* ztrtri = function<Trtri*>("ztrtri_");

 private:
  static constexpr const char* name = "libopenblas.so.0";
  static void* open() {
    void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library) fail();
    return library;
  }
  template <class Function>
  Function function(const char* symbol) const {
    void* found = dlsym(library, symbol);
    if (!found) fail();
    return reinterpret_cast<Function>(found);
  }
  [[noreturn]] static void fail() {
    const char* reason = dlerror();
    throw Error(name, "the linear algebra library OpenBLAS", reason ? reason : "none",
                "install the package libopenblas0");
  }
};

/// Opened by the first call; throws Error where it is not installed.
const OpenBlas& openblas() {
  static const OpenBlas library;
  return library;
}

/// Small products are over before OpenBLAS's threads, which wait actively, have left the processors to
/// OpenMP's.
void use_threads_for(double multiplications) {
  constexpr double worth_threads = 1e8;
  openblas().set_num_threads(multiplications < worth_threads ? 1 : omp_get_max_threads());
}

int blas_size(std::int64_t n) {
  if (n > std::numeric_limits<int>::max())
    throw Error("matrix", "at most 2^31 - 1 rows and columns", std::to_string(n));
  return static_cast<int>(n);
}

template <class T>
void require_square(const Array<Complex<T>>& matrix) {
  if (matrix.shape().rank() != 2 || matrix.extent(0) != matrix.extent(1))
    throw Error("matrix", "a square [n][n]", matrix.shape().text());
}

auto gemm(float) { return openblas().cgemm; }
auto gemm(double) { return openblas().zgemm; }
auto heevd(float) { return openblas().cheevd; }
auto heevd(double) { return openblas().zheevd; }

}  // namespace

template <class T>
Array<Complex<T>> matrix_product(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  const Shape& from = b.shape();
  if (a.shape().rank() != 2 || from.rank() < 1 || from.rank() > 4 || a.extent(1) != from[0])
    throw Error("matrix product", "[m][k] and [k]...", a.shape().text() + " and " + from.text());
  const std::int64_t rows = a.extent(0);
  Array<Complex<T>> c(from.rank() == 1   ? Shape{rows}
                      : from.rank() == 2 ? Shape{rows, from[1]}
                      : from.rank() == 3 ? Shape{rows, from[1], from[2]}
                                         : Shape{rows, from[1], from[2], from[3]});
  if (c.empty() || b.empty()) return c;
  use_threads_for(static_cast<double>(a.size()) * static_cast<double>(c.size() / rows));
  const Complex<T> one(1), zero(0);
  const int m = blas_size(rows), k = blas_size(from[0]), n = blas_size(c.size() / rows);
  gemm(T())(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, &one, a.data(), k, b.data(), n, &zero,
            c.data(), n);
  return c;
}
template Array<Complex<float>> matrix_product(const Array<Complex<float>>&, const Array<Complex<float>>&);
template Array<Complex<double>> matrix_product(const Array<Complex<double>>&, const Array<Complex<double>>&);

Array<Complex<double>> sum_of_outer_products(const Array<Complex<float>>& a) {
  if (a.shape().rank() != 2) throw Error("matrix", "[row][column]", a.shape().text());
  constexpr std::int64_t block = 1024;
  use_threads_for(static_cast<double>(a.extent(0) * a.extent(0)) *
                  static_cast<double>(std::min(block, a.extent(1))));
  const std::int64_t columns = a.extent(1);
  const int n = blas_size(a.extent(0)), lda = blas_size(columns);
  Array<Complex<double>> sum(Shape{n, n});
  Array<Complex<float>> part(Shape{n, n});
  for (std::int64_t first = 0; first < columns; first += block) {
    const int used = static_cast<int>(std::min(block, columns - first));
    openblas().cherk(CblasRowMajor, CblasLower, CblasNoTrans, n, used, 1, a.data() + first, lda, 0,
                     part.data(), n);
    for (int row = 0; row < n; ++row)
      for (int column = 0; column <= row; ++column)
        sum[std::int64_t{row} * n + column] += Complex<double>(part[std::int64_t{row} * n + column]);
  }
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < row; ++column)
      sum[std::int64_t{column} * n + row] = conj(sum[std::int64_t{row} * n + column]);
  return sum;
}

template <class T>
HermitianEigen<T> hermitian_eigen(Array<Complex<T>> matrix) {
  require_square(matrix);
  for (const auto& v : matrix)
    if (!std::isfinite(v.re) || !std::isfinite(v.im))
      throw Error("Hermitian matrix", "finite numbers", "NaN or infinity");
  const int n = blas_size(matrix.extent(0));
  use_threads_for(std::pow(n, 3));
  HermitianEigen<T> eigen{Array<T>(Shape{n}), Array<Complex<T>>(Shape{n, n})};
  if (n == 0) return eigen;
  int info = 0, query = -1, least_integers = 0;
  Complex<T> least;
  T least_reals = 0;
  // Row-major lower triangle = column-major upper triangle.
  heevd(T())("V", "U", &n, matrix.data(), &n, eigen.values.data(), &least, &query, &least_reals, &query,
             &least_integers, &query, &info);
  // A float below may hold the size rounded down.
  const int work_size = static_cast<int>(std::ceil(static_cast<double>(least.re) * 1.0001)) + 1,
            real_size = static_cast<int>(std::ceil(static_cast<double>(least_reals) * 1.0001)) + 1;
  std::vector<Complex<T>> work(static_cast<std::size_t>(work_size));
  std::vector<T> reals(static_cast<std::size_t>(real_size));
  std::vector<int> integers(static_cast<std::size_t>(least_integers));
  heevd(T())("V", "U", &n, matrix.data(), &n, eigen.values.data(), work.data(), &work_size, reals.data(),
             &real_size, integers.data(), &least_integers, &info);
  if (info != 0)
    throw Error("Hermitian matrix", "eigenvalues", "LAPACK heevd stopped with " + std::to_string(info));
  // Ascending columns of the conjugate matrix -> descending rows, conjugated.
  std::reverse(eigen.values.begin(), eigen.values.end());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) eigen.vectors[i * n + j] = conj(matrix[(n - 1 - i) * n + j]);
  return eigen;
}

std::optional<Array<Complex<double>>> inverse_cholesky_factor(Array<Complex<double>> matrix) {
  require_square(matrix);
  const int n = blas_size(matrix.extent(0));
  use_threads_for(std::pow(n, 3));
  double largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, matrix[std::int64_t{i} * n + i].re);
  int info = 0;
  // Row-major M = L L^H is column-major conj(M) = conj(L) conj(L)^H; its upper factor U with U^H U has the
  // memory of the row-major lower triangle of U^T = L.
  openblas().zpotrf("U", &n, matrix.data(), &n, &info);
  if (info != 0) return std::nullopt;
  for (std::int64_t i = 0; i < n; ++i) {
    const double pivot = matrix[i * n + i].re;
    if (!(pivot * pivot > 1e-12 * largest)) return std::nullopt;
    for (std::int64_t j = i + 1; j < n; ++j) matrix[i * n + j] = {};
  }
  openblas().ztrtri("U", "N", &n, matrix.data(), &n, &info);
  if (info != 0) return std::nullopt;
  return matrix;
}

template HermitianEigen<float> hermitian_eigen<float>(Array<Complex<float>>);
template HermitianEigen<double> hermitian_eigen<double>(Array<Complex<double>>);

}  // namespace fhd

#include "recon/array/linear_algebra.hpp"

#include <cblas-openblas.h>
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <random>
#include <vector>

#include "recon/array/address_space.hpp"
#include "recon/array/parallel_failure.hpp"

namespace fhd {
namespace {

/// Each thread that works in OpenBLAS, its own and those that call it, gets a buffer of so many addresses, and waits for
/// ever where there are none: they are looked for before, and room for what is needed beside.
void require_buffers(int count) {
  constexpr std::size_t buffer_bytes = (std::size_t{128} << 20) + (std::size_t{1} << 16),
                        beside_bytes = std::size_t{64} << 20;
  require_addresses(static_cast<std::size_t>(count) * buffer_bytes + beside_bytes, "OpenBLAS");
}

/// Returns how many threads OpenBLAS starts as it is loaded, with the one that loads it.
int threads_at_loading() {
  const char* asked = std::getenv("OPENBLAS_NUM_THREADS");
  const int threads = asked ? std::atoi(asked) : 0;
  return threads > 0 ? threads : std::max(1, omp_get_num_procs());
}

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

  using Hetrd = void(const char* triangle, const int* n, Complex<float>* a, const int* lda, float* diagonal,
                     float* beside, Complex<float>* factors, Complex<float>* work, const int* lwork,
                     int* info);
  using Sterf = void(const int* n, double* diagonal, double* beside, int* info);
  using Stemr = void(const char* job, const char* range, const int* n, double* diagonal, double* beside,
                     const double* least, const double* most, const int* first, const int* last, int* found,
                     double* w, double* z, const int* ldz, const int* columns, int* support, int* accurately,
                     double* work, const int* lwork, int* iwork, const int* liwork, int* info);
  using Stein = void(const int* n, const double* diagonal, const double* beside, const int* m,
                     const double* w, const int* block, const int* split, double* z, const int* ldz,
                     double* work, int* iwork, int* failed, int* info);
  using Geqrf = void(const int* m, const int* n, Complex<float>* a, const int* lda, Complex<float>* factors,
                     Complex<float>* work, const int* lwork, int* info);
  using Ungqr = void(const int* m, const int* n, const int* k, Complex<float>* a, const int* lda,
                     const Complex<float>* factors, Complex<float>* work, const int* lwork, int* info);
  using Unmtr = void(const char* side, const char* triangle, const char* transposed, const int* m,
                     const int* n, const Complex<float>* a, const int* lda, const Complex<float>* factors,
                     Complex<float>* c, const int* ldc, Complex<float>* work, const int* lwork, int* info);

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
  Hetrd* chetrd = function<Hetrd*>("chetrd_");
  Sterf* dsterf = function<Sterf*>("dsterf_");
  Stemr* dstemr = function<Stemr*>("dstemr_");
  Stein* dstein = function<Stein*>("dstein_");
  Geqrf* cgeqrf = function<Geqrf*>("cgeqrf_");
  Ungqr* cungqr = function<Ungqr*>("cungqr_");
  Unmtr* cunmtr = function<Unmtr*>("cunmtr_");

 private:
  static constexpr const char* name = "libopenblas.so.0";
  static void* open() {
    if (has_limited_addresses()) require_buffers(threads_at_loading());
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

/// Has OpenBLAS take the buffers of `threads` now, which it keeps, where it might not get them later. Throws Error.
void require_room_for(int threads) {
  static std::mutex mutex;
  static int had_room = 0;
  if (!has_limited_addresses()) return;
  const std::lock_guard lock(mutex);
  if (threads <= had_room) return;
  require_buffers(threads - had_room);
  auto* const take = reinterpret_cast<void* (*)(int)>(dlsym(openblas().library, "blas_memory_alloc"));
  auto* const give_back = reinterpret_cast<void (*)(void*)>(dlsym(openblas().library, "blas_memory_free"));
  std::vector<void*> buffers(take && give_back ? static_cast<std::size_t>(threads) : 0);
  for (auto& buffer : buffers) buffer = take(0);
  for (void* buffer : buffers) give_back(buffer);
  had_room = threads;
}

}  // namespace

std::string openblas_version() {
  const auto symbol = [](const char* name) {
    return reinterpret_cast<char* (*)()>(dlsym(openblas().library, name));
  };
  auto* const config =
      symbol("openblas_get_config");  // "OpenBLAS 0.3.21 NO_AFFINITY USE64BITINT ... MAX_THREADS=64"
  auto* const kernels = symbol("openblas_get_corename");
  std::string text = config ? config() : "of an unknown version";
  if (text.starts_with("OpenBLAS ")) text = text.substr(9, text.find(' ', 9) - 9);
  return kernels ? text + ", kernels " + kernels() : text;
}

namespace {

/// Small products are over before OpenBLAS's threads, which wait actively, have left the processors to
/// OpenMP's.
void use_threads_for(double multiplications) {
  constexpr double worth_threads = 1e8;
  const int threads = multiplications < worth_threads ? 1 : omp_get_max_threads();
  const auto& library = openblas();
  require_room_for(std::max(threads, threads_at_loading()));
  library.set_num_threads(threads);
}

/// OpenBLAS takes few threads that call it at once, on any number of processors.
constexpr int most_callers = 16;
/// For so many OpenMP threads that call it at once.
void use_one_thread_for_each_of(int callers) {
  const auto& library = openblas();
  require_room_for(threads_at_loading() - 1 + callers);
  library.set_num_threads(1);
}

/// Few rows of very many columns (coils and samples): body(first, count) for columns in parts of `most`, shared
/// out among OpenMP's threads, each with OpenBLAS on one thread of its own: a part stays in a cache.
template <class Body>
void for_each_part(std::int64_t columns, std::int64_t most, double multiplications, const Body& body) {
  constexpr double worth_threads = 1e7;
  const int threads = multiplications < worth_threads ? 1 : std::min(omp_get_max_threads(), most_callers);
  use_one_thread_for_each_of(threads);
  ParallelFailure failure;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t first = 0; first < columns; first += most)
    failure.guard([&] { body(first, std::min(most, columns - first)); });
  failure.rethrow();
}
constexpr std::int64_t few_rows = 64;
int blas_size(std::int64_t n) {
  if (n > std::numeric_limits<int>::max())
    throw Error("matrix", "at most 2^31 - 1 rows and columns", std::to_string(n));
  return static_cast<int>(n);
}

template <class T>
void require_finite(const Array<Complex<T>>& matrix) {
  for (const auto& v : matrix)
    if (!std::isfinite(v.re) || !std::isfinite(v.im))
      throw Error("Hermitian matrix", "finite numbers", "NaN or infinity");
}

void require_success(int info, const char* routine) {
  if (info != 0)
    throw Error("Hermitian matrix", "eigenvalues",
                "LAPACK " + std::string(routine) + " stopped with " + std::to_string(info));
}

/// Returns the vectors of the `count` largest eigenvalues (ascending) of a real symmetric tridiagonal matrix
/// largest by inverse iteration, ascending columns [n]. None where the matrix falls apart, or an iteration does
/// not converge.
std::vector<double> inverse_iteration(const std::vector<double>& diagonal, const std::vector<double>& beside,
                                      const std::vector<double>& values, int count) {
  const int n = static_cast<int>(diagonal.size()), whole = 1;
  const double size = std::max(std::abs(values.front()), std::abs(values.back()));
  for (int i = 0; i + 1 < n; ++i)
    if (!(std::abs(beside[static_cast<std::size_t>(i)]) > std::numeric_limits<double>::epsilon() * size))
      return {};
  std::vector<double> vectors(diagonal.size() * static_cast<std::size_t>(count)), work(5 * diagonal.size());
  std::vector<int> block(static_cast<std::size_t>(count), whole), integers(diagonal.size()),
      failed(static_cast<std::size_t>(count));
  int info = 0;
  openblas().dstein(&n, diagonal.data(), beside.data(), &count, values.data() + (n - count), block.data(), &n,
                    vectors.data(), &n, work.data(), integers.data(), failed.data(), &info);
  if (info != 0) vectors.clear();
  return vectors;
}

/// Returns the same vectors by multiple relatively robust representations: slower, and for every matrix.
std::vector<double> robust_eigenvectors(std::vector<double> diagonal, std::vector<double> beside, int count) {
  const int n = static_cast<int>(diagonal.size()), first = n - count + 1, work_size = 18 * n,
            integer_size = 10 * n;
  std::vector<double> values(diagonal.size()), work(static_cast<std::size_t>(work_size)),
      vectors(diagonal.size() * static_cast<std::size_t>(count));
  std::vector<int> support(2 * static_cast<std::size_t>(count)),
      integers(static_cast<std::size_t>(integer_size));
  const double unused = 0;
  int found = 0, accurately = 1, info = 0;
  openblas().dstemr("V", "I", &n, diagonal.data(), beside.data(), &unused, &unused, &first, &n, &found,
                    values.data(), vectors.data(), &n, &count, support.data(), &accurately, work.data(),
                    &work_size, integers.data(), &integer_size, &info);
  require_success(info, "dstemr");
  return vectors;
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
  const Complex<T> one(1), zero(0);
  const int m = blas_size(rows), k = blas_size(from[0]), n = blas_size(c.size() / rows);
  const double multiplications = static_cast<double>(a.size()) * n;
  const auto multiply = [&](std::int64_t first, std::int64_t count) {
    gemm(T())(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, static_cast<int>(count), k, &one, a.data(), k,
              b.data() + first, n, &zero, c.data() + first, n);
  };
  constexpr std::int64_t part = 2048;
  if (std::max(m, k) <= few_rows) {
    for_each_part(n, part, multiplications, multiply);
  } else {
    use_threads_for(multiplications);
    multiply(0, n);
  }
  return c;
}
template Array<Complex<float>> matrix_product(const Array<Complex<float>>&, const Array<Complex<float>>&);
template Array<Complex<double>> matrix_product(const Array<Complex<double>>&, const Array<Complex<double>>&);

template <class T>
void multiply_in_place(const Array<Complex<T>>& a, Array<Complex<T>>& b) {
  require_square(a);
  if (b.shape().rank() < 1 || a.extent(1) != b.extent(0))
    throw Error("matrix product", "[n][n] and [n]...", a.shape().text() + " and " + b.shape().text());
  if (b.empty()) return;
  const int rows = blas_size(a.extent(0)), columns = blas_size(b.size() / rows);
  constexpr std::int64_t most = 2048;
  const double multiplications = static_cast<double>(a.size()) * columns;
  for_each_part(columns, most, multiplications, [&](std::int64_t first, std::int64_t count) {
    const Complex<T> one(1), zero(0);
    const int size = static_cast<int>(count);
    Array<Complex<T>> product(Shape{rows, count});
    gemm(T())(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, size, rows, &one, a.data(), rows,
              b.data() + first, columns, &zero, product.data(), size);
    for (std::int64_t row = 0; row < rows; ++row)
      std::copy_n(product.data() + row * count, count, b.data() + row * columns + first);
  });
}
template void multiply_in_place(const Array<Complex<float>>&, Array<Complex<float>>&);
template void multiply_in_place(const Array<Complex<double>>&, Array<Complex<double>>&);

Array<Complex<double>> sum_of_outer_products(const Array<Complex<float>>& a) {
  if (a.shape().rank() != 2) throw Error("matrix", "[row][column]", a.shape().text());
  constexpr std::int64_t block = 1024, most_parts = 64;
  const std::int64_t columns = a.extent(1);
  const int n = blas_size(a.extent(0)), lda = blas_size(columns);
  Array<Complex<double>> sum(Shape{n, n});
  /// Adds the lower triangle of columns first ... first + count - 1, a block at a time.
  const auto add_columns = [&](std::int64_t first, std::int64_t count, Complex<double>* to) {
    Array<Complex<float>> part(Shape{n, n});
    const std::int64_t end = first + count;
    for (; first < end; first += block) {
      openblas().cherk(CblasRowMajor, CblasLower, CblasNoTrans, n,
                       static_cast<int>(std::min(block, end - first)), 1, a.data() + first, lda, 0,
                       part.data(), n);
      for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t i = row * n; i <= row * n + row; ++i) to[i] += Complex<double>(part.data()[i]);
    }
  };
  if (n <= few_rows) {  // parts are the same for any number of threads, and so are the sums
    const std::int64_t blocks = (columns + block - 1) / block,
                       in_part = (blocks + most_parts - 1) / most_parts * block;
    Array<Complex<double>> parts(Shape{most_parts, sum.size()});
    for_each_part(columns, std::max(in_part, block), static_cast<double>(a.size()) * n,
                  [&](std::int64_t first, std::int64_t count) {
                    add_columns(first, count, parts.data() + first / std::max(in_part, block) * sum.size());
                  });
    for (std::int64_t i = 0; i < parts.size(); ++i) sum.data()[i % sum.size()] += parts.data()[i];
  } else {
    use_threads_for(static_cast<double>(n) * n * static_cast<double>(std::min(block, columns)));
    add_columns(0, columns, sum.data());
  }
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < row; ++column)
      sum[std::int64_t{column} * n + row] = conj(sum[std::int64_t{row} * n + column]);
  return sum;
}

/// A matrix [n][n] with rows of zeros behind it. OpenBLAS (0.3.21, cgemv for Haswell, in chetrd) reads a column
/// beyond the last one: at the end of the memory of a thread that is a segmentation fault.
template <class T>
Array<Complex<T>> with_room(const Array<Complex<T>>& matrix) {
  constexpr std::int64_t rows_behind = 8;
  Array<Complex<T>> result(Shape{matrix.extent(0) + rows_behind, matrix.extent(1)});
  std::copy(matrix.begin(), matrix.end(), result.begin());
  return result;
}

namespace {

/// Eigenvalues, ascending; of the conjugate of the matrix, whose place its eigenvectors take, as columns, where `job` is V.
template <class T>
void run_heevd(const char* job, Array<Complex<T>>& matrix, int n, Array<T>& values) {
  int info = 0, query = -1, least_integers = 0;
  Complex<T> least;
  T least_reals = 0;
  // Row-major lower triangle = column-major upper triangle.
  heevd(T())(job, "U", &n, matrix.data(), &n, values.data(), &least, &query, &least_reals, &query,
             &least_integers, &query, &info);
  // A float below may hold the size rounded down.
  const int work_size = static_cast<int>(std::ceil(static_cast<double>(least.re) * 1.0001)) + 1,
            real_size = static_cast<int>(std::ceil(static_cast<double>(least_reals) * 1.0001)) + 1;
  std::vector<Complex<T>> work(static_cast<std::size_t>(work_size));
  std::vector<T> reals(static_cast<std::size_t>(real_size));
  std::vector<int> integers(static_cast<std::size_t>(least_integers));
  heevd(T())(job, "U", &n, matrix.data(), &n, values.data(), work.data(), &work_size, reals.data(),
             &real_size, integers.data(), &least_integers, &info);
  require_success(info, "heevd");
}

}  // namespace

template <class T>
HermitianEigen<T> hermitian_eigen(Array<Complex<T>> square) {
  require_square(square);
  require_finite(square);
  Array<Complex<T>> matrix = with_room(square);
  const int n = blas_size(square.extent(0));
  use_threads_for(std::pow(n, 3));
  HermitianEigen<T> eigen{Array<T>(Shape{n}), Array<Complex<T>>(Shape{n, n})};
  if (n == 0) return eigen;
  run_heevd("V", matrix, n, eigen.values);
  // Ascending columns of the conjugate matrix -> descending rows, conjugated.
  std::reverse(eigen.values.begin(), eigen.values.end());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) eigen.vectors[i * n + j] = conj(matrix[(n - 1 - i) * n + j]);
  return eigen;
}

Array<double> hermitian_eigenvalues(Array<Complex<double>> square) {
  require_square(square);
  require_finite(square);
  Array<Complex<double>> matrix = with_room(square);
  const int n = blas_size(square.extent(0));
  use_threads_for(std::pow(n, 3));
  Array<double> values(Shape{n});
  if (n == 0) return values;
  run_heevd("N", matrix, n, values);
  std::reverse(values.begin(), values.end());
  return values;
}

void for_each_small_problem(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  const int threads = std::min(omp_get_max_threads(), most_callers);
  use_one_thread_for_each_of(threads);
  ParallelFailure failure;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i) failure.guard([&] { work(i); });
  failure.rethrow();
}

HermitianEigen<float> leading_eigenvectors(Array<Complex<float>> square,
                                           const std::function<std::int64_t(const Array<float>&)>& count_of) {
  require_square(square);
  require_finite(square);
  const int n = blas_size(square.extent(0));
  Array<Complex<float>> matrix = with_room(square);
  square = {};
  HermitianEigen<float> eigen{Array<float>(Shape{n}), {}};
  if (n == 0) return eigen;
  use_threads_for(std::pow(n, 3));
  const auto size = static_cast<std::size_t>(n);
  constexpr int block = 64;
  const int work_size = block * n;
  std::vector<Complex<float>> factors(size), work(2 * static_cast<std::size_t>(work_size));
  std::vector<float> diagonal(size), beside(size);
  int info = 0;
  // Row-major lower triangle = column-major upper triangle, of the conjugate matrix.
  openblas().chetrd("U", &n, matrix.data(), &n, diagonal.data(), beside.data(), factors.data(), work.data(),
                    &work_size, &info);
  require_success(info, "chetrd");
  const std::vector<double> d(diagonal.begin(), diagonal.end()), e(beside.begin(), beside.end());
  std::vector<double> values(d), scratch(e);
  openblas().dsterf(&n, values.data(), scratch.data(), &info);
  require_success(info, "dsterf");
  std::transform(values.rbegin(), values.rend(), eigen.values.begin(), [](double v) { return float(v); });

  const int count = static_cast<int>(std::clamp<std::int64_t>(count_of(eigen.values), 0, n));
  eigen.vectors = Array<Complex<float>>(Shape{count, n});
  if (count == 0) return eigen;
  auto of_tridiagonal = inverse_iteration(d, e, values, count);
  if (of_tridiagonal.empty()) of_tridiagonal = robust_eigenvectors(d, e, count);
  // Entries of unit vectors fall off like exponentials. What is far below rounding would become numbers so small that
  // processors take a hundred times as long for each product.
  constexpr double nothing = 1e-12;
  for (std::int64_t i = 0; i < eigen.vectors.size(); ++i) {  // largest first
    const double entry = of_tridiagonal[static_cast<std::size_t>((count - 1 - i / n) * n + i % n)];
    eigen.vectors.data()[i] = std::abs(entry) < nothing ? 0.0f : static_cast<float>(entry);
  }
  openblas().cunmtr("L", "U", "N", &n, &count, matrix.data(), &n, factors.data(), eigen.vectors.data(), &n,
                    work.data(), &work_size, &info);
  require_success(info, "cunmtr");
  for (auto& v : eigen.vectors) v = conj(v);
  return eigen;
}

namespace {

/// c = a b, or a b^H, of rows [m][k] and a matrix [k][n], [n][k].
Array<Complex<float>> product(const Array<Complex<float>>& a, CBLAS_TRANSPOSE of_b,
                              const Array<Complex<float>>& b) {
  const int m = blas_size(a.extent(0)), k = blas_size(a.extent(1)),
            n = blas_size(b.extent(of_b == CblasNoTrans ? 1 : 0));
  Array<Complex<float>> c(Shape{m, n});
  const Complex<float> one(1), zero(0);
  use_threads_for(static_cast<double>(a.size()) * n);
  openblas().cgemm(CblasRowMajor, CblasNoTrans, of_b, m, n, k, &one, a.data(), k, b.data(),
                   static_cast<int>(b.extent(1)), &zero, c.data(), n);
  return c;
}

/// An orthonormal basis of what the rows span, by Householder's QR.
void orthonormalize_rows(Array<Complex<float>>& rows) {
  const int n = blas_size(rows.extent(1)), count = blas_size(rows.extent(0)), work_size = 64 * n;
  std::vector<Complex<float>> factors(static_cast<std::size_t>(count)),
      work(static_cast<std::size_t>(work_size));
  int info = 0;
  use_threads_for(static_cast<double>(rows.size()) * count);
  // Row-major rows are column-major columns.
  openblas().cgeqrf(&n, &count, rows.data(), &n, factors.data(), work.data(), &work_size, &info);
  require_success(info, "cgeqrf");
  openblas().cungqr(&n, &count, &count, rows.data(), &n, factors.data(), work.data(), &work_size, &info);
  require_success(info, "cungqr");
}

/// `count` rows, each a sum of rows of the matrix with signs at random: of what it is large in, with room to
/// spare.
Array<Complex<float>> sketch(const Array<Complex<float>>& matrix, std::int64_t count) {
  const std::int64_t n = matrix.extent(0);
  Array<Complex<float>> rows(Shape{count, n});
  std::mt19937 generator(1946);
  for (std::int64_t i = 0; i < n; ++i) {
    const float sign = generator() % 2 == 0 ? 1.0f : -1.0f;
    Complex<float>* sum = rows.data() + i % count * n;
    for (std::int64_t j = 0; j < n; ++j) sum[j] += sign * matrix.data()[i * n + j];
  }
  return rows;
}

/// |w_i - theta_i v_i| of the first `count` rows, the largest.
double largest_residual(const Array<Complex<float>>& v, const Array<Complex<float>>& w,
                        const Array<float>& theta, std::int64_t count) {
  const std::int64_t n = v.extent(1);
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    double square = 0;
    for (std::int64_t j = 0; j < n; ++j) square += norm(w.data()[i * n + j] - theta[i] * v.data()[i * n + j]);
    largest = std::max(largest, std::sqrt(square));
  }
  return largest;
}

/// Subspace iteration with Rayleigh-Ritz (Halko, Martinsson and Tropp, SIAM Rev. 53:217 (2011); Saad, Numerical
/// methods for large eigenvalue problems, ch. 5), all in products of matrices. Nothing where it does not tell
/// which eigenvalues are above the threshold: too many are, the middle one may decide, or they do not settle.
/// Rows are v^H.
std::optional<HermitianEigen<float>> by_iteration(const Array<Complex<float>>& matrix,
                                                  const EigenvalueThreshold& threshold) {
  constexpr int most_iterations = 6,
                first_look = 2;  // which costs as much as a product: seldom settled before
  // Residuals over the largest eigenvalue: near the rounding of products in single precision, which grows with n.
  constexpr double settled = 1e-6, rounding = 4e-6;
  if (threshold.share < 25 * rounding)
    return std::nullopt;  // it would be among eigenvalues that are not settled
  const std::int64_t n = matrix.extent(0), count = std::min(n / 5, std::max<std::int64_t>(256, n / 10));
  double trace = 0, before = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) trace += matrix.data()[i * n + i].re;
  auto basis = sketch(matrix, count);
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    orthonormalize_rows(basis);
    auto next = product(basis, CblasNoTrans, matrix);
    if (iteration >= first_look) {
      auto ritz = hermitian_eigen(product(next, CblasConjTrans, basis));
      double rest = trace;
      for (const float value : ritz.values) rest -= value;
      // Ritz values are below the eigenvalues, of which none is below 0.
      const double least = threshold.share * ritz.values[0],
                   most_in_middle = rest / static_cast<double>(threshold.middle - count + 1);
      const std::int64_t rank =
          std::find_if(ritz.values.begin(), ritz.values.end(), [&](float v) { return !(v > least); }) -
          ritz.values.begin();
      if (threshold.middle < count || threshold.times_middle * most_in_middle > least || rank >= count)
        return std::nullopt;
      Array<Complex<float>> mixing(Shape{rank + 1, count});
      for (std::int64_t i = 0; i < mixing.size(); ++i) mixing.data()[i] = conj(ritz.vectors.data()[i]);
      auto vectors = product(mixing, CblasNoTrans, basis);
      const auto images = product(mixing, CblasNoTrans, next);
      const double residual = largest_residual(vectors, images, ritz.values, rank + 1) / ritz.values[0];
      if (residual <= settled || (residual <= rounding && 2 * residual > before)) {
        HermitianEigen<float> result{std::move(ritz.values), Array<Complex<float>>(Shape{rank, n})};
        for (std::int64_t i = 0; i < result.vectors.size(); ++i)
          result.vectors.data()[i] = conj(vectors.data()[i]);
        return result;
      }
      before = residual;
    }
    basis = std::move(next);
  }
  return std::nullopt;
}

}  // namespace

HermitianEigen<float> eigenvectors_above(Array<Complex<float>> matrix, const EigenvalueThreshold& threshold) {
  constexpr std::int64_t worth_iterating = 512;
  require_square(matrix);
  require_finite(matrix);
  const std::int64_t n = matrix.extent(0);
  if (n >= worth_iterating)
    if (auto found = by_iteration(matrix, threshold)) return std::move(*found);
  return leading_eigenvectors(std::move(matrix), [&](const Array<float>& values) {
    const double least =
        std::max(threshold.share * values[0], threshold.times_middle * values[threshold.middle]);
    return std::find_if(values.begin(), values.end(), [&](float v) { return !(v > least); }) - values.begin();
  });
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

#include "recon/array/linear_algebra.hpp"

#include <cblas-openblas.h>
#include <dlfcn.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "recon/array/libraries.hpp"
#include "recon/array/parallel_failure.hpp"

namespace fhd {

bool has_limited_addresses() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

namespace {

/// OpenBLAS takes few threads that call it at once, on any number of processors.
constexpr int most_callers = 16;
constexpr const char* library_name = "libopenblas.so.0";

[[noreturn]] void fail_to_open() {
  const char* reason = dlerror();
  throw Error(library_name, "the linear algebra library OpenBLAS", reason ? reason : "none",
              "install the package libopenblas0");
}

/// Each thread that works in OpenBLAS, its own (which it starts as it is loaded) and those that call it, gets a buffer
/// of so many addresses, and waits for ever where there are none. Where addresses are limited, all buffers are taken
/// as it is opened, and it keeps them. Throws Error where there is no room for them and for what is needed beside.
void* open_within_limits() {
  constexpr std::size_t buffer_bytes = (std::size_t{128} << 20) + (std::size_t{1} << 16),
                        beside_bytes = std::size_t{64} << 20;
  const char* asked = std::getenv("OPENBLAS_NUM_THREADS");
  const int own = asked && std::atoi(asked) > 0 ? std::atoi(asked) : std::max(1, omp_get_num_procs());
  const int threads = own - 1 + std::min(std::max(omp_get_max_threads(), omp_get_num_procs()), most_callers);
  std::vector<void*> buffers(static_cast<std::size_t>(threads));
  const std::size_t bytes = buffers.size() * buffer_bytes + beside_bytes;
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw Error("memory", "", std::to_string(bytes >> 20) + " MiB of addresses for OpenBLAS are not there",
                "use fewer threads, or a higher limit (ulimit -v)");
  munmap(room, bytes);
  void* library = dlopen(library_name, RTLD_LAZY);
  if (!library) fail_to_open();
  auto* const take = reinterpret_cast<void* (*)(int)>(dlsym(library, "blas_memory_alloc"));
  auto* const give_back = reinterpret_cast<void (*)(void*)>(dlsym(library, "blas_memory_free"));
  if (!take || !give_back) return library;
  for (auto& buffer : buffers) buffer = take(0);
  for (void* buffer : buffers) give_back(buffer);
  return library;
}

/// OpenBLAS starts its threads as it is loaded, and they wait actively: half of the first 50 ms of a program on two
/// cores. So it is opened when a matrix needs it, which many reconstructions never do. Throws Error where it is not
/// installed.
void* openblas() {
  static void* const library = [] {
    void* opened = has_limited_addresses() ? open_within_limits() : dlopen(library_name, RTLD_LAZY);
    if (!opened) fail_to_open();
    return opened;
  }();
  return library;
}

/// The name of a function, as an argument of a template.
struct Name {
  char text[32]{};
  template <std::size_t size>
  constexpr Name(const char (&name)[size]) {
    std::copy_n(name, size, text);
  }
};

/// Calls a function of OpenBLAS with arguments of the very types of its parameters.
template <Name name, class... Arguments>
void call(Arguments... arguments) {
  static auto* const function = [] {
    void* found = dlsym(openblas(), name.text);
    if (!found) fail_to_open();
    return reinterpret_cast<void (*)(Arguments...)>(found);
  }();
  function(arguments...);
}

/// Calls a routine of LAPACK by its Fortran interface: matrices are column-major, so that a row-major Hermitian matrix
/// arrives as its conjugate. Returns what it says last, `info`.
template <Name name, class... Arguments>
int info_of(Arguments... arguments) {
  int info = 0;
  call<name>(arguments..., &info);
  return info;
}
/// Calls a routine that cannot fail but for a defect.
template <Name name, class... Arguments>
void lapack(Arguments... arguments) {
  if (const int info = info_of<name>(arguments...); info != 0)
    throw Error("Hermitian matrix", "eigenvalues",
                "LAPACK " + std::string(name.text) + " stopped with " + std::to_string(info));
}

}  // namespace

std::string openblas_version() {
  const auto text_of = [](const char* name) {
    auto* const function = reinterpret_cast<char* (*)()>(dlsym(openblas(), name));
    return std::string(function ? function() : "of an unknown version");
  };
  std::string text = text_of("openblas_get_config");  // "OpenBLAS 0.3.21 NO_AFFINITY ... MAX_THREADS=64"
  if (text.starts_with("OpenBLAS ")) text = text.substr(9, text.find(' ', 9) - 9);
  return text + ", kernels " + text_of("openblas_get_corename");
}

namespace {

/// Small products are over before OpenBLAS's threads, which wait actively, have left the processors to
/// OpenMP's.
void use_threads_for(double multiplications) {
  constexpr double worth_threads = 1e8;
  call<"openblas_set_num_threads">(multiplications < worth_threads ? 1 : omp_get_max_threads());
}

/// Few rows of very many columns (coils and samples): body(first, count) for columns in parts of `most`, shared
/// out among OpenMP's threads, each with OpenBLAS on one thread of its own: a part stays in a cache.
template <class Body>
void for_each_part(std::int64_t columns, std::int64_t most, double multiplications, const Body& body) {
  constexpr double worth_threads = 1e7;
  const int threads = multiplications < worth_threads ? 1 : std::min(omp_get_max_threads(), most_callers);
  call<"openblas_set_num_threads">(1);
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

/// Returns the vectors of the `count` largest eigenvalues (ascending) of a real symmetric tridiagonal matrix
/// by inverse iteration, ascending columns [n]. None where the matrix falls apart, or an iteration does
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
  if (info_of<"dstein_">(&n, diagonal.data(), beside.data(), &count, values.data() + (n - count),
                         block.data(), &n, vectors.data(), &n, work.data(), integers.data(),
                         failed.data()) != 0)
    vectors.clear();
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
  int found = 0, accurately = 1;
  lapack<"dstemr_">("V", "I", &n, diagonal.data(), beside.data(), &unused, &unused, &first, &n, &found,
                    values.data(), vectors.data(), &n, &count, support.data(), &accurately, work.data(),
                    &work_size, integers.data(), &integer_size);
  return vectors;
}

template <class T>
void require_square(const Array<Complex<T>>& matrix) {
  if (matrix.shape().rank() != 2 || matrix.extent(0) != matrix.extent(1))
    throw Error("matrix", "a square [n][n]", matrix.shape().text());
}

/// c = a b, or a b^H, of rows [m][k] and a matrix [k][n] or [n][k], whose rows are `ldb` apart, those of c `ldc`.
template <class T>
void gemm(CBLAS_TRANSPOSE of_b, int m, int n, int k, const Complex<T>* a, const Complex<T>* b, int ldb,
          Complex<T>* c, int ldc) {
  constexpr Name name = sizeof(T) == 4 ? Name("cblas_cgemm") : Name("cblas_zgemm");
  const Complex<T> one(1), zero(0);
  call<name>(CblasRowMajor, CblasNoTrans, of_b, m, n, k, &one, a, k, b, ldb, &zero, c, ldc);
}

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
  const int m = blas_size(rows), k = blas_size(from[0]), n = blas_size(c.size() / rows);
  const double multiplications = static_cast<double>(a.size()) * n;
  const auto multiply = [&](std::int64_t first, std::int64_t count) {
    gemm(CblasNoTrans, m, static_cast<int>(count), k, a.data(), b.data() + first, n, c.data() + first, n);
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
    const int size = static_cast<int>(count);
    Array<Complex<T>> product(Shape{rows, count});
    gemm(CblasNoTrans, rows, size, rows, a.data(), b.data() + first, columns, product.data(), size);
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
      call<"cblas_cherk">(CblasRowMajor, CblasLower, CblasNoTrans, n,
                          static_cast<int>(std::min(block, end - first)), 1.0f, a.data() + first, lda, 0.0f,
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
  constexpr Name heevd = sizeof(T) == 4 ? Name("cheevd_") : Name("zheevd_");
  int query = -1, least_integers = 0;
  Complex<T> least;
  T least_reals = 0;
  // Row-major lower triangle = column-major upper triangle.
  lapack<heevd>(job, "U", &n, matrix.data(), &n, values.data(), &least, &query, &least_reals, &query,
                &least_integers, &query);
  // A float below may hold the size rounded down.
  int work_size = static_cast<int>(std::ceil(static_cast<double>(least.re) * 1.0001)) + 1,
      real_size = static_cast<int>(std::ceil(static_cast<double>(least_reals) * 1.0001)) + 1;
  std::vector<Complex<T>> work(static_cast<std::size_t>(work_size));
  std::vector<T> reals(static_cast<std::size_t>(real_size));
  std::vector<int> integers(static_cast<std::size_t>(least_integers));
  lapack<heevd>(job, "U", &n, matrix.data(), &n, values.data(), work.data(), &work_size, reals.data(),
                &real_size, integers.data(), &least_integers);
}

/// Finds eigenvalues, descending, and with "V" leaves the vectors in `square`, where they ascend.
template <class T>
Array<T> eigenvalues_of(const char* job, Array<Complex<T>>& square) {
  require_square(square);
  require_finite(square);
  const int n = blas_size(square.extent(0));
  square = with_room(square);
  use_threads_for(std::pow(n, 3));
  Array<T> values(Shape{n});
  if (n > 0) run_heevd(job, square, n, values);
  std::reverse(values.begin(), values.end());
  return values;
}

}  // namespace

template <class T>
HermitianEigen<T> hermitian_eigen(Array<Complex<T>> square) {
  HermitianEigen<T> eigen{eigenvalues_of("V", square), {}};
  const std::int64_t n = eigen.values.size();
  eigen.vectors = Array<Complex<T>>(Shape{n, n});
  // Ascending columns of the conjugate matrix -> descending rows, conjugated.
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) eigen.vectors[i * n + j] = conj(square[(n - 1 - i) * n + j]);
  return eigen;
}

Array<double> hermitian_eigenvalues(Array<Complex<double>> square) { return eigenvalues_of("N", square); }

void for_each_small_problem(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  const int threads = std::min(omp_get_max_threads(), most_callers);
  call<"openblas_set_num_threads">(1);
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
  // Row-major lower triangle = column-major upper triangle, of the conjugate matrix.
  lapack<"chetrd_">("U", &n, matrix.data(), &n, diagonal.data(), beside.data(), factors.data(), work.data(),
                    &work_size);
  const std::vector<double> d(diagonal.begin(), diagonal.end()), e(beside.begin(), beside.end());
  std::vector<double> values(d), scratch(e);
  lapack<"dsterf_">(&n, values.data(), scratch.data());
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
  lapack<"cunmtr_">("L", "U", "N", &n, &count, matrix.data(), &n, factors.data(), eigen.vectors.data(), &n,
                    work.data(), &work_size);
  for (auto& v : eigen.vectors) v = conj(v);
  return eigen;
}

namespace {

/// a b, or a b^H.
Array<Complex<float>> product(const Array<Complex<float>>& a, CBLAS_TRANSPOSE of_b,
                              const Array<Complex<float>>& b) {
  const int m = blas_size(a.extent(0)), k = blas_size(a.extent(1)),
            n = blas_size(b.extent(of_b == CblasNoTrans ? 1 : 0));
  Array<Complex<float>> c(Shape{m, n});
  use_threads_for(static_cast<double>(a.size()) * n);
  gemm(of_b, m, n, k, a.data(), b.data(), static_cast<int>(b.extent(1)), c.data(), n);
  return c;
}

/// An orthonormal basis of what the rows span, by Householder's QR.
void orthonormalize_rows(Array<Complex<float>>& rows) {
  const int n = blas_size(rows.extent(1)), count = blas_size(rows.extent(0)), work_size = 64 * n;
  std::vector<Complex<float>> factors(static_cast<std::size_t>(count)),
      work(static_cast<std::size_t>(work_size));
  use_threads_for(static_cast<double>(rows.size()) * count);
  // Row-major rows are column-major columns.
  lapack<"cgeqrf_">(&n, &count, rows.data(), &n, factors.data(), work.data(), &work_size);
  lapack<"cungqr_">(&n, &count, &count, rows.data(), &n, factors.data(), work.data(), &work_size);
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
  // Row-major M = L L^H is column-major conj(M) = conj(L) conj(L)^H; its upper factor U with U^H U has the
  // memory of the row-major lower triangle of U^T = L.
  if (info_of<"zpotrf_">("U", &n, matrix.data(), &n) != 0) return std::nullopt;
  for (std::int64_t i = 0; i < n; ++i) {
    const double pivot = matrix[i * n + i].re;
    if (!(pivot * pivot > 1e-12 * largest)) return std::nullopt;
    for (std::int64_t j = i + 1; j < n; ++j) matrix[i * n + j] = {};
  }
  if (info_of<"ztrtri_">("U", "N", &n, matrix.data(), &n) != 0) return std::nullopt;
  return matrix;
}

template HermitianEigen<float> hermitian_eigen<float>(Array<Complex<float>>);
template HermitianEigen<double> hermitian_eigen<double>(Array<Complex<double>>);

}  // namespace fhd

// Blocks of llr on the device: one block of threads for each block X [row][column], whose rows, at most 64, are the shorter
// of frames and voxels. In double precision, in shared memory:
//
//     G = X X^H = U s^2 U^H                       Jacobi's rotations, n/2 pairs of rows at a time
//     X <- U diag(max(1 - threshold / s, 0)) U^H X
//
// A rotation of the pair (p, q) with g = G_pq, tau = (G_qq - G_pp) / (2 |g|), t = sign(tau) / (|tau| + sqrt(1 + tau^2)),
// c = 1 / sqrt(1 + t^2), sigma = t c g / |g| makes G_pq zero:
//
//     column p <- c column p - conj(sigma) column q,   column q <- sigma column p + c column q,
//
// and rows likewise with the conjugates. n - 1 steps of n/2 disjoint pairs (a round robin) meet every pair once: a sweep.
// Convergence is quadratic; 6 ... 8 sweeps are usual. A step's 2 x 2 blocks of G are disjoint, and each belongs to one thread.
//
// Floor, n = 60: a step reads and writes G and U in shared memory, 4 n^2 16 bytes, 0.23 MB at 128 bytes a cycle: 1800
// cycles, 59 steps and 7 sweeps: 0.4 ms at 1.8 GHz. Two grids of a 128 x 128 image are 545 blocks, of which a
// multiprocessor holds one: five turns of 132.
//
// Source: Golub and Van Loan, Matrix Computations, 8.5 (parallel Jacobi); the complex rotation is that of 8.5.2 after G_pq has been
// turned to be real.
#include <algorithm>
#include <cmath>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/solve/terms/low_rank_blocks.hpp"

namespace fhd {
namespace {

constexpr int threads = 512;
constexpr int most_sweeps = 20;
/// Off the diagonal, of the trace. Less than the rounding of G, 1e-16 of it: so many are left that their sum would
/// count, and the last sweep takes them all alike.
constexpr double negligible = 1e-17;

using Value = Complex<double>;

struct Rotation {
  int p, q;
  double c;
  Value sigma;
};

/// X of a block among the coefficients.
template <class T>
struct BlockOnDevice {
  const LowRankBlocks& blocks;
  LowRankBlock block;
  Complex<T>* coefficients;
  bool frames_are_rows;
  int rows, columns;

  __device__ BlockOnDevice(const LowRankBlocks& all, Complex<T>* values)
      : blocks(all), block(all.block(blockIdx.x)), coefficients(values) {
    const auto voxels = block.voxels();
    frames_are_rows = all.frames <= voxels;
    rows = static_cast<int>(frames_are_rows ? all.frames : voxels);
    columns = static_cast<int>(frames_are_rows ? voxels : all.frames);
  }
  __device__ Complex<T>& operator()(int row, int column) const {
    return coefficients[frames_are_rows ? blocks.place(block, row, column)
                                        : blocks.place(block, column, row)];
  }
};

/// Columns first ... first + n - 1 of X into tile [row][column], 0 beyond; n is even and at least the rows.
template <class T>
__device__ void read_tile(const BlockOnDevice<T>& x, int first, int n, Value* tile) {
  for (int i = threadIdx.x; i < n * n; i += threads) {
    const int row = i / n, column = first + i % n;
    tile[i] = row < x.rows && column < x.columns ? Value(x(row, column)) : Value();
  }
}

/// G = X X^H, [n][n].
template <class T>
__device__ void make_gram(const BlockOnDevice<T>& x, int n, Value* tile, Value* gram) {
  for (int i = threadIdx.x; i < n * n; i += threads) gram[i] = Value();
  for (int first = 0; first < x.columns; first += n) {
    __syncthreads();
    read_tile(x, first, n, tile);
    __syncthreads();
    for (int i = threadIdx.x; i < n * n; i += threads) {
      const Value *a = tile + i / n * n, *b = tile + i % n * n;
      Value sum = gram[i];
      // Each row from a place of its own: neighbours' banks differ.
      for (int j = 0, at = i % n; j < n; ++j, at = at + 1 == n ? 0 : at + 1) sum += a[at] * conj(b[at]);
      gram[i] = sum;
    }
  }
  __syncthreads();
}

__device__ double trace_of(const Value* gram, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += gram[k * n + k].re;
  return sum;
}

/// Pair k of a step of the round robin over n rows, and the rotation that makes its element zero; c = 1 where it is
/// negligible. Whether it is not.
__device__ bool choose_rotation(const Value* gram, int n, int step, int k, double least, Rotation& rotation) {
  const int p = k == 0 ? n - 1 : (step + k) % (n - 1), q = (step + n - 1 - k) % (n - 1);
  rotation = {p, q, 1, Value()};
  const Value g = gram[p * n + q];
  const double length = sqrt(norm(g));
  if (!(length > least)) return false;
  const double tau = (gram[q * n + q].re - gram[p * n + p].re) / (2 * length);
  const double t = copysign(1.0, tau) / (fabs(tau) + sqrt(1 + tau * tau));
  rotation.c = 1 / sqrt(1 + t * t);
  rotation.sigma = (t * rotation.c / length) * g;
  return true;
}

/// G <- J^H G J, a 2 x 2 block of two pairs by one thread.
__device__ void rotate_gram(const Rotation* rotations, int n, Value* gram) {
  const int half = n / 2;
  for (int i = threadIdx.x; i < half * half; i += threads) {
    const Rotation &a = rotations[i / half], &b = rotations[i % half];
    Value &pp = gram[a.p * n + b.p], &pq = gram[a.p * n + b.q], &qp = gram[a.q * n + b.p],
          &qq = gram[a.q * n + b.q];
    const Value p_p = b.c * pp - conj(b.sigma) * pq, p_q = b.sigma * pp + b.c * pq,
                q_p = b.c * qp - conj(b.sigma) * qq, q_q = b.sigma * qp + b.c * qq;
    pp = a.c * p_p - a.sigma * q_p;
    pq = a.c * p_q - a.sigma * q_q;
    qp = conj(a.sigma) * p_p + a.c * q_p;
    qq = conj(a.sigma) * p_q + a.c * q_q;
    if (i / half == i % half && a.c != 1) pq = qp = Value();
  }
}

/// U <- U J.
__device__ void rotate_vectors(const Rotation* rotations, int n, Value* vectors) {
  const int half = n / 2;
  for (int i = threadIdx.x; i < n * half; i += threads) {
    const Rotation& b = rotations[i % half];
    Value &p = vectors[i / half * n + b.p], &q = vectors[i / half * n + b.q];
    const Value before = p;
    p = b.c * before - conj(b.sigma) * q;
    q = b.sigma * before + b.c * q;
  }
}

/// Leaves the eigenvalues on the diagonal of G and, unless null, the vectors in the columns of U.
__device__ void diagonalize(int n, Rotation* rotations, Value* gram, Value* vectors) {
  const double least = negligible * trace_of(gram, n);
  if (vectors != nullptr)
    for (int i = threadIdx.x; i < n * n; i += threads) vectors[i] = Value(i / n == i % n ? 1.0 : 0.0);
  bool goes_on = true;
  for (int sweep = 0; sweep < most_sweeps && goes_on; ++sweep) {
    goes_on = false;
    for (int step = 0; step < n - 1; ++step) {
      __syncthreads();
      const bool turned = static_cast<int>(threadIdx.x) < n / 2 &&
                          choose_rotation(gram, n, step, threadIdx.x, least, rotations[threadIdx.x]);
      if (!__syncthreads_or(turned)) continue;
      goes_on = true;
      rotate_gram(rotations, n, gram);
      if (vectors != nullptr) rotate_vectors(rotations, n, vectors);
    }
  }
  __syncthreads();
}

/// G = U diag(factors) U^H.
__device__ void make_shortening(const Value* vectors, const double* factors, int n, Value* gram) {
  for (int i = threadIdx.x; i < n * n; i += threads) {
    const Value *a = vectors + i / n * n, *b = vectors + i % n * n;
    Value sum;
    for (int j = 0, at = i % n; j < n; ++j, at = at + 1 == n ? 0 : at + 1)
      sum += factors[at] * (a[at] * conj(b[at]));
    gram[i] = sum;
  }
  __syncthreads();
}

/// X <- M X.
template <class T>
__device__ void multiply_block(const BlockOnDevice<T>& x, const Value* matrix, int n, Value* tile) {
  for (int first = 0; first < x.columns; first += n) {
    read_tile(x, first, n, tile);
    __syncthreads();
    for (int i = threadIdx.x; i < x.rows * n; i += threads) {
      const int row = i / n, column = i % n;
      if (first + column >= x.columns) continue;
      Value sum;
      for (int j = 0; j < x.rows; ++j) sum += matrix[row * n + j] * tile[j * n + column];
      x(row, first + column) = Complex<T>(sum);
    }
    __syncthreads();
  }
}

/// Shared memory of one block of threads: G, U or a tile of X, rotations of a step, factors.
struct Scratch {
  Value *gram, *vectors;
  Rotation* rotations;
  double* factors;
};
__device__ Scratch scratch_of(int n) {
  extern __shared__ Value shared[];
  Value* vectors = shared + n * n;
  auto* rotations = reinterpret_cast<Rotation*>(vectors + n * n);
  return {shared, vectors, rotations, reinterpret_cast<double*>(rotations + n / 2)};
}
__host__ __device__ int even(std::int64_t rows) { return static_cast<int>(rows + rows % 2); }
std::size_t scratch_bytes(std::int64_t rows) {
  const auto n = static_cast<std::size_t>(even(rows));
  return 2 * n * n * sizeof(Value) + n / 2 * sizeof(Rotation) + n * sizeof(double);
}

template <class T>
__device__ double weight_of(const BlockOnDevice<T>& x) {
  return LowRankBlocks::share * (sqrt(static_cast<double>(x.rows)) + sqrt(static_cast<double>(x.columns)));
}

template <class T>
__global__ void __launch_bounds__(threads)
    shorten_singular_values_kernel(const LowRankBlocks blocks, double threshold, Complex<T>* coefficients) {
  const BlockOnDevice<T> x(blocks, coefficients);
  const int n = even(x.rows);
  const Scratch scratch = scratch_of(n);
  const double shortened_by = threshold * weight_of(x);
  make_gram(x, n, scratch.vectors, scratch.gram);
  if (!(trace_of(scratch.gram, n) > shortened_by * shortened_by)) {  // nor is any singular value above
    for (int i = threadIdx.x; i < x.rows * x.columns; i += threads) x(i / x.columns, i % x.columns) = {};
    return;
  }
  diagonalize(n, scratch.rotations, scratch.gram, scratch.vectors);
  for (int k = threadIdx.x; k < n; k += threads) {
    const double square = scratch.gram[k * n + k].re;
    scratch.factors[k] = square > shortened_by * shortened_by ? 1 - shortened_by / sqrt(square) : 0;
  }
  __syncthreads();
  make_shortening(scratch.vectors, scratch.factors, n, scratch.gram);
  multiply_block(x, scratch.gram, n, scratch.vectors);
}

/// norms(block) = weight |block|_*
template <class T>
__global__ void __launch_bounds__(threads)
    nuclear_norms_kernel(const LowRankBlocks blocks, const Complex<T>* coefficients, double* norms) {
  const BlockOnDevice<T> x(blocks, const_cast<Complex<T>*>(coefficients));
  const int n = even(x.rows);
  const Scratch scratch = scratch_of(n);
  make_gram(x, n, scratch.vectors, scratch.gram);
  diagonalize(n, scratch.rotations, scratch.gram, nullptr);
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += sqrt(fmax(scratch.gram[k * n + k].re, 0.0));
  norms[blockIdx.x] = weight_of(x) * sum;
}

template <class Kernel>
int allow_scratch(Kernel* kernel, const LowRankBlocks& blocks) {
  const auto bytes = static_cast<int>(scratch_bytes(blocks.most_rows()));
  device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                "shared memory of llr");
  return bytes;
}

}  // namespace

bool fits_low_rank_cuda(const LowRankBlocks& blocks, Device device) {
  return scratch_bytes(blocks.most_rows()) <= device::cuda::shared_bytes_of_block(device);
}

template <class T>
void shorten_singular_values_cuda(const LowRankBlocks& blocks, double threshold,
                                  Array<Complex<T>>& coefficients) {
  const CurrentDevice current(coefficients.device());
  const int bytes = allow_scratch(shorten_singular_values_kernel<T>, blocks);
  shorten_singular_values_kernel<T>
      <<<static_cast<unsigned>(blocks.count()), threads, bytes>>>(blocks, threshold, coefficients.data());
  device::check_launch("kernel of singular values");
}

template <class T>
double weighted_nuclear_norm_cuda(const LowRankBlocks& blocks, const Array<Complex<T>>& coefficients) {
  const CurrentDevice current(coefficients.device());
  const int bytes = allow_scratch(nuclear_norms_kernel<T>, blocks);
  Array<double> norms(Shape{blocks.count()}, coefficients.device());
  nuclear_norms_kernel<T>
      <<<static_cast<unsigned>(blocks.count()), threads, bytes>>>(blocks, coefficients.data(), norms.data());
  device::check_launch("kernel of nuclear norms");
  const Array<double> host = norms.to(Device::cpu());
  double sum = 0;
  for (const double norm : host) sum += norm;
  return sum;
}

template void shorten_singular_values_cuda<float>(const LowRankBlocks&, double, Array<Complex<float>>&);
template void shorten_singular_values_cuda<double>(const LowRankBlocks&, double, Array<Complex<double>>&);
template double weighted_nuclear_norm_cuda<float>(const LowRankBlocks&, const Array<Complex<float>>&);
template double weighted_nuclear_norm_cuda<double>(const LowRankBlocks&, const Array<Complex<double>>&);

}  // namespace fhd

#pragma once
// The inner loops of the direct transform on the CPU, compiled once per instruction set (scalar/SSE2, AVX2,
// AVX-512) and chosen at run time. What they compute, and why it is fast:
//
// Voxels lie on a Cartesian grid, so exp(i 2 pi k.r) = e_x e_y e_z, and with (z, y) as rows the adjoint is a
// matrix product over the samples m
//
//     rho(row, x) = sum_m a(row, m) e_x(m, x),      a(row, m) = d(m) e_y(m, y) e_z(m, z)
//
// whose factor a is made on the fly. The x positions are made symmetric (shifted by half a voxel for even N;
// d carries the shift), so that the voxels at +x_h and -x_h share their products: with a = a' + i a'', e_x =
// c + i s, four real sums give both,
//
//     rc = sum a' c   rs = sum a' s   ic = sum a'' c   is = sum a'' s
//     rho(+x_h) = (rc - is) + i (rs + ic)      rho(-x_h) = (rc + is) + i (ic - rs)
//
// which is 2 real fused multiply-adds per pair of voxel and sample. Samples that share |k_x| share c, and s
// but for its sign; samples that share k_x and k_y (a place) share e_y too. Their factors are added first,
//
//     b(place, z) = sum d(m) e_z(m, z)     a_c = sum b e_y     a_s = sum sign(k_x) b e_y     over a group,
//
// and go through the product together, a_c with c and a_s with s (sample_groups.hpp).
//
// The forward transform is the same product with the sums over x_h and S = rho(+x) + rho(-x), D = rho(-x) -
// rho(+x):
//
//     g(row, m) = sum_h (S' c - D'' s) + i (S'' c + D' s),      d(m) = sum_row g(row, m) conj(e_y e_z)
//
// Floor: 2 FMA per pair; a core with two 512-bit FMA units at 3.5 GHz does 1.1e11 / 2 = 5.6e10 pairs/s.
// Sin and cos are taken in double, once per sample and axis; the other factors follow by rotation in double
// (error <= N 2^-52), so that in single precision only the rounding of factors and sums remains.
#include <cstdint>
#include <tuple>

#include "recon/array/array.hpp"

namespace fhd::direct_cpu {

/// Voxel positions along one axis: r_n = (n - centre) * step, n = 0 ... count-1, in fractions of the FOV.
struct Axis {
  int count = 1;
  double step = 1;
  int centre() const { return count / 2; }
  /// Positions with x >= 0 of the symmetrised grid.
  int half_count() const { return (count + 1) / 2; }
  /// r = x_symmetric - shift.
  double shift() const { return count % 2 == 0 ? step / 2 : 0; }
};

/// Some voxel positions along an axis, in fractions of the FOV.
struct Positions {
  double first, step;
  int count;
};
/// `count` positions of an axis from the one with index `first` on.
inline Positions positions_of(const Axis& axis, int first, int count) {
  return {(first - axis.centre()) * axis.step, axis.step, count};
}

/// Samples of one adjoint block: a tile's factor a (rows x block) stays in the L1 cache.
inline constexpr int adjoint_block = 256;
/// Row stride of a, in elements; not a power of two, so that rows fall into different cache sets.
inline constexpr int adjoint_stride = adjoint_block + 16;

/// The factors of one row, planar: b, e_y and the sign of slot j of group m at [j *
/// adjoint_block + m].
template <class T>
struct RowFactors {
  const T *b_real, *b_imag, *y_real, *y_imag;
  const T* sign;  ///< of k_x against that of the group: 1 or -1; 0 where a group has no sample in the slot
};

/// The inner loops of one instruction set. T is float or double; all arrays are 64-byte aligned.
template <class T>
struct Kernels {
  const char* instruction_set;
  int lanes;      ///< of one vector register
  int tile_rows;  ///< complex rows of one tile

  /// exp(i 2 pi k r_n) of `samples` samples, planar, samples fastest: real[n * stride + m], imag[...]; k in
  /// cycles/FOV. Writes up to the next multiple of the lanes of a register of double.
  void (*fill_axis_table)(const double* k, int samples, Positions positions, T* real, T* imag, int stride);
  /// cos and sin of 2 pi k x_h for the adjoint: panel[chunk][m][c: lanes | s: lanes], h = chunk * lanes +
  /// lane; zero for h >= half_count. `block` is the number of m per chunk in memory.
  void (*fill_adjoint_panel)(const double* k, int samples, Axis axis, int block, T* panel);
  /// Fills the panel of the forward transform: panel[m / (2 lanes)][h][c: 2 lanes | s: 2 lanes].
  void (*fill_forward_panel)(const double* k, int samples, Axis axis, T* panel);

  /// accumulators[row][chunk][rc, rs, ic, is: lanes each] += the sums over the groups of one block, for 1 ...
  /// tile_rows rows; a is [4 * row + (0 a_c', 1 a_c'', 2 a_s', 3 a_s'')][adjoint_stride]. `single`: a_s
  /// equals a_c and is not there.
  void (*accumulate_adjoint_tile)(const T* a, bool single, int rows, const T* panel, int block, int groups,
                                  int chunks, T* accumulators);
  /// g[row][real: 2 lanes | imaginary: 2 lanes] of 2 * lanes samples and tile_rows rows; packed is
  /// [h][row][S', S'', D', D''].
  void (*forward_tile)(const T* packed, int half_count, const T* panel, T* g);

  /// Four rows of a, adjoint_stride apart, from some slots: a_c and a_s; only a_c when `single`.
  void (*form_row_factor)(const RowFactors<T>& factors, bool single, int slots, int groups, T* a);
  /// sum += d e, planar.
  void (*add_product)(const T* d_real, const T* d_imag, const T* e_real, const T* e_imag, int samples,
                      T* sum_real, T* sum_imag);
  /// sum += g conj(e), planar.
  void (*add_conjugate_product)(const T* g_real, const T* g_imag, const T* e_real, const T* e_imag,
                                int samples, T* sum_real, T* sum_imag);

  /// out[c] += sum over the samples of values[c][m] exp(i 2 pi sign sum_axis k[axis][m] r[axis]) for one
  /// point r with any number of axes. Phases, sin and cos are in double whatever T is.
  void (*general_sum)(const double* const* k, int axes, const double* r, double sign,
                      const Complex<T>* values, std::int64_t value_stride, int coils, std::int64_t samples,
                      Complex<double>* out);
};

/// The kernels for the processor that the program runs on.
using AllKernels = std::tuple<Kernels<float>, Kernels<double>>;
const AllKernels& all_kernels();
template <class T>
const Kernels<T>& kernels() {
  return std::get<Kernels<T>>(all_kernels());
}

}  // namespace fhd::direct_cpu

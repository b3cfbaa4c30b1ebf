#include "recon/transform/direct/direct_kernels_cpu.hpp"

#include <cmath>
#include <numbers>

#include "recon/transform/direct/direct.hpp"

// Baseline (SSE2), AVX2 and AVX-512 are enough: the sets between them differ by nothing that is used here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recon/transform/direct/direct_kernels_cpu.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::direct_cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 32 registers hold 24 sums (6 rows), 16 registers hold 12 (3 rows), beside the factors.
constexpr int tile_rows = HWY_TARGET <= HWY_AVX3 ? 6 : 3;

// exp(i 2 pi turns); whole turns are removed before sin and cos.
inline void unit_phasor(double turns, double& c, double& s) {
  const double angle = 2 * std::numbers::pi * (turns - std::rint(turns));
  c = std::cos(angle);
  s = std::sin(angle);
}

// Calls store(n, j, c, s) with exp(i 2 pi k_j (first + n step)) for n = 0 ... count-1 and a batch of samples
// j.
constexpr int batch = 8;
template <class Store>
HWY_INLINE void rotate_batch(const double* k, int samples, double first, double step, int count,
                             Store store) {
  double c[batch], s[batch], wc[batch], ws[batch];
  for (int j = 0; j < batch; ++j) {
    const double kj = j < samples ? k[j] : 0;
    unit_phasor(kj * first, c[j], s[j]);
    unit_phasor(kj * step, wc[j], ws[j]);
  }
  for (int n = 0; n < count; ++n) {
    store(n, c, s);
    for (int j = 0; j < batch; ++j) {
      const double rotated = c[j] * wc[j] - s[j] * ws[j];
      s[j] = c[j] * ws[j] + s[j] * wc[j];
      c[j] = rotated;
    }
  }
}

// exp(i 2 pi turns) of a vector.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void unit_phasors(D d, V turns, V& c, V& s) {
  const V angle = hn::Mul(hn::Sub(turns, hn::Round(turns)), hn::Set(d, 2 * std::numbers::pi));
  c = hn::Cos(d, angle);
  s = hn::Sin(d, angle);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void store_as(D d, V v, double* at) {
  hn::StoreU(v, d, at);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE void store_as(D /*d*/, V v, float* at) {
  const hn::Rebind<float, D> to;
  hn::StoreU(hn::DemoteTo(to, v), to, at);
}

template <class T>
void fill_axis_table(const double* k, int samples, Positions positions, T* real, T* imag, int stride) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int vectors = 4;  // side by side: each waits for its own last rotation
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V first = hn::Set(d, positions.first), step = hn::Set(d, positions.step);
  for (int m = 0; m < samples; m += vectors * lanes) {
    V c[vectors], s[vectors], wc[vectors], ws[vectors];
    const int used = std::min(vectors, (samples - m + lanes - 1) / lanes);
    for (int v = 0; v < vectors; ++v) {
      HWY_ALIGN double at[8] = {};
      const int begin = m + v * lanes;
      for (int j = 0; j < lanes && begin + j < samples; ++j) at[j] = k[begin + j];
      const V kv = hn::Load(d, at);
      unit_phasors(d, hn::Mul(kv, first), c[v], s[v]);
      unit_phasors(d, hn::Mul(kv, step), wc[v], ws[v]);
    }
    for (int n = 0; n < positions.count; ++n) {
      const std::int64_t row = std::int64_t{n} * stride + m;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        if (v < used) {
          store_as(d, c[v], real + row + v * lanes);
          store_as(d, s[v], imag + row + v * lanes);
        }
        const V rotated = hn::NegMulAdd(s[v], ws[v], hn::Mul(c[v], wc[v]));
        s[v] = hn::MulAdd(c[v], ws[v], hn::Mul(s[v], wc[v]));
        c[v] = rotated;
      }
    }
  }
}

template <class T>
void fill_adjoint_panel(const double* k, int samples, Axis axis, int block, T* panel) {
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const int half = axis.half_count(), padded = (half + lanes - 1) / lanes * lanes;
  const double first = axis.count % 2 == 0 ? axis.step / 2 : 0;
  for (int m = 0; m < samples; m += batch) {
    const int used = std::min(batch, samples - m);
    rotate_batch(k + m, used, first, axis.step, padded, [&](int h, const double* c, const double* s) {
      T* at = panel + (std::int64_t{h / lanes} * block + m) * 2 * lanes + h % lanes;
      const bool real_voxel = h < half;
      for (int j = 0; j < used; ++j) {
        at[j * 2 * lanes] = real_voxel ? static_cast<T>(c[j]) : T(0);
        at[j * 2 * lanes + lanes] = real_voxel ? static_cast<T>(s[j]) : T(0);
      }
    });
  }
}

template <class T>
void fill_forward_panel(const double* k, int samples, Axis axis, T* panel) {
  const int group = 2 * static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const int half = axis.half_count();
  const double first = axis.count % 2 == 0 ? axis.step / 2 : 0;
  for (int m = 0; m < samples; m += batch) {
    const int used = std::min(batch, samples - m);
    rotate_batch(k + m, used, first, axis.step, half, [&](int h, const double* c, const double* s) {
      for (int j = 0; j < used; ++j) {
        T* at = panel + (std::int64_t{(m + j) / group} * half + h) * 2 * group + (m + j) % group;
        at[0] = static_cast<T>(c[j]);
        at[group] = static_cast<T>(s[j]);
      }
    });
  }
}

// One tile of `rows` complex rows times `wide` chunks of `lanes` positions: 4 sums a row and chunk, kept in
// registers.
template <int rows, int wide, bool single, class T>
HWY_INLINE void multiply_tile(const T* HWY_RESTRICT a, const T* HWY_RESTRICT panel, std::int64_t chunk_stride,
                              int groups, T* HWY_RESTRICT accumulators, std::int64_t row_stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  constexpr int sums = rows * wide;
  V rc[sums], rs[sums], ic[sums], is[sums];
#pragma GCC unroll 8
  for (int i = 0; i < sums; ++i) rc[i] = rs[i] = ic[i] = is[i] = hn::Zero(d);
  for (int m = 0; m < groups; ++m) {
    V c[wide], s[wide];
#pragma GCC unroll 2
    for (int chunk = 0; chunk < wide; ++chunk) {
      c[chunk] = hn::Load(d, panel + chunk * chunk_stride + m * 2 * lanes);
      s[chunk] = hn::Load(d, panel + chunk * chunk_stride + m * 2 * lanes + lanes);
    }
#pragma GCC unroll 8
    for (int row = 0; row < rows; ++row) {
      const V c_re = hn::Set(d, a[(4 * row) * adjoint_stride + m]);
      const V c_im = hn::Set(d, a[(4 * row + 1) * adjoint_stride + m]);
      const V s_re = single ? c_re : hn::Set(d, a[(4 * row + 2) * adjoint_stride + m]);
      const V s_im = single ? c_im : hn::Set(d, a[(4 * row + 3) * adjoint_stride + m]);
#pragma GCC unroll 2
      for (int chunk = 0; chunk < wide; ++chunk) {
        const int i = row * wide + chunk;
        rc[i] = hn::MulAdd(c_re, c[chunk], rc[i]);
        rs[i] = hn::MulAdd(s_re, s[chunk], rs[i]);
        ic[i] = hn::MulAdd(c_im, c[chunk], ic[i]);
        is[i] = hn::MulAdd(s_im, s[chunk], is[i]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < sums; ++i) {
    T* at = accumulators + i / wide * row_stride + i % wide * 4 * lanes;
    hn::Store(hn::Add(hn::Load(d, at), rc[i]), d, at);
    hn::Store(hn::Add(hn::Load(d, at + lanes), rs[i]), d, at + lanes);
    hn::Store(hn::Add(hn::Load(d, at + 2 * lanes), ic[i]), d, at + 2 * lanes);
    hn::Store(hn::Add(hn::Load(d, at + 3 * lanes), is[i]), d, at + 3 * lanes);
  }
}

// Up to tile_rows / wide rows, of which `count` is tried next; chunks [begin, end), `wide` at a time, which divides
// their number.
template <int wide, bool single, int count = 1, class T>
void multiply_rows(const T* a, int rows, const T* panel, int block, int groups, int begin, int end,
                   int chunks, T* accumulators) {
  if constexpr (count < tile_rows / wide) {
    if (rows > count)
      return multiply_rows<wide, single, count + 1>(a, rows, panel, block, groups, begin, end, chunks,
                                                    accumulators);
  }
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t chunk_stride = std::int64_t{block} * 2 * lanes;
  for (int chunk = begin; chunk < end; chunk += wide)
    multiply_tile<count, wide, single>(a, panel + chunk * chunk_stride, chunk_stride, groups,
                                       accumulators + chunk * 4 * lanes, std::int64_t{chunks} * 4 * lanes);
}

template <class T>
void accumulate_adjoint_tile(const T* a, bool single, int rows, const T* panel, int block, int groups,
                             int chunks, T* accumulators) {
  if (single) return multiply_rows<1, true>(a, rows, panel, block, groups, 0, chunks, chunks, accumulators);
  // Factors that serve one product each would be bound by their loading: two chunks at once, half the rows.
  int paired = 0;
  if constexpr (tile_rows == 6) {
    paired = chunks / 2 * 2;
    const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
    for (int row = 0; row < rows; row += 3)
      multiply_rows<2, false>(a + 4 * row * adjoint_stride, std::min(3, rows - row), panel, block, groups, 0,
                              paired, chunks, accumulators + std::int64_t{row} * chunks * 4 * lanes);
  }
  multiply_rows<1, false>(a, rows, panel, block, groups, paired, chunks, chunks, accumulators);
}

template <class T>
void forward_tile(const T* HWY_RESTRICT packed, int half_count, const T* HWY_RESTRICT panel,
                  T* HWY_RESTRICT g) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V re0[tile_rows], re1[tile_rows], im0[tile_rows], im1[tile_rows];
#pragma GCC unroll 8
  for (int row = 0; row < tile_rows; ++row) re0[row] = re1[row] = im0[row] = im1[row] = hn::Zero(d);
  for (int h = 0; h < half_count; ++h) {
    const T* e = panel + std::int64_t{h} * 4 * lanes;
    const T* p = packed + std::int64_t{h} * 4 * tile_rows;
    const V c0 = hn::Load(d, e), c1 = hn::Load(d, e + lanes), s0 = hn::Load(d, e + 2 * lanes),
            s1 = hn::Load(d, e + 3 * lanes);
#pragma GCC unroll 8
    for (int row = 0; row < tile_rows; ++row) {
      const V sum_re = hn::Set(d, p[4 * row]), sum_im = hn::Set(d, p[4 * row + 1]);
      re0[row] = hn::MulAdd(sum_re, c0, re0[row]);
      re1[row] = hn::MulAdd(sum_re, c1, re1[row]);
      im0[row] = hn::MulAdd(sum_im, c0, im0[row]);
      im1[row] = hn::MulAdd(sum_im, c1, im1[row]);
      const V dif_re = hn::Set(d, p[4 * row + 2]), dif_im = hn::Set(d, p[4 * row + 3]);
      re0[row] = hn::NegMulAdd(dif_im, s0, re0[row]);
      re1[row] = hn::NegMulAdd(dif_im, s1, re1[row]);
      im0[row] = hn::MulAdd(dif_re, s0, im0[row]);
      im1[row] = hn::MulAdd(dif_re, s1, im1[row]);
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < tile_rows; ++row) {
    T* at = g + row * 4 * lanes;
    hn::Store(re0[row], d, at);
    hn::Store(re1[row], d, at + lanes);
    hn::Store(im0[row], d, at + 2 * lanes);
    hn::Store(im1[row], d, at + 3 * lanes);
  }
}

template <bool single, class T>
HWY_INLINE void form_factor(const RowFactors<T>& f, int slots, int groups, T* HWY_RESTRICT a) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int m = 0; m < groups; m += lanes) {
    V c_re = hn::Zero(d), c_im = c_re, s_re = c_re, s_im = c_re;
    for (int at = m; at < slots * adjoint_block; at += adjoint_block) {
      const V b_re = hn::Load(d, f.b_real + at), b_im = hn::Load(d, f.b_imag + at);
      const V e_re = hn::Load(d, f.y_real + at), e_im = hn::Load(d, f.y_imag + at);
      const V a_re = hn::NegMulAdd(b_im, e_im, hn::Mul(b_re, e_re));
      const V a_im = hn::MulAdd(b_re, e_im, hn::Mul(b_im, e_re));
      c_re = hn::Add(c_re, a_re);
      c_im = hn::Add(c_im, a_im);
      if (!single) {
        const V sign = hn::Load(d, f.sign + at);
        s_re = hn::MulAdd(sign, a_re, s_re);
        s_im = hn::MulAdd(sign, a_im, s_im);
      }
    }
    hn::Store(c_re, d, a + m);
    hn::Store(c_im, d, a + adjoint_stride + m);
    if (single) continue;
    hn::Store(s_re, d, a + 2 * adjoint_stride + m);
    hn::Store(s_im, d, a + 3 * adjoint_stride + m);
  }
}

template <class T>
void form_row_factor(const RowFactors<T>& factors, bool single, int slots, int groups, T* a) {
  single ? form_factor<true>(factors, slots, groups, a) : form_factor<false>(factors, slots, groups, a);
}

template <class T>
void add_product(const T* HWY_RESTRICT d_real, const T* HWY_RESTRICT d_imag, const T* HWY_RESTRICT e_real,
                 const T* HWY_RESTRICT e_imag, int samples, T* HWY_RESTRICT sum_real,
                 T* HWY_RESTRICT sum_imag) {
  for (int m = 0; m < samples; ++m) {
    sum_real[m] += d_real[m] * e_real[m] - d_imag[m] * e_imag[m];
    sum_imag[m] += d_real[m] * e_imag[m] + d_imag[m] * e_real[m];
  }
}

template <class T>
void add_conjugate_product(const T* HWY_RESTRICT g_real, const T* HWY_RESTRICT g_imag,
                           const T* HWY_RESTRICT e_real, const T* HWY_RESTRICT e_imag, int samples,
                           T* HWY_RESTRICT sum_real, T* HWY_RESTRICT sum_imag) {
  for (int m = 0; m < samples; ++m) {
    sum_real[m] += g_real[m] * e_real[m] + g_imag[m] * e_imag[m];
    sum_imag[m] += g_imag[m] * e_real[m] - g_real[m] * e_imag[m];
  }
}

// Phases, sin and cos in double whatever T is: these sums are references and off-resonance, not the fast
// path.
template <class T>
void general_sum(const double* const* k, int axes, const double* r, double sign, const Complex<T>* values,
                 std::int64_t value_stride, int coils, std::int64_t samples, Complex<double>* out) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN double c[8], s[8];
  for (std::int64_t m = 0; m < samples; m += lanes) {
    const std::int64_t used = std::min(lanes, samples - m);
    auto turns = hn::Zero(d);
    for (int axis = 0; axis < axes; ++axis) {
      const auto position = hn::Set(d, sign * r[axis]);
      if (used == lanes) {
        turns = hn::MulAdd(hn::LoadU(d, k[axis] + m), position, turns);
      } else {
        HWY_ALIGN double tail[8] = {};
        for (std::int64_t j = 0; j < used; ++j) tail[j] = k[axis][m + j];
        turns = hn::MulAdd(hn::Load(d, tail), position, turns);
      }
    }
    const auto angle = hn::Mul(hn::Sub(turns, hn::Round(turns)), hn::Set(d, 2 * std::numbers::pi));
    hn::Store(hn::Cos(d, angle), d, c);
    hn::Store(hn::Sin(d, angle), d, s);
    for (int coil = 0; coil < coils; ++coil) {
      double re = 0, im = 0;
      for (std::int64_t j = 0; j < used; ++j) {
        const Complex<T> v = values[coil * value_stride + m + j];
        re += v.re * c[j] - v.im * s[j];
        im += v.re * s[j] + v.im * c[j];
      }
      out[coil] += Complex<double>(re, im);
    }
  }
}

template <class T>
Kernels<T> kernels_of() {
  return {hwy::TargetName(HWY_TARGET),
          static_cast<int>(hn::Lanes(hn::ScalableTag<T>())),
          tile_rows,
          fill_axis_table<T>,
          fill_adjoint_panel<T>,
          fill_forward_panel<T>,
          accumulate_adjoint_tile<T>,
          forward_tile<T>,
          form_row_factor<T>,
          add_product<T>,
          add_conjugate_product<T>,
          general_sum<T>};
}
const AllKernels& kernels_of_target() {
  static const AllKernels all{kernels_of<float>(), kernels_of<double>()};
  return all;
}

}  // namespace fhd::direct_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fhd::direct_cpu {

HWY_EXPORT(kernels_of_target);
const AllKernels& all_kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace fhd::direct_cpu

namespace fhd {

std::string instruction_set() {
  const std::string name = direct_cpu::kernels<float>().instruction_set;
  return name.starts_with("AVX3") ? "avx512" : name.starts_with("AVX2") ? "avx2" : "sse2";
}

}  // namespace fhd
#endif  // HWY_ONCE

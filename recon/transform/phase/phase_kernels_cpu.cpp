#include "recon/transform/phase/phase_kernels_cpu.hpp"

#include <numbers>
#include <type_traits>

// Baseline (SSE2), AVX2 and AVX-512, as transform/direct.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recon/transform/phase/phase_kernels_cpu.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::phase_cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Phases of a step: `columns` sources times two vectors of double. 32 registers hold 8 of them beside their factors, 16
// registers 4.
constexpr int columns = 4;
static_assert(source_step % columns == 0);

// Coefficients of the powers of r^2 in sin(pi r) / r and cos(pi r), |r| <= 1/2. Single precision: interpolation in the
// Chebyshev nodes, error 1.1e-7 and 2e-8. Double: Taylor, of which the first term left out is below 2e-18.
template <class T>
struct HalfAngle;
template <>
struct HalfAngle<float> {
  static constexpr int sine_terms = 5, cosine_terms = 6;
  static constexpr float sine[] = {3.14159274F, -5.1677103F, 2.55007744F, -0.598291278F, 0.0776576623F};
  static constexpr float cosine[] = {1.0F,         -4.93480206F, 4.05870914F,
                                     -1.33521199F, 0.23493731F,  -0.0243963245F};
};
struct TaylorSeries {
  static constexpr int count = 12;
  constexpr TaylorSeries() {
    double even = 1, odd = std::numbers::pi;
    for (int i = 0; i < count; ++i) {
      cosine[i] = even, sine[i] = odd;
      even *= -std::numbers::pi * std::numbers::pi / ((2 * i + 1) * (2 * i + 2));
      odd *= -std::numbers::pi * std::numbers::pi / ((2 * i + 2) * (2 * i + 3));
    }
  }
  double sine[count]{}, cosine[count]{};
};
constexpr TaylorSeries taylor;
template <>
struct HalfAngle<double> {
  static constexpr int sine_terms = TaylorSeries::count, cosine_terms = TaylorSeries::count;
  static constexpr const double (&sine)[sine_terms] = taylor.sine;
  static constexpr const double (&cosine)[cosine_terms] = taylor.cosine;
};

// c + i s = exp(i 2 pi r), |r| <= 1/2: sine and cosine of half the angle by polynomials, then doubled.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void unit_phasor(D d, V r, V& c, V& s) {
  using Series = HalfAngle<hn::TFromD<D>>;
  const V z = hn::Mul(r, r);
  V sine = hn::Set(d, Series::sine[Series::sine_terms - 1]);
  V cosine = hn::Set(d, Series::cosine[Series::cosine_terms - 1]);
#pragma GCC unroll 12
  for (int i = Series::sine_terms - 2; i >= 0; --i) sine = hn::MulAdd(sine, z, hn::Set(d, Series::sine[i]));
#pragma GCC unroll 12
  for (int i = Series::cosine_terms - 2; i >= 0; --i)
    cosine = hn::MulAdd(cosine, z, hn::Set(d, Series::cosine[i]));
  sine = hn::Mul(sine, r);
  const V twice = hn::Add(sine, sine);
  s = hn::Mul(twice, cosine);
  c = hn::NegMulAdd(twice, sine, hn::Set(d, hn::TFromD<D>(1)));
}

// Two vectors of double, as vectors of T: one of float, or two. The scalar baseline combines nothing.
template <class T>
constexpr int vectors = std::is_same_v<T, float> && HWY_TARGET != HWY_SCALAR ? 1 : 2;
template <class T, class D, class V>
HWY_INLINE void in_precision(D d, V first, V second, hn::Vec<hn::ScalableTag<T>> (&out)[vectors<T>]) {
  (void)d;
  if constexpr (std::is_same_v<T, double>) {
    out[0] = first, out[1] = second;
  } else {
    const hn::Rebind<float, D> half;
#if HWY_TARGET == HWY_SCALAR
    out[0] = hn::DemoteTo(half, first), out[1] = hn::DemoteTo(half, second);
#else
    out[0] = hn::Combine(hn::ScalableTag<float>(), hn::DemoteTo(half, second), hn::DemoteTo(half, first));
#endif
  }
}

// cosines and sines, times the decay, of the pairs of 2 x lanes of double targets from `lane` on and `columns` sources from
// `source` on.
template <class T, bool decays, class V>
HWY_INLINE void pair_phasors(const Product<T>& p, int lane, int source, V (&c)[columns][vectors<T>],
                             V (&s)[columns][vectors<T>]) {
  const hn::ScalableTag<double> d;
  const hn::ScalableTag<T> to;
  const int lanes = static_cast<int>(hn::Lanes(d));
  hn::Vec<decltype(d)> turns[columns][2];
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) turns[j][0] = turns[j][1] = hn::Zero(d);
  const double* f = p.target_turns + lane;
  const double* g = p.source_turns + source / tile * std::int64_t{p.terms} * tile + source % tile;
  for (int term = 0; term < p.terms; ++term, f += tile, g += tile) {
    const auto first = hn::Load(d, f), second = hn::Load(d, f + lanes);
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      const auto factor = hn::Set(d, g[j]);
      turns[j][0] = hn::MulAdd(first, factor, turns[j][0]);
      turns[j][1] = hn::MulAdd(second, factor, turns[j][1]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < columns; ++j) {
    V r[vectors<T>];
    in_precision<T>(d, hn::Sub(turns[j][0], hn::Round(turns[j][0])),
                    hn::Sub(turns[j][1], hn::Round(turns[j][1])), r);
#pragma GCC unroll 2
    for (int v = 0; v < vectors<T>; ++v) unit_phasor(to, r[v], c[j][v], s[j][v]);
    if constexpr (decays) {
      const auto time = hn::Set(d, -p.source_decay[source + j]);
      in_precision<T>(d, hn::Mul(hn::Load(d, p.target_decay + lane), time),
                      hn::Mul(hn::Load(d, p.target_decay + lane + lanes), time), r);
#pragma GCC unroll 2
      for (int v = 0; v < vectors<T>; ++v) {
        const V left = hn::Exp(to, r[v]);
        c[j][v] = hn::Mul(c[j][v], left), s[j][v] = hn::Mul(s[j][v], left);
      }
    }
  }
}

template <class T, bool decays>
void add_pairs(const Product<T>& p) {
  const hn::ScalableTag<T> to;
  using V = hn::Vec<decltype(to)>;
  const int lanes = static_cast<int>(hn::Lanes(to)), step = lanes * vectors<T>;
  for (int lane = 0; lane < tile; lane += step)
    for (int source = 0; source < p.sources; source += columns) {
      V c[columns][vectors<T>], s[columns][vectors<T>];
      pair_phasors<T, decays>(p, lane, source, c, s);
      const Complex<T>* value = p.values + std::int64_t{source} * p.coils;
      for (int coil = 0; coil < p.coils; ++coil, ++value) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors<T>; ++v) {
          T* at = p.sums + std::int64_t{2} * coil * tile + lane + v * lanes;
          V re = hn::Load(to, at), im = hn::Load(to, at + tile);
#pragma GCC unroll 4
          for (int j = 0; j < columns; ++j) {
            const V value_re = hn::Set(to, value[j * p.coils].re),
                    value_im = hn::Set(to, value[j * p.coils].im);
            re = hn::NegMulAdd(value_im, s[j][v], hn::MulAdd(value_re, c[j][v], re));
            im = hn::MulAdd(value_im, c[j][v], hn::MulAdd(value_re, s[j][v], im));
          }
          hn::Store(re, to, at);
          hn::Store(im, to, at + tile);
        }
      }
    }
}

template <class T>
void add_sources(const Product<T>& product) {
  product.target_decay == nullptr ? add_pairs<T, false>(product) : add_pairs<T, true>(product);
}

const AllKernels& kernels_of_target() {
  static const AllKernels all{Kernels<float>{add_sources<float>}, Kernels<double>{add_sources<double>}};
  return all;
}

}  // namespace fhd::phase_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fhd::phase_cpu {

HWY_EXPORT(kernels_of_target);
const AllKernels& all_kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace fhd::phase_cpu
#endif  // HWY_ONCE

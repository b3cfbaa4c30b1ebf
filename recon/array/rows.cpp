#include "recon/array/rows.hpp"

// Scalar, SSE4, AVX2 and AVX-512.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recon/array/rows.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::rows::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
T* numbers(Complex<T>* row) {
  return reinterpret_cast<T*>(row);
}
template <class T>
const T* numbers(const Complex<T>* row) {
  return reinterpret_cast<const T*>(row);
}

/// body(first element) for whole vectors of numbers, element(i) for the rest.
template <class T, class Vectors, class Element>
HWY_INLINE void for_row(std::int64_t count, const Vectors& vectors, const Element& element) {
  // Two vectors of interleaved numbers at a time.
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  std::int64_t i = 0;
  for (; i + step <= count; i += step) vectors(i);
  for (; i < count; ++i) element(i);
}

template <class T>
void multiply(std::int64_t count, const Complex<T>* a, const Complex<T>* b, Complex<T>* to) {
  using D = hn::ScalableTag<T>;
  const D d;
  for_row<T>(
      count,
      [&](std::int64_t i) HWY_ATTR {
        hn::Vec<D> ar, ai, br, bi;
        hn::LoadInterleaved2(d, numbers(a + i), ar, ai);
        hn::LoadInterleaved2(d, numbers(b + i), br, bi);
        hn::StoreInterleaved2(hn::NegMulAdd(ai, bi, hn::Mul(ar, br)), hn::MulAdd(ar, bi, hn::Mul(ai, br)), d,
                              numbers(to + i));
      },
      [&](std::int64_t i) { to[i] = a[i] * b[i]; });
}

template <class T>
void multiply_conjugate(std::int64_t count, const Complex<T>* a, const Complex<T>* b, bool add,
                        Complex<T>* to) {
  using D = hn::ScalableTag<T>;
  const D d;
  for_row<T>(
      count,
      [&](std::int64_t i) HWY_ATTR {
        hn::Vec<D> ar, ai, br, bi, re = hn::Zero(d), im = hn::Zero(d);
        hn::LoadInterleaved2(d, numbers(a + i), ar, ai);
        hn::LoadInterleaved2(d, numbers(b + i), br, bi);
        if (add) hn::LoadInterleaved2(d, numbers(to + i), re, im);
        re = hn::MulAdd(ar, br, hn::MulAdd(ai, bi, re));
        im = hn::MulAdd(ar, bi, hn::NegMulAdd(ai, br, im));
        hn::StoreInterleaved2(re, im, d, numbers(to + i));
      },
      [&](std::int64_t i) { to[i] = add ? to[i] + conj(a[i]) * b[i] : conj(a[i]) * b[i]; });
}

template <class T>
void scale(std::int64_t count, const T* factors, Complex<T>* to) {
  using D = hn::ScalableTag<T>;
  const D d;
  for_row<T>(
      count,
      [&](std::int64_t i) HWY_ATTR {
        hn::Vec<D> re, im;
        hn::LoadInterleaved2(d, numbers(to + i), re, im);
        const auto factor = hn::LoadU(d, factors + i);
        hn::StoreInterleaved2(hn::Mul(re, factor), hn::Mul(im, factor), d, numbers(to + i));
      },
      [&](std::int64_t i) { to[i] *= factors[i]; });
}

template <class T>
void subtract(std::int64_t count, Complex<T> factor, const Complex<T>* a, Complex<T>* to) {
  using D = hn::ScalableTag<T>;
  const D d;
  const auto fr = hn::Set(d, factor.re), fi = hn::Set(d, factor.im);
  for_row<T>(
      count,
      [&](std::int64_t i) HWY_ATTR {
        hn::Vec<D> ar, ai, re, im;
        hn::LoadInterleaved2(d, numbers(a + i), ar, ai);
        hn::LoadInterleaved2(d, numbers(to + i), re, im);
        re = hn::MulAdd(fi, ai, hn::NegMulAdd(fr, ar, re));
        im = hn::NegMulAdd(fi, ar, hn::NegMulAdd(fr, ai, im));
        hn::StoreInterleaved2(re, im, d, numbers(to + i));
      },
      [&](std::int64_t i) { to[i] -= factor * a[i]; });
}

/// The sums of conj(a) b of a vector, in double precision.
template <class D>
struct Sums {
  hn::Vec<D> re, im;
  HWY_INLINE void add(hn::Vec<D> ar, hn::Vec<D> ai, hn::Vec<D> br, hn::Vec<D> bi) {
    re = hn::MulAdd(ar, br, hn::MulAdd(ai, bi, re));
    im = hn::MulAdd(ar, bi, hn::NegMulAdd(ai, br, im));
  }
};

/// Eight numbers and more at a time: `vectors` of double precision each.
template <class T>
Complex<double> dot(std::int64_t count, const Complex<T>* a, const Complex<T>* b) {
  using D = hn::ScalableTag<double>;
  const D d;
  const hn::Rebind<T, D> narrow;
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(D()));
  constexpr int vectors = 4;
  Sums<D> sums[vectors];
  for (auto& sum : sums) sum = {hn::Zero(d), hn::Zero(d)};
  const auto widened = [&](hn::Vec<decltype(narrow)> v) HWY_ATTR {
    if constexpr (sizeof(T) == sizeof(double))
      return v;
    else
      return hn::PromoteTo(d, v);
  };
  std::int64_t i = 0;
  for (; i + vectors * step <= count; i += vectors * step)
    for (int v = 0; v < vectors; ++v) {
      hn::Vec<decltype(narrow)> ar, ai, br, bi;
      hn::LoadInterleaved2(narrow, numbers(a + i + v * step), ar, ai);
      hn::LoadInterleaved2(narrow, numbers(b + i + v * step), br, bi);
      sums[v].add(widened(ar), widened(ai), widened(br), widened(bi));
    }
  Complex<double> sum;
  for (; i < count; ++i) sum += conj(static_cast<Complex<double>>(a[i])) * static_cast<Complex<double>>(b[i]);
  auto re = hn::Zero(d), im = hn::Zero(d);
  for (const auto& part : sums) re = hn::Add(re, part.re), im = hn::Add(im, part.im);
  sum.re += hn::GetLane(hn::SumOfLanes(d, re));
  sum.im += hn::GetLane(hn::SumOfLanes(d, im));
  return sum;
}

const AllKernels& kernels_of_target() {
  static const AllKernels all{
      {multiply<float>, multiply_conjugate<float>, scale<float>, subtract<float>, dot<float>},
      {multiply<double>, multiply_conjugate<double>, scale<double>, subtract<double>, dot<double>}};
  return all;
}

}  // namespace fhd::rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fhd::rows {

HWY_EXPORT(kernels_of_target);
const AllKernels& all_kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace fhd::rows
#endif  // HWY_ONCE

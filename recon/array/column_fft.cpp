#include "recon/array/column_fft.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <type_traits>
#include <utility>

#include "recon/error.hpp"

// Scalar, SSE4, AVX2 and AVX-512.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recon/array/column_fft.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::column_fft::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Pair {
  hn::Vec<D> re, im;
};
template <class D>
HWY_INLINE Pair<D> operator+(Pair<D> a, Pair<D> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Pair<D> operator-(Pair<D> a, Pair<D> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class D>
HWY_INLINE Pair<D> scaled(Pair<D> a, hn::Vec<D> by) {
  return {hn::Mul(a.re, by), hn::Mul(a.im, by)};
}
/// a + by b
template <class D>
HWY_INLINE Pair<D> plus(Pair<D> a, hn::Vec<D> by, Pair<D> b) {
  return {hn::MulAdd(by, b.re, a.re), hn::MulAdd(by, b.im, a.im)};
}
/// a (re + i im)
template <class D>
HWY_INLINE Pair<D> rotated(Pair<D> a, hn::Vec<D> re, hn::Vec<D> im) {
  return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.re, im, hn::Mul(a.im, re))};
}
/// a - i b, a + i b
template <class D>
HWY_INLINE Pair<D> minus_i(Pair<D> a, Pair<D> b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class D>
HWY_INLINE Pair<D> plus_i(Pair<D> a, Pair<D> b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}

// a[k] <- sum over j of a[j] exp(-i 2 pi j k / radix)

template <int radix>
using Radix = std::integral_constant<int, radix>;

template <class D>
HWY_INLINE void butterfly(D, Radix<2>, Pair<D>* a) {
  const auto sum = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = sum;
}

template <class D>
HWY_INLINE void butterfly(D d, Radix<3>, Pair<D>* a) {
  using T = hn::TFromD<D>;
  const auto sum = a[1] + a[2], difference = scaled<D>(a[1] - a[2], hn::Set(d, T(0.86602540378443864676)));
  const auto middle = plus<D>(a[0], hn::Set(d, T(-0.5)), sum);
  a[0] = a[0] + sum;
  a[1] = minus_i(middle, difference);
  a[2] = plus_i(middle, difference);
}

template <class D>
HWY_INLINE void butterfly(D, Radix<4>, Pair<D>* a) {
  const auto even = a[0] + a[2], odd = a[0] - a[2], sum = a[1] + a[3], difference = a[1] - a[3];
  a[0] = even + sum;
  a[2] = even - sum;
  a[1] = minus_i(odd, difference);
  a[3] = plus_i(odd, difference);
}

template <class D>
HWY_INLINE void butterfly(D d, Radix<5>, Pair<D>* a) {
  using T = hn::TFromD<D>;
  const auto c1 = hn::Set(d, T(0.30901699437494742410)), c2 = hn::Set(d, T(-0.80901699437494742410)),
             s1 = hn::Set(d, T(0.95105651629515357212)), s2 = hn::Set(d, T(0.58778525229247312917));
  const auto t1 = a[1] + a[4], t2 = a[2] + a[3], t3 = a[1] - a[4], t4 = a[2] - a[3];
  const auto m1 = plus<D>(plus<D>(a[0], c1, t1), c2, t2), m2 = plus<D>(plus<D>(a[0], c2, t1), c1, t2),
             n1 = plus<D>(scaled<D>(t3, s1), s2, t4), n2 = plus<D>(scaled<D>(t3, s2), hn::Neg(s1), t4);
  a[0] = a[0] + t1 + t2;
  a[1] = minus_i(m1, n1);
  a[4] = plus_i(m1, n1);
  a[2] = minus_i(m2, n2);
  a[3] = plus_i(m2, n2);
}

// Good and Thomas: of two transforms of length 3, without twiddles.
template <class D>
HWY_INLINE void butterfly(D d, Radix<6>, Pair<D>* a) {
  Pair<D> even[3] = {a[0], a[2], a[4]}, odd[3] = {a[3], a[5], a[1]};
  butterfly(d, Radix<3>(), even);
  butterfly(d, Radix<3>(), odd);
  for (int k = 0; k < 3; ++k) {
    a[4 * k % 6] = even[k] + odd[k];
    a[(3 + 4 * k) % 6] = even[k] - odd[k];
  }
}

template <class D>
HWY_INLINE void butterfly(D d, Radix<7>, Pair<D>* a) {
  using T = hn::TFromD<D>;
  const auto c1 = hn::Set(d, T(0.62348980185873353053)), c2 = hn::Set(d, T(-0.22252093395631440429)),
             c3 = hn::Set(d, T(-0.90096886790241912624)), s1 = hn::Set(d, T(0.78183148246802980871)),
             s2 = hn::Set(d, T(0.97492791218182360702)), s3 = hn::Set(d, T(0.43388373911755812048));
  const auto t1 = a[1] + a[6], t2 = a[2] + a[5], t3 = a[3] + a[4], t4 = a[1] - a[6], t5 = a[2] - a[5],
             t6 = a[3] - a[4];
  const auto sum = [&](Pair<D> x, auto by, Pair<D> y) HWY_ATTR { return plus<D>(x, by, y); };
  const auto m1 = sum(sum(sum(a[0], c1, t1), c2, t2), c3, t3),
             m2 = sum(sum(sum(a[0], c2, t1), c3, t2), c1, t3),
             m3 = sum(sum(sum(a[0], c3, t1), c1, t2), c2, t3),
             n1 = sum(sum(scaled<D>(t4, s1), s2, t5), s3, t6),
             n2 = sum(sum(scaled<D>(t4, s2), hn::Neg(s3), t5), hn::Neg(s1), t6),
             n3 = sum(sum(scaled<D>(t4, s3), hn::Neg(s1), t5), s2, t6);
  a[0] = a[0] + t1 + t2 + t3;
  a[1] = minus_i(m1, n1);
  a[6] = plus_i(m1, n1);
  a[2] = minus_i(m2, n2);
  a[5] = plus_i(m2, n2);
  a[3] = minus_i(m3, n3);
  a[4] = plus_i(m3, n3);
}

template <class D>
HWY_INLINE void butterfly(D d, Radix<8>, Pair<D>* a) {
  using T = hn::TFromD<D>;
  const auto root = hn::Set(d, T(0.70710678118654752440));
  Pair<D> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
  butterfly(d, Radix<4>(), even);
  butterfly(d, Radix<4>(), odd);
  const Pair<D> odd1 = scaled<D>(minus_i(odd[1], odd[1]), root),
                odd3 = scaled<D>({hn::Sub(odd[3].im, odd[3].re), hn::Add(odd[3].re, odd[3].im)}, root);
  a[0] = even[0] + odd[0];
  a[4] = even[0] - odd[0];
  a[1] = even[1] + odd1;
  a[5] = even[1] - odd1;
  a[2] = minus_i(even[2], odd[2]);
  a[6] = plus_i(even[2], odd[2]);
  a[3] = {hn::Add(even[3].re, odd3.re), hn::Sub(even[3].im, odd3.im)};
  a[7] = {hn::Sub(even[3].re, odd3.re), hn::Add(even[3].im, odd3.im)};
}

/// How the numbers of a row lie in memory: real beside imaginary parts, or all real parts before them.
enum class Row { joined, parted };

template <Row row, class D, class T>
HWY_INLINE Pair<D> load(D d, const T* from, std::int64_t column) {
  Pair<D> a;
  if constexpr (row == Row::parted) {
    a.re = hn::Load(d, from + column);
    a.im = hn::Load(d, from + ColumnFft<T>::columns + column);
  } else {
    hn::LoadInterleaved2(d, from + 2 * column, a.re, a.im);
  }
  return a;
}

template <Row row, class D, class T>
HWY_INLINE void store(D d, Pair<D> a, T* to, std::int64_t column) {
  if constexpr (row == Row::parted) {
    hn::Store(a.re, d, to + column);
    hn::Store(a.im, d, to + ColumnFft<T>::columns + column);
  } else {
    hn::StoreInterleaved2(a.re, a.im, d, to + 2 * column);
  }
}

/// The butterfly of all columns of `radix` rows x, to rows y that are `pitch` numbers apart; twiddles [k - 1][re, im].
template <int radix, Row in, Row out, class T>
HWY_INLINE void rows(const T* const* x, std::int64_t offset, const T* twiddles, T* y, std::int64_t pitch) {
  using D = hn::ScalableTag<T>;
  constexpr std::int64_t row = 2 * ColumnFft<T>::columns;
  const D d;
  // In place, the first vector of a joined row would take the place of real parts that are read later.
  const bool is_in_place = in != out && x[0] + offset == y && hn::Lanes(d) < ColumnFft<T>::columns;
  alignas(64) T held[radix * row];
  for (int j = 0; j < radix && is_in_place; ++j) std::copy_n(x[j] + offset, row, held + j * row);
  for (std::int64_t column = 0; column < ColumnFft<T>::columns; column += hn::Lanes(d)) {
    Pair<D> a[radix];
    for (int j = 0; j < radix; ++j)
      a[j] = load<in>(d, is_in_place ? held + j * row : x[j] + offset, column);
    butterfly(d, Radix<radix>(), a);
    store<out>(d, a[0], y, column);
    for (int k = 1; k < radix; ++k) {
      if constexpr (out == Row::parted)  // those of the last stage are 1
        a[k] = rotated<D>(a[k], hn::Set(d, twiddles[2 * k - 2]), hn::Set(d, twiddles[2 * k - 1]));
      store<out>(d, a[k], y + pitch * k, column);
    }
  }
}

template <int radix, Row in, Row out, class T>
void stage(const Stage<T>& s) {
  constexpr std::int64_t row = 2 * ColumnFft<T>::columns;
  const std::int64_t n = s.before * s.after * radix;
  for (std::int64_t p = 0; p < s.after; ++p) {
    const T* x[radix];
    for (int j = 0; j < radix; ++j) {
      const std::int64_t first = s.before * (p + s.after * j);
      x[j] = s.from + row * (s.reversed && first > 0 ? n - first : first);
    }
    for (std::int64_t q = 0; q < s.before; ++q)
      rows<radix, in, out>(x, row * q, s.twiddles + 2 * (radix - 1) * p,
                           s.to + row * (q + s.before * radix * p), row * s.before);
  }
}

template <Row in, Row out, class T>
void stage_of_any_radix(const Stage<T>& s) {
  switch (s.radix) {
    case 2:
      return stage<2, in, out>(s);
    case 3:
      return stage<3, in, out>(s);
    case 4:
      return stage<4, in, out>(s);
    case 5:
      return stage<5, in, out>(s);
    case 6:
      return stage<6, in, out>(s);
    case 7:
      return stage<7, in, out>(s);
    default:
      return stage<8, in, out>(s);
  }
}

template <class T>
void part(const T* from, std::int64_t rows, T* to) {
  constexpr std::int64_t row = 2 * ColumnFft<T>::columns;
  const hn::ScalableTag<T> d;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t column = 0; column < ColumnFft<T>::columns; column += hn::Lanes(d))
      store<Row::parted>(d, load<Row::joined>(d, from + i * row, column), to + i * row, column);
}

template <class T>
void transform(const Stage<T>* stages, int count) {
  for (int i = 0; i < count; ++i)
    if (i == count - 1)
      stage_of_any_radix<Row::parted, Row::joined>(stages[i]);
    else if (i == 0)
      stage_of_any_radix<Row::joined, Row::parted>(stages[i]);
    else
      stage_of_any_radix<Row::parted, Row::parted>(stages[i]);
}

#if HWY_TARGET != HWY_SCALAR
/// Exchanges `unit` bytes of two rows: the upper of every two units of `a` with the lower one of `b`.
template <std::size_t unit, class D, class V = hn::Vec<D>>
HWY_INLINE void exchange(D d, V& a, V& b) {
  const V first = a, second = b;
  if constexpr (unit == 8) {
    a = hn::InterleaveLower(d, first, second);
    b = hn::InterleaveUpper(d, first, second);
  } else if constexpr (2 * unit == HWY_MAX_BYTES) {
    a = hn::ConcatLowerLower(d, second, first);
    b = hn::ConcatUpperUpper(d, second, first);
  } else {
    static_assert(unit == 16);
    a = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(second), first);
    b = hn::OddEvenBlocks(second, hn::SwapAdjacentBlocks(first));
  }
}

/// A square of the numbers of a vector, each of `size` bytes; pitches in bytes.
template <std::size_t size>
HWY_INLINE void transpose_square(const char* from, std::int64_t from_pitch, char* to, std::int64_t to_pitch) {
  const hn::ScalableTag<std::uint64_t> d;
  constexpr int side = HWY_MAX_BYTES / size;
  hn::Vec<decltype(d)> rows[side];
  for (int i = 0; i < side; ++i)
    rows[i] = hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(from + i * from_pitch));
  if constexpr (side >= 8)
    for (int i = 0; i < 8; ++i)
      if (!(i & 4)) exchange<4 * size>(d, rows[i], rows[i + 4]);
  if constexpr (side >= 4)
    for (int i = 0; i < side; ++i)
      if (!(i & 2)) exchange<2 * size>(d, rows[i], rows[i + 2]);
  if constexpr (side >= 2)
    for (int i = 0; i < side; i += 2) exchange<size>(d, rows[i], rows[i + 1]);
  for (int i = 0; i < side; ++i) hn::StoreU(rows[i], d, reinterpret_cast<std::uint64_t*>(to + i * to_pitch));
}

#endif

template <class T>
void transpose(const Complex<T>* from, std::int64_t from_pitch, std::int64_t rows, std::int64_t columns,
               Complex<T>* to, std::int64_t to_pitch) {
#if HWY_TARGET == HWY_SCALAR
  const std::int64_t whole_rows = 0, whole_columns = 0;
#else
  constexpr std::int64_t size = sizeof(Complex<T>), side = HWY_MAX_BYTES / size;
  const std::int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  for (std::int64_t row = 0; row < whole_rows; row += side)
    for (std::int64_t column = 0; column < whole_columns; column += side)
      transpose_square<size>(reinterpret_cast<const char*>(from + row * from_pitch + column),
                             size * from_pitch, reinterpret_cast<char*>(to + column * to_pitch + row),
                             size * to_pitch);
#endif
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = row < whole_rows ? whole_columns : 0; column < columns; ++column)
      to[column * to_pitch + row] = from[row * from_pitch + column];
}

const AllKernels& kernels_of_target() {
  static const AllKernels all{{transform<float>, part<float>, transpose<float>},
                              {transform<double>, part<double>, transpose<double>}};
  return all;
}

}  // namespace fhd::column_fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fhd {
namespace column_fft {

HWY_EXPORT(kernels_of_target);
const AllKernels& all_kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace column_fft

template <class T>
bool ColumnFft<T>::supports(int n) {
  for (const int factor : {2, 3, 5, 7})
    while (n > 0 && n % factor == 0) n /= factor;
  return n == 1;
}

namespace {

/// Radices of a length, at most `largest` each: as few as there can be, and of these the smallest at most.
std::vector<int> radices_of(int n, int largest) {
  std::vector<int> best;
  for (int radix = std::min(n, largest); radix >= 2 && n > 1; --radix) {
    if (n % radix != 0) continue;
    auto rest = radices_of(n / radix, radix);
    if (rest.empty() && n != radix) continue;
    rest.insert(rest.begin(), radix);
    if (best.empty() || rest.size() <= best.size()) best = std::move(rest);
  }
  return best;
}

}  // namespace

template <class T>
ColumnFft<T>::ColumnFft(int n) : n_(n) {
  if (!supports(n)) throw Error("FFT", "a length whose prime factors are 2, 3, 5 and 7", std::to_string(n));
  constexpr int largest_radix = 8;
  for (const int radix : radices_of(n, largest_radix)) stages_.push_back({radix, 0, 0, 0});
  std::int64_t before = 1;
  for (auto& stage : stages_) {
    stage.before = before;
    before *= stage.radix;
    stage.after = n / before;
    stage.twiddles = static_cast<std::int64_t>(twiddles_.size());
    for (std::int64_t p = 0; p < stage.after; ++p)
      for (int k = 1; k < stage.radix; ++k) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(p * k) /
                             static_cast<double>(stage.radix * stage.after);
        twiddles_.push_back(static_cast<T>(std::cos(angle)));
        twiddles_.push_back(static_cast<T>(std::sin(angle)));
      }
  }
}

template <class T>
void ColumnFft<T>::operator()(Complex<T>* data, Complex<T>* scratch, bool backward) const {
  T *const a = reinterpret_cast<T*>(data), *const b = reinterpret_cast<T*>(scratch), *at = a;
  const int count = static_cast<int>(stages_.size());
  if (count == 1) column_fft::kernels<T>().part(a, n_, b), at = b;
  std::array<column_fft::Stage<T>, 32> stages;
  for (int i = 0; i < count; ++i) {
    const Stage& stage = stages_[i];
    // Every stage but the last writes elsewhere; the last writes where it reads.
    T* const to = i == count - 1 ? a : at == a ? b : a;
    stages[i] = {at,
                 to,
                 twiddles_.data() + stage.twiddles,
                 stage.before,
                 stage.after,
                 stage.radix,
                 backward && i == 0};
    at = to;
  }
  column_fft::kernels<T>().transform(stages.data(), count);
}

template class ColumnFft<float>;
template class ColumnFft<double>;

}  // namespace fhd

/// Takes the place of a function of libhwy, which measures a clock when the library is loaded: 2.8 ms of every start, and nothing
/// here asks for it.
namespace hwy::platform {
std::uint64_t TimerResolution();
std::uint64_t TimerResolution() { return 1; }
}  // namespace hwy::platform
#endif  // HWY_ONCE

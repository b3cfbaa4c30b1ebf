#pragma once
// FFTs of lines of n points by the threads of a CUDA block: values of a thread in registers, the lines in
// shared memory between stages. Includes nothing of the CUDA runtime's host side.
//
// With w(a) = exp(-2 pi i a), a stage of radix R, L = the product of the radices before it, thread t < n / R, k
// = t mod L:
//
//     takes x[t + r n / R], multiplies with w(r k / (L R)), transforms over r, leaves [(t / L) L R + k + r L].
//
// (Stockham; Govindaraju et al., SC 2008.) The first stage's input and the last stage's output are at t + r n /
// R: they stay in registers, and who multiplies a spectrum in between goes back without an exchange, by the
// transposed stages in the opposite order. The inverse is the same arithmetic on values whose parts are
// exchanged: with s(z) = i conj(z), s(w(a) s(z)) = w(-a) z.
#include "recon/transform/toeplitz/block_fft_plan.hpp"

namespace fhd::toeplitz {

using Value = Complex<float>;

/// f(Index<0>) ... f(Index<count - 1>): loops whose index is a constant.
template <int i>
struct Index {
  static constexpr int value = i;
};
template <int count, int i = 0, class F>
__device__ __forceinline__ void each(const F& f) {
  if constexpr (i < count) {
    f(Index<i>{});
    each<count, i + 1>(f);
  }
}

/// cos(2 pi p / q), by its series.
FHD_HOST_DEVICE constexpr double cosine_of_turn(int p, int q) {
  const double x = 2 * 3.14159265358979323846 * (2 * p > q ? p - q : p) / q;
  double term = 1, sum = 1;
  for (int i = 1; i < 20; ++i) sum += term *= -x * x / ((2 * i - 1) * (2 * i));
  return sum;
}

/// v exp(-2 pi i p / q)
template <int p, int q>
__device__ __forceinline__ Value turned(Value v) {
  constexpr int turn = p % q;
  if constexpr (turn == 0) {
    return v;
  } else if constexpr (2 * turn == q) {
    return -v;
  } else if constexpr (4 * turn == q) {
    return {v.im, -v.re};
  } else if constexpr (4 * turn == 3 * q) {
    return {-v.im, v.re};
  } else {
    constexpr auto c = static_cast<float>(cosine_of_turn(turn, q)),
                   s = static_cast<float>(cosine_of_turn((4 * turn + 3 * q) % (4 * q), 4 * q));
    return {v.re * c + v.im * s, v.im * c - v.re * s};
  }
}

/// A factor of R, by which its butterfly is made of smaller ones; R: it is prime.
FHD_HOST_DEVICE constexpr int factor_of(int radix) {
  if (radix > 4 && radix % 4 == 0) return 4;
  for (int prime = 2; prime < radix; ++prime)
    if (radix % prime == 0) return prime;
  return radix;
}

/// X[m] = sum over r of v[r] w(r m / R), in place, in natural order.
template <int R>
__device__ __forceinline__ void butterfly(Value* v) {
  constexpr int A = factor_of(R), B = R / A;
  if constexpr (R == 2) {
    const Value other = v[1];
    v[1] = v[0] - other;
    v[0] += other;
  } else if constexpr (A == R) {  // an odd prime, by sums and differences of the pairs r, R - r
    constexpr int pairs = (R - 1) / 2;
    Value sum[pairs], difference[pairs];
    const Value first = v[0];
    each<pairs>([&](auto i) {
      constexpr int r = decltype(i)::value;
      sum[r] = v[r + 1] + v[R - 1 - r], difference[r] = v[r + 1] - v[R - 1 - r];
      v[0] += sum[r];
    });
    each<pairs>([&](auto j) {
      constexpr int m = decltype(j)::value + 1;
      Value even = first, odd;
      each<pairs>([&](auto i) {
        constexpr int r = decltype(i)::value, turn = (r + 1) * m % R;
        constexpr auto c = static_cast<float>(cosine_of_turn(turn, R)),
                       s = static_cast<float>(cosine_of_turn((4 * turn + 3 * R) % (4 * R), 4 * R));
        even.re += c * sum[r].re, even.im += c * sum[r].im;
        odd.re += s * difference[r].im, odd.im -= s * difference[r].re;
      });
      v[m] = even + odd, v[R - m] = even - odd;
    });
  } else {
    Value u[R];
    each<B>([&](auto j) {
      constexpr int b = decltype(j)::value;
      Value w[A];
      each<A>([&](auto i) { w[decltype(i)::value] = v[decltype(i)::value * B + b]; });
      butterfly<A>(w);
      each<A>([&](auto i) {
        constexpr int k = decltype(i)::value;
        u[k * B + b] = turned<b * k, R>(w[k]);
      });
    });
    each<A>([&](auto i) {
      constexpr int k = decltype(i)::value;
      butterfly<B>(u + k * B);
      each<B>([&](auto j) { v[k + A * decltype(j)::value] = u[k * B + decltype(j)::value]; });
    });
  }
}

/// A length that is known where the kernel is compiled.
template <int... list>
struct FixedStages {
  static constexpr int count = sizeof...(list), points = (list * ...);
  static constexpr int most_radix = [] {
    int most = 0;
    ((most = list > most ? list : most), ...);
    return most;
  }();
  static constexpr int most_threads = [] {  // of a line
    int most = 0;
    ((most = points / list > most ? points / list : most), ...);
    return most;
  }();
  FHD_HOST_DEVICE static constexpr int length() { return points; }
  FHD_HOST_DEVICE static constexpr int line_threads() { return most_threads; }
  FHD_HOST_DEVICE static constexpr int stages() { return count; }
  FHD_HOST_DEVICE static constexpr int radix(int stage) {
    int i = 0, found = 1;
    ((found = i++ == stage ? list : found), ...);
    return found;
  }
  __device__ __forceinline__ void transform(int stage, Value* v) const {
    int i = 0;
    ((i++ == stage ? butterfly<list>(v) : void()), ...);
  }
  bool is(const BlockFftPlan& plan) const {
    bool equal = plan.count == count;
    for (int stage = 0; equal && stage < count; ++stage) equal = plan.radices[stage] == radix(stage);
    return equal;
  }
};

/// One that is told at run time.
struct AnyStages : BlockFftPlan {
  explicit AnyStages(const BlockFftPlan& plan) : BlockFftPlan(plan) {}
  __device__ __forceinline__ int length() const { return points; }
  __device__ __forceinline__ int line_threads() const { return threads; }
  __device__ __forceinline__ int stages() const { return count; }
  /// Not by an index that is known at run time: that would put the plan into memory.
  __device__ __forceinline__ int radix(int stage) const {
    return stage == 0 ? radices[0] : stage == 1 ? radices[1] : stage == 2 ? radices[2] : radices[3];
  }
  __device__ __forceinline__ void transform(int stage, Value* v) const {
    const int wanted = radix(stage);
    each<most_radix + 1>([&](auto i) {
      constexpr int points_of_it = decltype(i)::value;
      if constexpr (is_radix(points_of_it))
        if (wanted == points_of_it) butterfly<points_of_it>(v);
    });
  }
};

/// Where point e of a thread's line lies in shared memory. Half a warp has 16 neighbouring lines, `step` of
/// them side by side, or neighbouring points of one line. Places left out keep strides of 8 and 16 points out
/// of one bank.
template <bool is_row>
struct LinePlace {
  Value* line;
  int step;
  __device__ __forceinline__ Value& operator()(int e) const {
    return is_row ? line[e + (e >> 4)] : line[(step < 16 ? e + (e >> 3) : e) * step];
  }
};
/// Places of a line in a row; of one of `step` side by side.
FHD_HOST_DEVICE constexpr int row_places(int n) { return n + n / 16 + 1; }
FHD_HOST_DEVICE constexpr int column_places(int n, int step) { return step < 16 ? n + n / 8 + 1 : n; }

/// The transforms of one line; thread t of it. All threads of a block call them together, in lines that count
/// or not.
template <class Stages, bool is_row>
struct BlockFft {
  static constexpr int most = Stages::most_radix;
  Stages plan;
  const Value* twiddles;  ///< twiddles_of(plan)
  LinePlace<is_row> place;
  int t;

  /// Points of a thread before a forward transform and after an inverse one; in between.
  __device__ __forceinline__ int own() const { return works(stride()) ? plan.radix(0) : 0; }
  __device__ __forceinline__ int stride() const { return plan.length() / plan.radix(0); }
  __device__ __forceinline__ int own_spectrum() const {
    return works(spectrum_stride()) ? plan.radix(plan.stages() - 1) : 0;
  }
  __device__ __forceinline__ int spectrum_stride() const {
    return plan.length() / plan.radix(plan.stages() - 1);
  }

  /// f(r, the point t + r stride()) for the points of this thread; the same of the spectrum.
  template <class F>
  __device__ __forceinline__ void for_points(const F& f) const {
    const int count = own();
#pragma unroll
    for (int r = 0; r < most; ++r)
      if (r < count) f(r, t + r * stride());
  }
  template <class F>
  __device__ __forceinline__ void for_spectrum(const F& f) const {
    const int count = own_spectrum();
#pragma unroll
    for (int r = 0; r < most; ++r)
      if (r < count) f(r, t + r * spectrum_stride());
  }
  /// exp(-2 pi i e / 2n), which makes the odd points of a spectrum of 2n from n.
  __device__ __forceinline__ Value half_turn(int e) const { return twiddles[e]; }

  /// From the thread's points to those of the spectrum.
  __device__ __forceinline__ void forward(Value* v) const {
    const Value* factors = twiddles + plan.length();
    int span = 1;
#pragma unroll
    for (int stage = 0; stage < plan.stages(); ++stage) {
      const int radix = plan.radix(stage), lines = plan.length() / radix, k = t % span;
      const int count = works(lines) ? radix : 0;
      if (stage > 0) {
        take(v, count, t, lines);
        turn(v, radix, factors + k, span);
        factors += span * radix;
      }
      if (count > 0) plan.transform(stage, v);
      if (stage + 1 < plan.stages()) leave(v, count, (t - k) * radix + k, span);
      span *= radix;
    }
  }

  /// From the spectrum to the points, unnormalised; values have their parts exchanged, before and after.
  __device__ __forceinline__ void inverse(Value* v) const {
    int span = plan.length(), behind = 0;
#pragma unroll
    for (int stage = plan.stages() - 1; stage >= 0; --stage) {
      const int radix = plan.radix(stage), lines = plan.length() / radix;
      span /= radix;
      const int k = t % span, count = works(lines) ? radix : 0;
      if (stage + 1 < plan.stages()) take(v, count, (t - k) * radix + k, span);
      if (count > 0) plan.transform(stage, v);
      if (stage > 0) {
        behind += span * radix;
        turn(v, radix, twiddles + end_of_factors() - behind + k, span);
        leave(v, count, t, lines);
      }
    }
  }

 private:
  /// Returns whether the thread has one of so many butterflies: of a known length often all have, known as well.
  __device__ __forceinline__ bool works(int butterflies) const {
    return butterflies == plan.line_threads() || t < butterflies;
  }
  __device__ __forceinline__ int end_of_factors() const {
    int end = plan.length(), span = plan.radix(0);
#pragma unroll
    for (int stage = 1; stage < plan.stages(); ++stage) end += span *= plan.radix(stage);
    return end;
  }
  /// v[r] *= factors[r span], read from the cache each time: not as constants, which would be kept in the
  /// registers of all stages. The threads that have no butterfly read within the table, too.
  __device__ __forceinline__ void turn(Value* v, int radix, const Value* factors, int span) const {
#pragma unroll
    for (int r = 1; r < most; ++r)
      if (r < radix) v[r] = v[r] * factors[r * span];
  }
  __device__ __forceinline__ void leave(const Value* v, int count, int first, int step) const {
    __syncthreads();  // what was there is taken
#pragma unroll
    for (int r = 0; r < most; ++r)
      if (r < count) place(first + r * step) = v[r];
    __syncthreads();
  }
  __device__ __forceinline__ void take(Value* v, int count, int first, int step) const {
#pragma unroll
    for (int r = 0; r < most; ++r)
      if (r < count) v[r] = place(first + r * step);
  }
};

}  // namespace fhd::toeplitz

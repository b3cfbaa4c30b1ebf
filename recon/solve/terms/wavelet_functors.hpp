#pragma once
// One level of the wavelet transform along one axis, and what stands around it, for the loop of pointwise.hpp. Arrays are
// [image][z][y][x] of n voxels; a level works on their corner of `extent` voxels. Floor: each value in and out once.
#include "recon/array/pointwise.hpp"

namespace fhd {

inline constexpr int most_wavelet_shifts = 8;

/// Where an index stands: of voxels counted by `count` along x, y, z, then images. Indices are below 2^32 (sparse_term):
/// divisions of 32 bits take half of the time.
struct WaveletPlace {
  std::int64_t position[3], image;
  FHD_HOST_DEVICE WaveletPlace(std::int64_t index, const std::int64_t count[3]) {
    auto i = static_cast<std::uint32_t>(index);
    for (int axis = 0; axis < 3; ++axis) {
      const auto n = static_cast<std::uint32_t>(count[axis]);
      position[axis] = i % n, i /= n;
    }
    image = i;
  }
  FHD_HOST_DEVICE std::int64_t offset(const std::int64_t n[3]) const {
    return ((image * n[2] + position[2]) * n[1] + position[1]) * n[0] + position[0];
  }
};

/// Daubechies' low-pass with four taps, h; the high-pass is g(t) = (-1)^t h(3 - t).
template <class T>
struct Daubechies {
  T h[4] = {T(0.48296291314453414), T(0.83651630373780790), T(0.22414386804201338), T(-0.12940952255126037)};
};

/// Geometry of a level along an axis: half = ceil(extent / 2) means, then floor(extent / 2) details.
struct WaveletAxis {
  std::int64_t n[3], extent[3], count[3];  ///< count: extent, but half along the axis: an index is a pair
  int axis;

  WaveletAxis(const std::int64_t size[3], const std::int64_t box[3], int along) : axis(along) {
    for (int a = 0; a < 3; ++a) n[a] = size[a], extent[a] = count[a] = box[a];
    count[axis] = half();
  }
  FHD_HOST_DEVICE std::int64_t half() const { return (extent[axis] + 1) / 2; }
  FHD_HOST_DEVICE std::int64_t stride() const { return axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1]; }
  std::int64_t indices(std::int64_t images) const { return images * count[0] * count[1] * count[2]; }
};

/// Decodes an index of a level: pair k of a line, or the last voxel of an odd number.
struct WaveletPair {
  std::int64_t k, pairs, stride, begin;  ///< of the line: its pairs, from voxel to voxel, its first
  FHD_HOST_DEVICE WaveletPair(const WaveletAxis& level, std::int64_t index)
      : pairs(level.extent[level.axis] / 2), stride(level.stride()) {
    WaveletPlace place(index, level.count);
    k = place.position[level.axis];
    place.position[level.axis] = 0;
    begin = place.offset(level.n);
  }
  FHD_HOST_DEVICE bool is_alone() const { return k == pairs; }
};

/// out: means a(k) = sum h(t) in(2k + t), details d(k) = sum g(t) in(2k + t), 2k + t modulo the even part of the extent.
template <class T>
struct SplitAxis {
  static constexpr const char* name = "splitting means and details";
  WaveletAxis level;
  Daubechies<T> taps;
  const Complex<T>* in;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const WaveletPair pair(level, i);
    const std::int64_t k = pair.k, even = 2 * pair.pairs, stride = pair.stride, begin = pair.begin;
    if (pair.is_alone()) {
      out[begin + k * stride] = in[begin + even * stride];
      return;
    }
    Complex<T> mean, detail;
    for (int t = 0; t < 4; ++t) {
      const std::int64_t at = 2 * k + t < even ? 2 * k + t : 2 * k + t - even;
      const Complex<T> value = in[begin + at * stride];
      mean += taps.h[t] * value;
      detail += (t % 2 == 0 ? taps.h[3 - t] : -taps.h[3 - t]) * value;
    }
    out[begin + k * stride] = mean;
    out[begin + (level.half() + k) * stride] = detail;
  }
};

/// The transpose of SplitAxis, which is its inverse.
template <class T>
struct JoinAxis {
  static constexpr const char* name = "joining means and details";
  WaveletAxis level;
  Daubechies<T> taps;
  const Complex<T>* in;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const WaveletPair pair(level, i);
    const std::int64_t k = pair.k, before = k == 0 ? pair.pairs - 1 : k - 1, stride = pair.stride,
                       begin = pair.begin;
    if (pair.is_alone()) {
      out[begin + 2 * k * stride] = in[begin + k * stride];
      return;
    }
    const Complex<T>* means = in + begin;
    const Complex<T>* details = means + level.half() * stride;
    const Complex<T> a0 = means[k * stride], a1 = means[before * stride], d0 = details[k * stride],
                     d1 = details[before * stride];
    const T* h = taps.h;
    out[begin + 2 * k * stride] = h[0] * a0 + h[2] * a1 + h[3] * d0 + h[1] * d1;
    out[begin + (2 * k + 1) * stride] = h[1] * a0 + h[3] * a1 + (-h[2]) * d0 + (-h[0]) * d1;
  }
};

/// out = in within the corner.
template <class T>
struct CopyCorner {
  static constexpr const char* name = "copying means";
  std::int64_t n[3], extent[3];
  const Complex<T>* in;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t at = WaveletPlace(i, extent).offset(n);
    out[at] = in[at];
  }
};

/// Shifts along x, y, z of images that stand one behind the other.
struct WaveletShifts {
  std::int64_t of[most_wavelet_shifts][3];
};

/// shifted(s, p) = factor image(p + shift_s), periodic
template <class T>
struct ShiftImage {
  static constexpr const char* name = "shifting an image";
  std::int64_t n[3];
  WaveletShifts shifts;
  T factor;
  const Complex<T>* image;
  Complex<T>* shifted;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    WaveletPlace place(i, n);
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t at = place.position[axis] + shifts.of[place.image][axis];
      place.position[axis] = at < n[axis] ? at : at - n[axis];
    }
    place.image = 0;
    shifted[i] = factor * image[place.offset(n)];
  }
};

/// image(p) += factor sum over s of shifted(s, p - shift_s)
template <class T>
struct AddUnshifted {
  static constexpr const char* name = "adding shifted images";
  std::int64_t n[3];
  WaveletShifts shifts;
  int count;
  T factor;
  const Complex<T>* shifted;
  Complex<T>* image;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    Complex<T> sum;
    for (int s = 0; s < count; ++s) {
      WaveletPlace place(i, n);
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t at = place.position[axis] - shifts.of[s][axis];
        place.position[axis] = at >= 0 ? at : at + n[axis];
      }
      place.image = s;
      sum += shifted[place.offset(n)];
    }
    image[i] += factor * sum;
  }
};

/// Details are shortened by the threshold; the means, in the corner, stay.
template <class T>
struct ShrinkDetails {
  static constexpr const char* name = "shrinking wavelet coefficients";
  std::int64_t n[3], means[3];
  T threshold;
  Complex<T>* coefficients;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const WaveletPlace place(i, n);
    if (place.position[0] < means[0] && place.position[1] < means[1] && place.position[2] < means[2]) return;
    const T magnitude = std::sqrt(norm(coefficients[i]));
    coefficients[i] *= magnitude > threshold ? 1 - threshold / magnitude : T(0);
  }
};

/// roots(p) = sqrt(sum over images of |detail(p)|), so that |roots|^2 is the sum of them all.
template <class T>
struct RootsOfDetails {
  static constexpr const char* name = "summing wavelet coefficients";
  std::int64_t n[3], means[3];
  int images;
  const Complex<T>* coefficients;
  Complex<T>* roots;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const WaveletPlace place(i, n);
    T sum = 0;
    if (!(place.position[0] < means[0] && place.position[1] < means[1] && place.position[2] < means[2]))
      for (int s = 0; s < images; ++s) sum += std::sqrt(norm(coefficients[i + s * n[0] * n[1] * n[2]]));
    roots[i] = std::sqrt(sum);
  }
};

}  // namespace fhd

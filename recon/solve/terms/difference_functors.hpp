#pragma once
// Differences between voxels and between frames, and what terms make of them, for the loop of pointwise.hpp: an index is a
// voxel p, or one of a frame. Planes of vectors are [axis][z][y][x], those of symmetric matrices first the diagonal, then
// xy, xz, yz times sqrt(2), so that the norm of the plane values is that of the matrix. Floor: each array in and out once;
// neighbours come from the caches.
#include <cmath>

#include "recon/array/pointwise.hpp"

namespace fhd {

/// (W^H W rho)(p) = sum over axes of w(p) (rho(p) - rho(p+1)) + w(p-1) (rho(p) - rho(p-1)), neighbours outside the
/// image left out. `weights` is [axis][z][y][x], or null for w = 1.
template <class T>
FHD_HOST_DEVICE inline Complex<T> roughness_at(const Complex<T>* rho, const T* weights,
                                               const std::int64_t n[3], std::int64_t p) {
  const std::int64_t position[3] = {p % n[0], p / n[0] % n[1], p / (n[0] * n[1])};
  const std::int64_t stride[3] = {1, n[0], n[0] * n[1]}, voxels = n[0] * n[1] * n[2];
  Complex<T> sum;
  for (int axis = 0; axis < 3; ++axis) {
    if (position[axis] + 1 < n[axis]) {
      const T w = weights != nullptr ? weights[axis * voxels + p] : T(1);
      sum += w * (rho[p] - rho[p + stride[axis]]);
    }
    if (position[axis] > 0) {
      const T w = weights != nullptr ? weights[axis * voxels + p - stride[axis]] : T(1);
      sum += w * (rho[p] - rho[p - stride[axis]]);
    }
  }
  return sum;
}

/// out(p) += factor (W^H W in)(p)
template <class T>
struct AddRoughness {
  static constexpr const char* name = "adding the roughness";
  const Complex<T>* in;
  T factor;
  const T* weights;
  std::int64_t n[3];  // x, y, z
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    out[p] += factor * roughness_at(in, weights, n, p);
  }
};

/// out(p) += factor w(p) in(p)
template <class T>
struct AddWeighted {
  static constexpr const char* name = "adding a weighted image";
  const Complex<T>* in;
  T factor;
  const T* weights;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const { out[p] += factor * weights[p] * in[p]; }
};

/// The axes with more than one voxel.
struct DifferenceAxes {
  std::int64_t n[3], stride[3], voxels;  ///< of these axes
  int count = 0;

  /// n: x, y, z
  explicit DifferenceAxes(const std::int64_t size[3]) : voxels(size[0] * size[1] * size[2]) {
    const std::int64_t strides[3] = {1, size[0], size[0] * size[1]};
    for (int axis = 0; axis < 3; ++axis)
      if (size[axis] > 1) n[count] = size[axis], stride[count++] = strides[axis];
  }
  int pairs() const { return count * (count - 1) / 2; }
  /// Where the value of axes a != b stands among the planes of symmetric matrices.
  FHD_HOST_DEVICE std::int64_t matrix_plane(int a, int b) const { return (count + a + b - 1) * voxels; }
};

/// Share that E has of each D'_b v_a off the diagonal: a half, times sqrt(2).
template <class T>
inline constexpr T off_diagonal = T(0.70710678118654752);

/// A voxel and its neighbours: differences of values there, and the transposes of these. Indices are below 2^32
/// (sparse_term): divisions of 32 bits take half of the time.
struct DifferencesAt {
  std::int64_t p, stride[3];
  bool is_first[3], is_last[3];

  FHD_HOST_DEVICE DifferencesAt(const DifferenceAxes& axes, std::int64_t voxel) : p(voxel) {
    auto left = static_cast<std::uint32_t>(voxel);
    for (int axis = 0; axis < axes.count; ++axis) {
      const auto n = static_cast<std::uint32_t>(axes.n[axis]), position = left % n;
      left /= n;
      stride[axis] = axes.stride[axis];
      is_first[axis] = position == 0, is_last[axis] = position + 1 == n;
    }
  }
  /// values(p + 1) - values(p), 0 at the end.
  template <class T>
  FHD_HOST_DEVICE Complex<T> forward(int axis, const Complex<T>* values) const {
    return is_last[axis] ? Complex<T>() : values[p + stride[axis]] - values[p];
  }
  template <class T>
  FHD_HOST_DEVICE Complex<T> forward_transposed(int axis, const Complex<T>* values) const {
    Complex<T> sum;
    if (!is_first[axis]) sum += values[p - stride[axis]];
    if (!is_last[axis]) sum -= values[p];
    return sum;
  }
  /// values(p) - values(p - 1), 0 at the beginning.
  template <class T>
  FHD_HOST_DEVICE Complex<T> backward(int axis, const Complex<T>* values) const {
    return is_first[axis] ? Complex<T>() : values[p] - values[p - stride[axis]];
  }
  template <class T>
  FHD_HOST_DEVICE Complex<T> backward_transposed(int axis, const Complex<T>* values) const {
    Complex<T> sum;
    if (!is_first[axis]) sum += values[p];
    if (!is_last[axis]) sum -= values[p + stride[axis]];
    return sum;
  }
};

/// differences(a, p) = forward difference of the image along a, less slopes(a, p) where there are.
template <class T>
struct TakeGradient {
  static constexpr const char* name = "taking differences";
  DifferenceAxes axes;
  const Complex<T>*image, *slopes;  ///< slopes: null: none
  Complex<T>* differences;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const DifferencesAt at(axes, p);
    for (int a = 0; a < axes.count; ++a) {
      Complex<T> value = at.forward(a, image);
      if (slopes != nullptr) value -= slopes[a * axes.voxels + p];
      differences[a * axes.voxels + p] = value;
    }
  }
};

/// The transpose: image(p) += factor sum over a of D_a^T differences, slopes(a, p) -= factor differences(a, p).
template <class T>
struct AddGradientTransposed {
  static constexpr const char* name = "adding differences";
  DifferenceAxes axes;
  T factor;
  const Complex<T>* differences;
  Complex<T>*image, *slopes;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const DifferencesAt at(axes, p);
    Complex<T> sum;
    for (int a = 0; a < axes.count; ++a) {
      sum += at.forward_transposed(a, differences + a * axes.voxels);
      if (slopes != nullptr) slopes[a * axes.voxels + p] -= factor * differences[a * axes.voxels + p];
    }
    image[p] += factor * sum;
  }
};

/// matrices = E slopes: (D'_a v_b + D'_b v_a) / 2.
template <class T>
struct TakeSymmetricGradient {
  static constexpr const char* name = "taking differences of slopes";
  DifferenceAxes axes;
  const Complex<T>* slopes;
  Complex<T>* matrices;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const DifferencesAt at(axes, p);
    for (int a = 0; a < axes.count; ++a) {
      matrices[a * axes.voxels + p] = at.backward(a, slopes + a * axes.voxels);
      for (int b = a + 1; b < axes.count; ++b)
        matrices[axes.matrix_plane(a, b) + p] = off_diagonal<T> * (at.backward(a, slopes + b * axes.voxels) +
                                                                   at.backward(b, slopes + a * axes.voxels));
    }
  }
};

/// slopes += factor E^T matrices
template <class T>
struct AddSymmetricGradientTransposed {
  static constexpr const char* name = "adding differences of slopes";
  DifferenceAxes axes;
  T factor;
  const Complex<T>* matrices;
  Complex<T>* slopes;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const DifferencesAt at(axes, p);
    for (int a = 0; a < axes.count; ++a) {
      Complex<T> sum = at.backward_transposed(a, matrices + a * axes.voxels);
      for (int b = 0; b < axes.count; ++b)
        if (b != a) sum += off_diagonal<T> * at.backward_transposed(b, matrices + axes.matrix_plane(a, b));
      slopes[a * axes.voxels + p] += factor * sum;
    }
  }
};

/// The vector of all planes at p is shortened by the threshold.
template <class T>
struct ShrinkVectors {
  static constexpr const char* name = "shrinking vectors";
  std::int64_t voxels;
  int planes;
  T threshold;
  Complex<T>* values;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const T magnitude = std::sqrt(sum_of_squares(values, planes * voxels, voxels, p)),
            factor = magnitude > threshold ? 1 - threshold / magnitude : T(0);
    for (int a = 0; a < planes; ++a) values[a * voxels + p] *= factor;
  }
};

/// roots(p) = sqrt(|vector at p|), so that |roots|^2 is the sum of their lengths.
template <class T>
struct RootsOfVectors {
  static constexpr const char* name = "summing lengths of vectors";
  std::int64_t voxels;
  int planes;
  const Complex<T>* values;
  Complex<T>* roots;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    roots[p] = std::sqrt(std::sqrt(sum_of_squares(values, planes * voxels, voxels, p)));
  }
};

// Between frames: i = frame voxels + p of `all`.

/// differences(t) = images(t + 1) - images(t), 0 of the last frame.
template <class T>
struct TakeTimeDifferences {
  static constexpr const char* name = "taking differences in time";
  std::int64_t voxels, all;
  const Complex<T>* images;
  Complex<T>* differences;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    differences[i] = i + voxels < all ? images[i + voxels] - images[i] : Complex<T>();
  }
};

/// The transpose: images(t) += factor (differences(t - 1) - differences(t)).
template <class T>
struct AddTimeDifferencesTransposed {
  static constexpr const char* name = "adding differences in time";
  std::int64_t voxels, all;
  T factor;
  const Complex<T>* differences;
  Complex<T>* images;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    Complex<T> sum;
    if (i >= voxels) sum += differences[i - voxels];
    if (i + voxels < all) sum -= differences[i];
    images[i] += factor * sum;
  }
};

/// Both, one after the other: out(t) += factor (2 in(t) - in(t - 1) - in(t + 1)), with one neighbour at the ends.
template <class T>
struct AddSecondTimeDifferences {
  static constexpr const char* name = "adding second differences in time";
  std::int64_t voxels, all;
  T factor;
  const Complex<T>* in;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    Complex<T> sum;
    if (i >= voxels) sum += in[i] - in[i - voxels];
    if (i + voxels < all) sum += in[i] - in[i + voxels];
    out[i] += factor * sum;
  }
};

}  // namespace fhd

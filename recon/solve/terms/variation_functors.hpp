#pragma once
// Differences between voxels, and what tv and tgv make of them, for the loop of pointwise.hpp: an index is a voxel p.
// Planes of vectors are [axis][z][y][x], those of symmetric matrices first the diagonal, then xy, xz, yz times sqrt(2), so
// that the norm of the plane values is that of the matrix. Floor: each plane in and out once; neighbours come from the
// caches.
#include "recon/array/pointwise.hpp"

namespace fhd {

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
  FHD_HOST_DEVICE std::int64_t position(int axis, std::int64_t p) const { return p / stride[axis] % n[axis]; }
  FHD_HOST_DEVICE bool is_first(int axis, std::int64_t p) const { return position(axis, p) == 0; }
  FHD_HOST_DEVICE bool is_last(int axis, std::int64_t p) const { return position(axis, p) + 1 == n[axis]; }
  int pairs() const { return count * (count - 1) / 2; }

  /// values(p + 1) - values(p), 0 at the end.
  template <class T>
  FHD_HOST_DEVICE Complex<T> forward(int axis, const Complex<T>* values, std::int64_t p) const {
    return is_last(axis, p) ? Complex<T>() : values[p + stride[axis]] - values[p];
  }
  /// The transpose of forward.
  template <class T>
  FHD_HOST_DEVICE Complex<T> forward_transposed(int axis, const Complex<T>* values, std::int64_t p) const {
    Complex<T> sum;
    if (!is_first(axis, p)) sum += values[p - stride[axis]];
    if (!is_last(axis, p)) sum -= values[p];
    return sum;
  }
  /// values(p) - values(p - 1), 0 at the beginning.
  template <class T>
  FHD_HOST_DEVICE Complex<T> backward(int axis, const Complex<T>* values, std::int64_t p) const {
    return is_first(axis, p) ? Complex<T>() : values[p] - values[p - stride[axis]];
  }
  template <class T>
  FHD_HOST_DEVICE Complex<T> backward_transposed(int axis, const Complex<T>* values, std::int64_t p) const {
    Complex<T> sum;
    if (!is_first(axis, p)) sum += values[p];
    if (!is_last(axis, p)) sum -= values[p + stride[axis]];
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
    for (int a = 0; a < axes.count; ++a) {
      Complex<T> value = axes.forward(a, image, p);
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
    Complex<T> sum;
    for (int a = 0; a < axes.count; ++a) {
      sum += axes.forward_transposed(a, differences + a * axes.voxels, p);
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
    const T root = T(0.70710678118654752);
    for (int a = 0; a < axes.count; ++a) {
      matrices[a * axes.voxels + p] = axes.backward(a, slopes + a * axes.voxels, p);
      for (int b = a + 1; b < axes.count; ++b)
        matrices[(axes.count + a + b - 1) * axes.voxels + p] =
            root * (axes.backward(a, slopes + b * axes.voxels, p) + axes.backward(b, slopes + a * axes.voxels, p));
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
    const T root = T(0.70710678118654752);
    for (int a = 0; a < axes.count; ++a) {
      Complex<T> sum = axes.backward_transposed(a, matrices + a * axes.voxels, p);
      for (int b = 0; b < axes.count; ++b)
        if (b != a)
          sum += root * axes.backward_transposed(b, matrices + (axes.count + a + b - 1) * axes.voxels, p);
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
    T square = 0;
    for (int a = 0; a < planes; ++a) square += norm(values[a * voxels + p]);
    const T magnitude = std::sqrt(square), factor = magnitude > threshold ? 1 - threshold / magnitude : T(0);
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
    T square = 0;
    for (int a = 0; a < planes; ++a) square += norm(values[a * voxels + p]);
    roots[p] = std::sqrt(std::sqrt(square));
  }
};

}  // namespace fhd

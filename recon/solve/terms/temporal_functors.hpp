#pragma once
// Differences from frame to frame, for the loop of pointwise.hpp: an index is a voxel of a frame, i = frame voxels + p of
// `all`. Floor: each array in and out once.
#include "recon/array/pointwise.hpp"

namespace fhd {

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

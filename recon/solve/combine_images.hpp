#pragma once
// Sums of the images of a stack, for the loop of pointwise.hpp.
#include "recon/array/array.hpp"
#include "recon/array/pointwise.hpp"

namespace fhd {

/// out(o) = sum_i weights(o, i) in(i). An index is a voxel of an image of `out`. Floor: out once, in once for each
/// of out.
template <class T>
struct CombineImages {
  static constexpr const char* name = "combining images";
  std::int64_t voxels, count;  ///< of an image; of images of `in`
  const T* weights;            ///< [image of out][image of in]
  const Complex<T>* in;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t o = i / voxels, p = i - o * voxels;
    Complex<T> sum;
    for (std::int64_t j = 0; j < count; ++j) sum += weights[o * count + j] * in[j * voxels + p];
    out[i] = sum;
  }
};

/// Combines stacks of images, one after the other, overwriting `out`; weights [image of out][image of in] on
/// their device.
template <class T>
void combine_images(const Array<T>& weights, const Array<Complex<T>>& in, Array<Complex<T>>& out);

}  // namespace fhd

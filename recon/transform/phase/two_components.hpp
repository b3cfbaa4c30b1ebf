#pragma once
// The sums of decay with two components, E = E_1 diag(f) + E_2 diag(1 - f): each component is a transform of its own with the
// same phases, so that there are twice the sines and cosines of one component. One pass over the pairs for both would need
// kernels of its own on every device.
#include <memory>

#include "recon/array/array.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// to(c, p) = g(p) from(c, p), or that much more where it `adds`; g is f of the first component and 1 - f of the second.
template <class T>
struct MultiplyByShare {
  static constexpr const char* name = "the share of a component of decay";
  const double* fraction;  ///< f, [voxel]
  const Complex<T>* from;  ///< [coil][voxel]
  std::int64_t size, voxels;
  bool is_second, adds;
  Complex<T>* to;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const T share = static_cast<T>(is_second ? 1 - fraction[p] : fraction[p]);
    for (std::int64_t i = p; i < size; i += voxels) to[i] = adds ? to[i] + share * from[i] : share * from[i];
  }
};

/// Returns the sum of two transforms of one device, of the shares `fraction` [voxel] and 1 - `fraction` of the images.
template <class T>
std::unique_ptr<FourierTransform<T>> sum_of_components(std::unique_ptr<FourierTransform<T>> first,
                                                       std::unique_ptr<FourierTransform<T>> second,
                                                       const Array<double>& fraction);

}  // namespace fhd

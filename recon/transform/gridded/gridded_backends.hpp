#pragma once
// The CPU and the CUDA side of gridded.hpp; what is of CUDA is not in a build without
// it.
#include <functional>
#include <memory>

#include "recon/array/pointwise.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory& trajectory,
                                                                 const GriddedCost& cost);

/// out = C in, [sample]: gridding and interpolation back, as density_compensation does with the gridding of
/// GriddedCost::of_density. One call at a time.
using Blur = std::function<void(const Array<Complex<float>>& in, Array<Complex<float>>& out)>;
Blur make_blur_cpu(const Trajectory& trajectory, const GriddedCost& cost);
Blur make_blur_cuda(const Trajectory& trajectory, const GriddedCost& cost);

/// w /= C w, which is above 0: every sample blurs onto itself.
struct UpdateWeights {
  static constexpr const char* name = "updating density compensation";
  Complex<float>* weights;
  const Complex<float>* blurred;
  FHD_HOST_DEVICE void operator()(std::int64_t m) const { weights[m].re /= blurred[m].re; }
};

}  // namespace fhd

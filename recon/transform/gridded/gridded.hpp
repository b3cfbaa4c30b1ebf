#pragma once
// The gridded transform beside its factory (transform.hpp): density compensation, and Q by gridding.
#include <functional>
#include <memory>

#include "recon/array/pointwise.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd {

/// Density compensation by the fixed-point iteration w <- w / (C w), C = gridding and interpolation back onto
/// the samples, from w = 1. Returned as [sample], scaled such that adjoint(w d) has the intensity of the
/// image: the sum of w over a fully sampled k-space is 1. The result lies in host memory. Source: Pipe and
/// Menon, MRM 41:179 (1999), eq. (6).
Array<double> density_compensation(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                   Device device = Device::cpu());

/// q of direct.hpp by a gridded adjoint transform onto the difference grid, to the requested accuracy.
template <class T>
Array<Complex<T>> point_spread_gridded(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                       const Array<double>* weights, double accuracy, Device device,
                                       GriddingChoice choice = GriddingChoice::fastest);

// --- The CPU and the CUDA side; what is of CUDA is not in a build without it ---

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

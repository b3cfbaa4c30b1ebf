#include "recon/transform/gridded/gridded.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_backends.hpp"
#include "recon/transform/direct/tiles.hpp"

namespace fhd {
namespace {

/// q with its centre in the middle, [1][z][y][x], on the device.
template <class T>
Array<Complex<T>> centred_point_spread(const Trajectory& trajectory, std::array<int, 3> grid,
                                       const Array<double>* weights, double accuracy, Device device,
                                       GriddingChoice choice) {
  // k . n / N with n = -N ... N-1 is (2 k) . n / (2 N): a trajectory of twice the extent on twice the matrix.
  Trajectory doubled{trajectory.k};
  for (auto& k : doubled.k) k *= 2;
  const auto transform = make_gridded_transform<T>(doubled, grid, accuracy, device, choice);
  Array<Complex<T>> ones(transform->samples_shape(1));
  for (std::int64_t m = 0; m < ones.size(); ++m)
    ones[m] = weights != nullptr ? static_cast<T>((*weights)[m]) : T(1);
  if (device.is_cuda()) ones = ones.to(device);
  Array<Complex<T>> centred(transform->images_shape(1), device);
  transform->adjoint(ones, centred);
  return centred;
}

/// C w = 1 means a density of w of 1 / A per grid point, A = integral of the kernel of C = (phi^(0))^2 per axis; an image
/// of the right intensity needs the density 1 / (points of the grid), that is 1 / (voxels) per (cycle/FOV)^d.
double scale_of_density(const GriddedCost& cost) {
  double scale = 1;
  for (const std::int64_t points : cost.gridding().grid)
    if (points > 1) scale *= std::pow(cost.gridding().kernel.transform(0), 2) / static_cast<double>(points);
  return scale;
}

}  // namespace

Array<double> density_compensation(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                   Device device) {
  require_trajectory(trajectory);
  const std::int64_t samples = trajectory.sample_count();
  const auto cost = GriddedCost::of_density({matrix_size, {samples}, Precision::single_precision, device});
  Blur blur;
  if (device.is_cpu())
    blur = make_blur_cpu(trajectory, cost);
  else if constexpr (built_with_cuda)
    blur = make_blur_cuda(trajectory, cost);
  else
    refuse_cuda();
  Array<Complex<float>> weights(Shape{samples}), blurred(Shape{samples}, device);
  std::fill(weights.begin(), weights.end(), 1.0f);
  if (device.is_cuda()) weights = weights.to(device);
  for (int iteration = 0; iteration < density_iterations; ++iteration) {
    blur(weights, blurred);
    for_each_index(device, samples, UpdateWeights{weights.data(), blurred.data()});
  }
  if (device.is_cuda()) weights = weights.to(Device::cpu());
  const double scale = scale_of_density(cost);
  Array<double> result(Shape{samples});
  for (std::int64_t m = 0; m < samples; ++m) result[m] = scale * weights[m].re;
  return result;
}

template <class T>
Array<Complex<T>> point_spread_gridded(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                       const Array<double>* weights, double accuracy, Device device,
                                       GriddingChoice choice) {
  require_trajectory(trajectory);
  if (weights != nullptr) require_shape(*weights, {trajectory.sample_count()}, "weights");
  const auto grid = difference_grid(matrix_size);
  const auto centred = centred_point_spread<T>(trajectory, grid, weights, accuracy, device, choice);
  return periodic_point_spread(centred, image_grid(grid), matrix_size);
}

#define FHD_INSTANTIATE(T)                                                                  \
  template Array<Complex<T>> point_spread_gridded<T>(const Trajectory&, std::array<int, 3>, \
                                                     const Array<double>*, double, Device, GriddingChoice);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

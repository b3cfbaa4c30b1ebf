#include "recon/transform/gridded/gridded.hpp"

#include <cmath>
#include <string>

#include "recon/transform/direct/direct.hpp"
#include "recon/transform/gridded/gridded_cpu.hpp"
#include "recon/transform/gridded/gridded_cuda.hpp"

namespace fhd {
namespace {

void require_trajectory(const Trajectory& trajectory) {
  if (trajectory.k.shape().rank() != 2 || trajectory.k.extent(0) != 3 || trajectory.sample_count() < 1)
    throw Error("trajectory", "[3][sample] with at least one sample", trajectory.k.shape().text());
}

TransformSizes sizes_of(const Trajectory& trajectory, std::array<int, 3> matrix_size, Precision precision,
                        Device device) {
  const std::int64_t samples = trajectory.sample_count();
  return {matrix_size, {samples, samples, samples}, precision, device};
}

/// q with its centre in the middle, [1][z][y][x], on the device.
template <class T>
Array<Complex<T>> centred_point_spread(const Trajectory& trajectory, std::array<int, 3> grid,
                                       const Array<double>* weights, double accuracy, Device device) {
  // k . n / N with n = -N ... N-1 is (2 k) . n / (2 N): a trajectory of twice the extent on twice the matrix.
  Trajectory doubled{trajectory.k};
  for (auto& k : doubled.k) k *= 2;
  const auto transform = make_gridded_transform<T>(doubled, grid, accuracy, device);
  Array<Complex<T>> ones(transform->samples_shape(1));
  for (std::int64_t m = 0; m < ones.size(); ++m)
    ones[m] = weights != nullptr ? static_cast<T>((*weights)[m]) : T(1);
  if (device.is_cuda()) ones = ones.to(device);
  Array<Complex<T>> centred(transform->images_shape(1), device);
  transform->adjoint(ones, centred);
  return centred;
}

template <class T>
Array<Complex<T>> periodic_point_spread(const Array<Complex<T>>& centred, std::array<int, 3> matrix_size) {
  const auto grid = difference_grid(matrix_size);
  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]});
  for (int z = 0; z < grid[2]; ++z)
    for (int y = 0; y < grid[1]; ++y)
      for (int x = 0; x < grid[0]; ++x) {
        const int n[3] = {x - grid[0] / 2, y - grid[1] / 2, z - grid[2] / 2};
        std::int64_t at = 0;
        bool reached = true;
        for (int axis = 2; axis >= 0; --axis) {
          reached = reached && n[axis] > -matrix_size[axis];
          at = at * grid[axis] + (n[axis] + grid[axis]) % grid[axis];
        }
        if (reached) q[at] = centred[(std::int64_t{z} * grid[1] + y) * grid[0] + x];
      }
  return q;
}

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform(const Trajectory& trajectory,
                                                            std::array<int, 3> matrix_size, double accuracy,
                                                            Device device) {
  require_trajectory(trajectory);
  constexpr double floor = sizeof(T) == 4 ? 1e-6 : 1e-12;
  if (!(accuracy >= floor && accuracy <= 0.1))
    throw Error("settings.accuracy",
                sizeof(T) == 4 ? "1e-6 ... 0.1 in single precision" : "1e-12 ... 0.1 in double precision",
                std::to_string(accuracy), "use settings.transform = direct or settings.precision = double");
  const GriddedCost cost(sizes_of(trajectory, matrix_size, precision_of<T>(), device), accuracy);
  if (device.is_cpu()) return make_gridded_transform_cpu<T>(trajectory, cost);
  if constexpr (built_with_cuda) return make_gridded_transform_cuda<T>(trajectory, cost);
  refuse_cuda();
}

Array<double> density_compensation(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                   Device device, int iterations) {
  require_trajectory(trajectory);
  const auto cost =
      GriddedCost::of_density(sizes_of(trajectory, matrix_size, Precision::single_precision, device));
  const auto fixed_point = [&] {
    if (device.is_cpu()) return density_fixed_point_cpu(trajectory, cost, iterations);
    if constexpr (built_with_cuda) return density_fixed_point_cuda(trajectory, cost, iterations);
    refuse_cuda();
  };
  const Array<float> weights = fixed_point();
  // C w = 1 means a density of w of 1 / A per grid point, A = integral of the kernel of C = (phi^(0))^2 per
  // axis; an image of the right intensity needs the density 1 / (points of the grid), that is 1 / (voxels)
  // per (cycle/FOV)^d.
  double scale = 1;
  for (const std::int64_t points : cost.gridding().grid)
    if (points > 1) scale *= std::pow(cost.gridding().kernel.transform(0), 2) / static_cast<double>(points);
  Array<double> result(Shape{weights.size()});
  for (std::int64_t m = 0; m < weights.size(); ++m) result[m] = scale * weights[m];
  return result;
}

template <class T>
Array<Complex<T>> point_spread_gridded(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                       const Array<double>* weights, double accuracy, Device device) {
  require_trajectory(trajectory);
  if (weights != nullptr) require_shape(*weights, {trajectory.sample_count()}, "weights");
  const auto centred =
      centred_point_spread<T>(trajectory, difference_grid(matrix_size), weights, accuracy, device);
  if (device.is_cpu()) return periodic_point_spread(centred, matrix_size);
  if constexpr (built_with_cuda) return periodic_point_spread_cuda(centred, matrix_size);
  refuse_cuda();
}

#define FHD_INSTANTIATE(T)                                                                  \
  template std::unique_ptr<FourierTransform<T>> make_gridded_transform<T>(                  \
      const Trajectory&, std::array<int, 3>, double, Device);                               \
  template Array<Complex<T>> point_spread_gridded<T>(const Trajectory&, std::array<int, 3>, \
                                                     const Array<double>*, double, Device);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

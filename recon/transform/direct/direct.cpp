#include "recon/transform/direct/direct.hpp"

#include <algorithm>

#include "recon/transform/direct/direct_backends.hpp"

namespace fhd {
namespace {

void require_sizes(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  require_trajectory(trajectory);
  for (int n : matrix_size)
    if (n < 1) throw Error("matrix size", "at least 1 voxel per axis", std::to_string(n));
}

}  // namespace

std::array<int, 3> difference_grid(std::array<int, 3> matrix_size) {
  for (int& n : matrix_size) n = n == 1 ? 1 : 2 * n;
  return matrix_size;
}

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform(const Trajectory& trajectory,
                                                           std::array<int, 3> matrix_size, Device device,
                                                           DirectChoice choice) {
  require_sizes(trajectory, matrix_size);
  if (device.is_cpu()) return make_direct_transform_cpu<T>(trajectory, matrix_size);
  if constexpr (built_with_cuda)
    return make_direct_transform_cuda<T>(trajectory, matrix_size, device, choice);
  refuse_cuda();
}

template <class T>
Array<Complex<T>> point_spread_direct(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const Array<double>* weights, Device device, DirectChoice choice) {
  require_sizes(trajectory, matrix_size);
  if (weights != nullptr) require_shape(*weights, {trajectory.sample_count()}, "weights");
  if (device.is_cpu()) return point_spread_direct_cpu<T>(trajectory, matrix_size, weights);
  if constexpr (built_with_cuda)
    return point_spread_direct_cuda<T>(trajectory, matrix_size, weights, device, choice);
  refuse_cuda();
}

template <class T>
Array<Complex<T>> periodic_point_spread(const Array<Complex<T>>& values, const VoxelGrid& part,
                                        std::array<int, 3> matrix_size) {
  const auto grid = difference_grid(matrix_size);
  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]}, values.device());
  UnfoldPointSpread<T> unfold{q.data(), values.data(), part, {}};
  std::copy(matrix_size.begin(), matrix_size.end(), unfold.matrix_size);
  for_each_index(q.device(), q.size(), unfold);
  return q;
}

#define FHD_INSTANTIATE(T)                                                                        \
  template std::unique_ptr<FourierTransform<T>> make_direct_transform<T>(                         \
      const Trajectory&, std::array<int, 3>, Device, DirectChoice);                               \
  template Array<Complex<T>> point_spread_direct<T>(const Trajectory&, std::array<int, 3>,        \
                                                    const Array<double>*, Device, DirectChoice);  \
  template Array<Complex<T>> periodic_point_spread<T>(const Array<Complex<T>>&, const VoxelGrid&, \
                                                      std::array<int, 3>);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

#include "recon/transform/direct/direct.hpp"

#include "recon/transform/direct/direct_cpu.hpp"
#include "recon/transform/direct/direct_cuda.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {
namespace {

void require_trajectory(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  if (trajectory.k.shape().rank() != 2 || trajectory.k.extent(0) != 3 || trajectory.sample_count() < 1)
    throw Error("trajectory", "[3][sample] with at least one sample", trajectory.k.shape().text());
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
                                                           SinCos sin_cos) {
  require_trajectory(trajectory, matrix_size);
  if (device.is_cpu()) return make_direct_transform_cpu<T>(trajectory, matrix_size);
  if constexpr (built_with_cuda)
    return make_direct_transform_cuda<T>(trajectory, matrix_size, device, sin_cos);
  refuse_cuda();
}

template <class T>
Array<Complex<T>> point_spread_direct(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const Array<double>* weights, Device device, SinCos sin_cos) {
  require_trajectory(trajectory, matrix_size);
  if (device.is_cpu()) return point_spread_direct_cpu<T>(trajectory, matrix_size, weights);
  if constexpr (built_with_cuda)
    return point_spread_direct_cuda<T>(trajectory, matrix_size, weights, device, sin_cos);
  refuse_cuda();
}

#define FHD_INSTANTIATE(T)                                                                 \
  template std::unique_ptr<FourierTransform<T>> make_direct_transform<T>(                  \
      const Trajectory&, std::array<int, 3>, Device, SinCos);                              \
  template Array<Complex<T>> point_spread_direct<T>(const Trajectory&, std::array<int, 3>, \
                                                    const Array<double>*, Device, SinCos);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

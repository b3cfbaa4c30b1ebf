#pragma once
// The direct sums as products of matrices, on the device that is current: matrix_sums_cuda.cu. Named only inside
// `if constexpr (built_with_cuda)`.
#include <array>
#include <cstdint>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/direct/matrix_plan.hpp"

namespace fhd::matrix_sums {

/// One trajectory and one grid. Its workspace grows with the coils of a call and is kept: one call at a time. T is float or
/// double.
template <class T>
class MatrixSums {
 public:
  /// `matrix_size` as in r = n / N; `device` is current; Parts::whole for double.
  MatrixSums(const Trajectory& trajectory, std::array<int, 3> matrix_size, const VoxelGrid& grid,
             Device device, Parts parts);
  /// data [coil][sample] -> values [coil][z][y][x] of the grid, both on the device.
  void adjoint(const Complex<T>* data, std::int64_t coils, Complex<T>* values);
  /// values [coil][z][y][x] of the grid -> data [coil][sample].
  void forward(const Complex<T>* values, std::int64_t coils, Complex<T>* data);

 private:
  VoxelGrid grid_;
  std::int64_t samples_;
  Device device_;
  Parts parts_;
  bool has_hopper_code_;
  Array<Phase<T>> half_voxel_;  ///< phases [axis][sample]
  Array<float> scale_;          ///< [coil], after the largest values
  Array<unsigned char> workspace_;
};

}  // namespace fhd::matrix_sums

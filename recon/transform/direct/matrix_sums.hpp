#pragma once
// The direct sums as products of matrices, on the device that is current: matrix_sums_cuda.cu. Named only inside
// `if constexpr (built_with_cuda)`.
#include <array>
#include <cstdint>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/direct/direct_backends.hpp"
#include "recon/transform/direct/matrix_plan.hpp"

namespace fhd::matrix_sums {

/// One trajectory and one grid. Its workspace grows with the coils of a call and is kept: one call at a time.
class MatrixSums {
 public:
  /// `matrix_size` as in r = n / N; `device` is current.
  MatrixSums(const Trajectory& trajectory, std::array<int, 3> matrix_size, const VoxelGrid& grid,
             Device device, Parts parts);
  /// data [coil][sample] -> values [coil][z][y][x] of the grid, both on the device.
  void adjoint(const Complex<float>* data, std::int64_t coils, Complex<float>* values);
  /// values [coil][z][y][x] of the grid -> data [coil][sample].
  void forward(const Complex<float>* values, std::int64_t coils, Complex<float>* data);
  /// Of the kernel that multiplies on the current device.
  static DirectKernelUse kernel_use(Parts parts, bool forward);

 private:
  PlanSizes sizes_for(std::int64_t coils) const;
  template <Parts parts>
  void adjoint_pass(const AdjointPlan& plan, const float2* data, std::int64_t coils, float2* values);
  template <Parts parts>
  void forward_pass(const ForwardPlan& plan, const float2* values, std::int64_t coils, float2* data);
  /// Scales of the coils' largest values, on the device.
  const float* scales(const float2* values, std::int64_t coils, std::int64_t size);

  VoxelGrid grid_;
  std::int64_t samples_;
  Device device_;
  Parts parts_;
  bool has_hopper_code_;
  Array<std::uint32_t> half_voxel_;  ///< phases [axis][sample]
  Array<float> scale_;               ///< [coil], after the largest values
  Array<unsigned char> workspace_;
};

}  // namespace fhd::matrix_sums

#pragma once
// The two sides of make_phase_transform and what they cost; phase.cpp checks the terms and chooses the device.
#include "recon/transform/phase/phase.hpp"

namespace fhd {

/// Returns those of values [voxel] or [term][voxel] that are summed: all if there are no numbers.
Array<double> summed_of(const Array<double>& values, const std::vector<std::int64_t>& voxels);
/// Returns the matrix of the images that the sums take: one line of the voxels that are summed, or all.
std::array<int, 3> summed_matrix(const PhaseTerms& terms, std::array<int, 3> matrix_size);

/// Every voxel of the terms is summed.
template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform_cpu(const PhaseTerms& terms,
                                                              std::array<int, 3> matrix_size);
/// Makes the transform of summed_matrix. Not in a build without CUDA.
template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform_cuda(const PhaseTerms& terms,
                                                               std::array<int, 3> matrix_size, Device device,
                                                               GpuSums choice);

/// On the CPU a thread sums so many targets and coils over so many sources at a time: their factors and sums stay in its cache.
inline constexpr int phase_cpu_chunk = 256, phase_cpu_targets = 128;
inline constexpr std::int64_t phase_cpu_coils = 64;
/// Bytes of a thread for a coil: values of a chunk, sums of a tile of 16, totals of a group.
inline double phase_cpu_bytes_of_coil(double element) {
  return (phase_cpu_chunk + 16) * element + phase_cpu_targets * 2.0 * sizeof(double);
}

/// On a device the sources are summed in parts side by side where targets are few: each a multiple of phase_part_unit, their
/// number by the sizes and the device alone.
inline constexpr std::int64_t phase_part_unit = 2048;
std::int64_t phase_parts(std::int64_t targets, std::int64_t sources, Device device);

/// The work and the bytes of the phase sums, which hold `bytes_of_item` for each voxel and sample.
class PhaseCost final : public TransformCost {
 public:
  PhaseCost(const TransformSizes& sizes, double bytes_of_item)
      : sizes_(sizes), bytes_of_item_(bytes_of_item) {}
  /// Every factor is read and written once.
  Work making() const override { return Work(WorkUnit::byte, 2 * factor_bytes()); }
  Work forward(std::int64_t coils) const override;
  Work adjoint(std::int64_t coils) const override { return forward(coils); }
  std::size_t bytes() const override { return whole_bytes(factor_bytes()); }
  std::size_t scratch_bytes(std::int64_t coils) const override;
  double accuracy() const override { return sizes_.precision == Precision::single_precision ? 5e-6 : 1e-12; }
  /// Throws Error: phases of any form have no point spread.
  Work point_spread() const override;
  std::size_t point_spread_scratch_bytes() const override { return 0; }

 private:
  double voxels() const;
  double factor_bytes() const;

  TransformSizes sizes_;
  double bytes_of_item_;
};

}  // namespace fhd

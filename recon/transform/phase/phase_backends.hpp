#pragma once
// The two sides of make_phase_transform and what they cost; phase.cpp checks the terms and chooses the device.
#include "recon/transform/phase/phase.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform_cpu(const PhaseTerms& terms,
                                                              std::array<int, 3> matrix_size);
/// Not in a build without CUDA.
template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform_cuda(const PhaseTerms& terms,
                                                               std::array<int, 3> matrix_size, Device device,
                                                               GpuSums choice);

/// The work and the bytes of the phase sums, from sizes alone.
class PhaseCost final : public TransformCost {
 public:
  PhaseCost(const TransformSizes& sizes, std::int64_t terms, bool decays)
      : sizes_(sizes), terms_(static_cast<double>(terms)), decays_(decays) {}
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
  double terms_;
  bool decays_;
};

}  // namespace fhd

#pragma once
// The cost and the bytes of direct sums: the rules of direct_cpu.cpp and direct_cuda.cu, from sizes alone.
#include <algorithm>
#include <optional>
#include <string>

#include "recon/domain/scan.hpp"
#include "recon/transform/direct/separable.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// Sorts the samples as the direct adjoint on the CPU does.
SampleCount count_samples(const Trajectory& trajectory);

/// Coils that the CPU sums together: their sums stay below 256 MiB.
inline std::int64_t direct_coils_at_once(std::int64_t image_bytes) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 28) / image_bytes, 1, 64);
}

/// Error that direct sums promise, against double precision (single: N <= 256).
constexpr double direct_accuracy(Precision precision) {
  return precision == Precision::single_precision ? 3e-5 : 1e-12;
}

/// How direct sums over a grid are taken, where DirectChoice leaves it open.
struct DirectWay {
  std::optional<matrix_sums::Parts> matrices;  ///< products of matrices on a GPU; else pair by pair
  SinCos sin_cos = SinCos::fast;               ///< of single precision on a GPU, pair by pair
  /// Relative l2 error that is promised.
  double accuracy(Precision precision) const;
  /// Names what decides the digits: "fast", "accurate", "in 1 part", "in 2 parts".
  std::string text() const;
};
/// Returns whether tensor cores may take the sums on a GPU, as far as the grid does not decide.
bool suits_tensor_cores(DirectChoice choice, Precision precision);
DirectWay direct_way(DirectChoice choice, const VoxelGrid& grid, Precision precision, Device device);
/// Returns the way of the sums of q.
DirectWay direct_way_of_point_spread(DirectChoice choice, std::array<int, 3> matrix_size, Precision precision,
                                     Device device);

class DirectCost final : public TransformCost {
 public:
  explicit DirectCost(const TransformSizes& sizes, DirectChoice choice = {});
  Work making() const override;
  Work forward(std::int64_t coils) const override;
  Work adjoint(std::int64_t coils) const override;
  std::size_t bytes() const override;
  /// On the CPU made by the first call and kept.
  std::size_t scratch_bytes(std::int64_t coils) const override;
  double accuracy() const override { return way_.accuracy(sizes_.precision); }
  Work point_spread() const override;
  std::size_t point_spread_scratch_bytes() const override;

 private:
  double padded(double row_length) const;
  Work adjoint_of(double rows, double row_length) const;
  double groups_bytes() const;
  double sums_bytes(double nx, double ny, double nz, double rows, double coils, bool forward) const;

  /// Bytes of the sums over a grid on a GPU that are held, and that a call for so many coils takes beside: the adjoint, or
  /// the larger of both.
  double device_bytes(const VoxelGrid& grid, const DirectWay& way) const;
  double device_scratch_bytes(const VoxelGrid& grid, const DirectWay& way, std::int64_t coils,
                              bool forward) const;

  TransformSizes sizes_;
  DirectWay way_, point_spread_way_;
  double nx_, ny_, nz_, all_, x_, xy_;  ///< voxels; samples, of which differ
  double element_;                      ///< bytes of a complex number
  int lanes_ = 1, tile_rows_ = 1;       ///< of the CPU's kernels
};

}  // namespace fhd

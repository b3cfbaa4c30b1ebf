#pragma once
// How direct sums by products of matrices are taken on a device, from sizes alone: the one rule of matrix_sums_cuda.cu and of
// what it takes of memory.
#include <cstddef>
#include <cstdint>

#include "recon/array/device.hpp"
#include "recon/transform/direct/separable.hpp"

namespace fhd::matrix_sums {

/// The sizes that decide a plan, beside the grid.
struct PlanSizes {
  std::int64_t samples = 1, coils = 1;
  Parts parts = Parts::two;
  int multiprocessors = 1;
  std::size_t shared_bytes = 0;  ///< of memory that a block of threads may share
};
PlanSizes plan_sizes(std::int64_t samples, std::int64_t coils, Parts parts, Device device);

/// The adjoint: coils and samples in passes, a pass in `splits` shares of its samples side by side.
struct AdjointPlan {
  SeparableGrid cut;
  std::int64_t coils = 1;   ///< of a pass
  std::int64_t blocks = 1;  ///< of 64 samples, of a pass
  int splits = 1;
  // Where they begin in the workspace, and its bytes: factors of both axes, moving matrix, sums of the splits.
  std::size_t factors[2]{}, images = 0, partial = 0, bytes = 0;
};
AdjointPlan adjoint_plan(const VoxelGrid& grid, const PlanSizes& sizes);

/// The forward sum: coils and tiles of rows in passes, a pass in `splits` shares of its tiles side by side.
struct ForwardPlan {
  RowGrid cut;
  std::int64_t coils = 1;  ///< of a pass
  std::int64_t tiles = 1;  ///< of a pass, of each coil
  int splits = 1;
  std::size_t images = 0, partial = 0, bytes = 0;  ///< as above
};
/// Samples to a block of threads: with Hopper's instructions, and without.
inline constexpr int forward_hopper_rows = 256, forward_rows = 128;
ForwardPlan forward_plan(const VoxelGrid& grid, const PlanSizes& sizes);

/// Products of a sample with a computed point, of all parts, for one image.
double adjoint_products(const VoxelGrid& grid, std::int64_t samples, Parts parts);
double forward_products(const VoxelGrid& grid, std::int64_t samples, Parts parts);

}  // namespace fhd::matrix_sums

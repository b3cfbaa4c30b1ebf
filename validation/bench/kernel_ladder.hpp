#pragma once
// The lessons of the direct kernels, one rung each, verified before they are timed: from one thread per voxel
// that reads its scan points from global memory to the kernels of recon/. Only in builds with
// CUDA: named inside `if constexpr (built_with_cuda)`.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fhd {

/// The limits of the device, measured by kernels that do nothing else.
struct Ceilings {
  std::string device;
  double special_functions_per_s = 0;  ///< sin, cos, 1/x ... of the special-function units
  double multiply_adds_per_s = 0;      ///< single precision
  double copy_bytes_per_s = 0;         ///< read + written, device memory
  /// Pairs/s of a kernel that takes one sin and one cos per pair.
  double special_function_pairs_per_s() const { return special_functions_per_s / 2; }
};
Ceilings measure_ceilings();

struct LadderSettings {
  std::array<int, 3> matrix_size{128, 128, 128};
  std::int64_t sample_count = 262144;
  int repeats = 3;    ///< the median is reported
  bool sweep = true;  ///< block and tile sizes of the constant-memory rung too
};

struct Rung {
  std::string name;  ///< what this rung adds to the one before
  int coils = 1;
  int block_size = 0, tile_points = 0;  ///< tile_points: 0 without a tile, or chosen by recon/
  double ms = 0;                        ///< of one transform of all coils
  double pairs_per_s = 0;               ///< voxels x samples x coils / time
  double share_of_ceiling = 0;  ///< pairs_per_s / special_function_pairs_per_s; > 1: shares sin and cos
  int registers = 0;            ///< per thread
  double error = 0;             ///< relative l2 against double, over a random choice of the results
};

/// Random samples in all of k-space, random data. Throws Error when a rung's error is above 1e-3: then it is
/// wrong, not slow.
std::vector<Rung> run_kernel_ladder(const LadderSettings& settings, const Ceilings& ceilings);

}  // namespace fhd

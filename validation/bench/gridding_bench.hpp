#pragma once
// Speed and error of the gridded transform on the selected GPU.
#include <string>
#include <vector>

#include "recon/domain/report.hpp"

namespace fhd {

struct GriddingBenchRow {
  std::string what;      ///< trajectory, matrix, samples
  std::string gridding;  ///< width of the kernel, grid, how products are formed
  std::int64_t coils = 1;
  double accuracy = 0;                          ///< that was asked for
  double adjoint_ms = 0, forward_ms = 0;        ///< of all coils, medians
  double adjoint_error = 0, forward_error = 0;  ///< relative l2, against exact sums in double precision
  double plan_s = 0;                            ///< of the constructor
};

/// Random and radial samples and all samples at one point, 2D and 3D, at 1e-3 and 1e-5. The errors are those of
/// 512 voxels and 512 samples of the first coil. `quick` takes smaller sizes. Throws Error without a GPU.
std::vector<GriddingBenchRow> run_gridding_bench(bool quick, const ProgressCallback& progress);

}  // namespace fhd

#pragma once
// Speed of the transforms, the Toeplitz operator and a whole reconstruction on the selected GPU.
#include <string>
#include <vector>

#include "recon/domain/report.hpp"

namespace fhd {

struct GpuBenchRow {
  std::string what;        ///< operation, sizes
  double ms = 0;           ///< median of the repetitions, or of one run where the row says so
  double pairs_per_s = 0;  ///< 0 where it has no meaning
};

/// Direct F^H and F of one and eight coils, the Toeplitz operator, and the size of
/// Stone et al. (2008): 128^3 voxels, 147,456 samples, 30 iterations, stage by stage. `quick` takes smaller
/// sizes. Throws Error without a GPU.
std::vector<GpuBenchRow> run_gpu_bench(bool quick, const ProgressCallback& progress);

}  // namespace fhd

#pragma once
// Direct sums on a GPU, each way of taking them: time and error side by side.
#include <string>
#include <vector>

#include "recon/domain/report.hpp"

namespace fhd {

struct ExactBenchRow {
  std::string what;        ///< sum, sizes
  std::string way;         ///< how it is taken
  double ms = 0;           ///< median of the repetitions, all coils
  double pairs_per_s = 0;  ///< of voxels and samples, all coils
  double error = -1;       ///< relative l2 against double precision at random places; < 0: not looked at
};

/// F and F^H of random samples in all of k-space, from 64 x 64 x 16 to 128^3 voxels, one to eight coils, in single
/// precision; of 64^3 in double; Q of 128^3. `quick` takes smaller sizes. Throws Error without a GPU.
std::vector<ExactBenchRow> run_exact_bench(bool quick, const ProgressCallback& progress);

}  // namespace fhd

#pragma once
// Speed and error of the CPU transforms on this machine, beside the floor that the processor sets.
#include <string>
#include <vector>

#include "recon/domain/report.hpp"

namespace fhd {

struct BenchRow {
  std::string what;             ///< operation, sizes
  std::string instruction_set;  ///< "avx512", "avx2", "sse2"
  int threads = 1;
  double seconds = 0;         ///< median of the repetitions
  double rate = 0;            ///< pairs of voxels and samples per second; 0 where it has no meaning
  double share_of_floor = 0;  ///< direct: of the measured FMA peak at 2 FMA per pair
  double error = -1;  ///< relative l2 against the double-precision oracle, or the direct transform; < 0: none
};

/// Fused multiply-adds per second of one thread, measured: the ceiling of the direct sums.
double measured_fma_rate();

/// Direct F^H, F and Q; Toeplitz F^H F; gridded transforms, each checked before it is timed. `quick` takes
/// smaller sizes.
std::vector<BenchRow> run_cpu_bench(bool quick, const ProgressCallback& progress);

}  // namespace fhd

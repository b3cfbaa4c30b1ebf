#pragma once
// What was done and how well: filled by the reconstruction, printed by app/, stored by io/.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fhd {

struct Stage {
  std::string name;  ///< "FhD", "Q", "conjugate gradient", ...
  double seconds = 0;
};

/// Bytes of a GPU that an array takes, as planned before the work.
struct PlannedMemory {
  std::string what;
  std::size_t bytes = 0;
};

struct Report {
  std::vector<std::pair<std::string, std::string>> settings;  ///< name, value as used (after all defaults)
  std::vector<Stage> stages;
  std::vector<std::string> notes;  ///< decisions and warnings, one sentence each
  std::vector<PlannedMemory>
      device_memory;  ///< arrays on the GPU, last what they take at most together; empty on the CPU
  std::vector<double>
      relative_residuals;  ///< |b - A rho| / |b| of the normal equations A = E^H E + lambda W^H W, b = E^H d,
                           ///< as conjugate gradient updates it: per iteration, first is 1
  bool converged = true;   ///< false: stopped by the iteration limit
  double largest_eigenvalue = 0;  ///< of E^H E
  double lambda = 0;              ///< as used, absolute
  double data_residual = 0;       ///< |F rho - d| / |d|, from an explicit forward transform
};

/// What a long stage tells while it runs. `done` of `total` steps; `residual` < 0 where there is none.
struct Progress {
  std::string stage;
  std::int64_t done = 0, total = 0;
  double residual = -1;
};
using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace fhd

#pragma once
// What was done and how well: filled by the reconstruction, printed by app/, stored by io/.
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

struct Report {
  std::vector<std::pair<std::string, std::string>> settings;  ///< name, value as used (after all defaults)
  std::vector<Stage> stages;
  std::vector<std::string> notes;  ///< decisions and warnings, one sentence each
  std::vector<double>
      relative_residuals;         ///< |b - A rho| / |b| of the normal equations, per iteration, first is 1
  bool converged = true;          ///< false: stopped by the iteration limit
  double largest_eigenvalue = 0;  ///< of F^H F; lambda is relative to it
  double lambda = 0;              ///< as used: relative lambda x largest eigenvalue
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

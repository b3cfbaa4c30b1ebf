#pragma once
// What a batch is to do: its scans, each with its settings.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "app/batch/ranks.hpp"
#include "app/batch/scans.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Options of `fhd recon` that one or more scans share.
struct BatchSettings {
  std::vector<std::string> arguments;                         ///< "--lambda=1e-3"
  std::vector<std::pair<std::string, std::string>> recorded;  ///< those that change the result, for manifests
  std::string where;                                          ///< lines of the recipe that they come from
};

/// All that workers know; complete before the first one starts.
struct BatchWork {
  std::string directory, command_line;
  std::vector<BatchScan> scans;
  std::vector<BatchSettings> settings;
  std::vector<std::size_t> settings_of;  ///< of each scan
};

/// From the options given to `app`, of `fhd batch`, and the file `recipe`, empty for none. The directory is
/// that of `output`. Throws Error, naming the line of the recipe where it is its mistake.
BatchWork plan_work(const CLI::App& app, const std::string& recipe, const std::string& output, Ranks& ranks,
                    std::vector<BatchScan> scans);

}  // namespace fhd::app

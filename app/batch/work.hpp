#pragma once
// Plans a batch: its scans, each with its settings from the command line and the recipe.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/batch/scans.hpp"
#include "app/options/run_options.hpp"
#include "app/terminal/processes.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Options of `fhd recon` that one or more scans share.
struct BatchSettings {
  RunOptions options;
  std::map<std::string, std::string> recorded;  ///< options that change the result, for manifests
  std::string where;                            ///< lines of the recipe that gave some
};

/// The plan that workers get; complete before the first one starts.
struct BatchWork {
  std::string directory, command_line;
  std::vector<BatchScan> scans;
  std::vector<BatchSettings> settings;
  std::vector<std::size_t> settings_of;  ///< of each scan
  bool accepts_version = false;          ///< results of another version of the program are kept
  std::string device;                    ///< as --device says it
  int gpus = 0;                          ///< of this machine; the command counts them
  bool cpu_stands_in = false;            ///< the user left the choice: where devices fail, the CPU goes on
};

/// Plans the work from `options` of `fhd batch`, whose parser is `app`, and from the file `recipe` (app/options/recipe.hpp;
/// empty: none), which overrides them. Throws Error, which names the line of the recipe where that is wrong.
BatchWork plan_work(const CLI::App& app, const RunOptions& options, const std::string& recipe,
                    const std::string& output, std::vector<BatchScan> scans);

}  // namespace fhd::app

#pragma once
// Plans a batch: its scans, each with its settings from the command line and the recipe, and the workers that do them.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/batch/scans.hpp"
#include "app/options/run_options.hpp"
#include "io/result/manifest.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Options of `fhd recon` that one or more scans share.
struct BatchSettings {
  RunOptions options;
  std::map<std::string, std::string> recorded;  ///< options that change the result, for manifests
};

/// One worker process. Each of its threads does a scan from its file to its results.
struct WorkerPlan {
  std::string device;           ///< as --device names it: "cuda:1", "cpu"; "auto" where there is no GPU
  int engines = 1;              ///< scans that are computed at a time
  int scans = 3;                ///< scans at a time; those beyond `engines` are read or written meanwhile
  bool is_last_resort = false;  ///< takes only what no device can do
};

/// The plan that workers get; complete before the first one starts.
struct BatchWork {
  std::string directory;
  std::vector<BatchScan> scans;
  std::set<std::string> names;  ///< of all scans of the batch, also where this is a part of it
  std::vector<BatchSettings> settings;
  std::vector<std::size_t> settings_of;  ///< of each scan
  bool accepts_version = false;          ///< results of another version of the program are kept
  std::vector<WorkerPlan> workers;
  int threads = 1;                 ///< of all workers together
  std::uint64_t memory_bytes = 0;  ///< planned, at most, for all scans that are being done
};

/// Plans scans and settings from `options` of `fhd batch`, whose parser is `app`, and from the file `recipe`
/// (app/options/recipe.hpp; empty: none), which overrides them. Throws Error, which names the line of the recipe where that
/// is wrong.
BatchWork plan_work(const CLI::App& app, const RunOptions& options, const std::string& recipe,
                    const std::string& output, std::vector<BatchScan> scans);

/// Returns "cuda:0", "cuda:1", ...: the devices that `asked` (--device) names on a machine with `gpus` GPUs; none where the
/// CPU computes.
std::vector<std::string> devices_of(const std::string& asked, int gpus);
/// Plans one worker for each device, with several engines, so that the device computes while others use the CPU; without
/// devices as many workers as scans at a time. `at_once` bounds the scans that are computed at a time; 0: `threads`. With
/// `auto` the CPU takes what devices give up.
std::vector<WorkerPlan> plan_workers(const std::string& asked, int gpus, int threads, int at_once = 0);
/// Returns the engines of the workers that are, or are not, a last resort.
int engine_count(const std::vector<WorkerPlan>& workers, bool last_resort);
/// Returns `limit_mib` in bytes; 0: four fifths of the memory that is free now.
std::uint64_t memory_to_use(std::uint64_t limit_mib);

/// Why a scan is to be done: a word for programs, and the words for people, empty where the scan is new.
struct Missing {
  std::string code, text;
};
inline constexpr auto input_changed = "input_changed";
/// Returns why scan number `scan` is to be done again although it has this manifest; empty where its results are as they
/// would be made now. Compares times of the scan, not its content.
std::optional<Missing> missing_of(const BatchWork& work, std::size_t scan, const io::Manifest& manifest);
/// Returns the same of the manifest in the folder, by the content of the scan where times do not decide. Returns nothing
/// of files that were found beside scans and hold images or noise alone.
std::optional<Missing> missing_in_folder(const BatchWork& work, std::size_t scan);

/// Removes what killed runs have left in the folder, and completes sets of results that they had committed. Files of
/// runs that are alive stay.
void remove_leftovers(const std::string& directory);

}  // namespace fhd::app

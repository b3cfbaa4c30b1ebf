#pragma once
// The whole way from a scan file to its results, as a user runs it: a process, timed from outside, and where in it the
// time goes, by its own timeline (--trace).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fhd {

struct ChainCase {
  std::string name;                   ///< sizes, in words
  std::vector<std::string> simulate;  ///< options of `fhd simulate`
  std::int64_t scans = 1;             ///< > 1: a batch of copies of the one scan
  std::int64_t frames = 1;            ///< of each scan
};

/// One volume of several sizes, frames of a series, a batch. `quick`: sizes for a laptop.
std::vector<ChainCase> chain_cases(bool quick);

struct ChainSettings {
  std::string program;  ///< the executable
  std::string folder;   ///< is there, and empty; what is made in it is removed
  std::string device;   ///< as --device says it
};

struct ChainRow {
  double wall_s = 0;     ///< of the second run of the process
  double stages_s = 0;   ///< sum of the spans of its stages, of all threads and processes
  double outside_s = 0;  ///< wall time in which no thread is in a stage: starting, files
  int devices = 0;       ///< GPUs that were given work
  double device_s = 0;   ///< during which one was, on average over them
  std::vector<std::pair<std::string, double>> largest;  ///< three stages, s
  double bytes_read = 0, bytes_written = 0;
  double images_per_s = 0;
};

/// Makes the scan, runs the program twice and reads the timeline of the second run. Throws Error, with the last line
/// that the program wrote, when it fails.
ChainRow run_chain_case(const ChainCase& what, const ChainSettings& settings);

/// Bytes per second through files in `folder`, written and read again at once (from the cache of the system).
struct FileRates {
  double read = 0, write = 0;
};
FileRates measure_file_rates(const std::string& folder);

/// Reads a timeline as --trace writes it: all but what the files and the clock outside say. Throws Error.
ChainRow row_of_timeline(const std::string& path);

}  // namespace fhd

#pragma once
// The images of one scan as they come, and what is told of them: what `fhd recon` and `fhd batch` share.
#include <cstdint>
#include <string>
#include <vector>

#include "app/device_option.hpp"
#include "app/recon_engine.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// --slices and --repetitions: which volumes of a scan.
struct VolumeSelection {
  std::string slices = "all", repetitions = "all";
  /// The object must outlive the parse.
  void add_to(CLI::App& app);
};

/// "0-3,7" -> {0, 1, 2, 3, 7}; "all" -> 0 ... count-1. Throws Error naming `option` when an index is not
/// below `count` or comes twice.
std::vector<std::int64_t> parse_selection(const std::string& text, std::int64_t count,
                                          const std::string& option);

class ScanResults {
 public:
  struct Volume {
    std::int64_t repetition, slice;
  };

  /// `path`: as the user gave it. Throws Error when the selection is not of this scan.
  ScanResults(const std::string& path, const io::ScanSummary& summary, const VolumeSelection& selection,
              std::string command_line, std::string input_sha256);
  /// Those selected, in the order of the results.
  const std::vector<Volume>& volumes() const { return volumes_; }
  void set_device(const ChosenDevice& device) { provenance_.environment = device.environment(); }
  /// Of the next volume.
  void add(ReconResult made);
  const std::string& path() const { return provenance_.input_path; }
  /// Of the volumes so far.
  const std::vector<Report>& reports() const { return provenance_.reports; }
  /// After the last volume: what is wrong with their positions goes to the notes of the first, and is
  /// returned; empty where nothing is.
  std::string note_positions();
  /// OUT.h5, ...: see io::write_results.
  void write(const std::string& prefix);

 private:
  std::vector<Volume> volumes_;
  io::ImageSeries series_, gridded_;
  io::CompanionResults companions_;
  io::Provenance provenance_;
};

}  // namespace fhd::app

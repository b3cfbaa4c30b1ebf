#pragma once
// One scan of a batch on its way from the file to its results, and the engine that reconstructs it.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/batch/work.hpp"
#include "app/run/echo_field_map.hpp"
#include "app/run/recon_engine.hpp"
#include "app/run/volume_reader.hpp"
#include "io/result/manifest.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

/// Options and what follows from them; made once for all scans that share them.
struct JobSettings {
  /// Reads the files that options name. `device` as --device says it.
  JobSettings(std::vector<std::string> arguments, const std::string& device);
  RunOptions options;
  Settings settings;
  FieldMapChoice field_map;
};

/// Reconstructs scans with the same settings on one device; keeps what depends on the trajectory alone.
struct JobEngine {
  /// A GPU that fails is an error here: what becomes of the scan is decided for the batch as a whole.
  JobEngine(std::shared_ptr<const JobSettings> of, const ChosenDevice& on);
  std::shared_ptr<const JobSettings> settings;
  ChosenDevice device;
  ReconEngine engine;
};

/// The files that a manifest names, of results `prefix` beside it.
std::vector<std::string> own_files(const std::string& prefix, const io::Manifest& manifest);

/// What `fhd recon` does, in pieces that can overlap with those of other scans.
class ScanJob {
 public:
  /// Opens the scan: reads and checks its headers, and whether its images can be written. Throws Error.
  ScanJob(const std::string& path, std::shared_ptr<const JobSettings> of, const std::string& command_line,
          const std::string& input_checksum);
  /// Of a file that is open, from `path`, or of arrays.
  ScanJob(std::unique_ptr<io::ScanFile> file, const std::string& path, std::shared_ptr<const JobSettings> of,
          const std::string& command_line, const std::string& input_checksum);
  /// What it takes of host memory at most, in bytes, until it is written.
  std::uint64_t planned_bytes() const;
  /// The same of the memory of a GPU, of which `available` are to be had; 0 for the CPU.
  std::uint64_t planned_bytes(Device device, std::uint64_t available) const;
  /// Begins to read the volumes, also once more from the first; waits for it. Where a field map is to be made of
  /// them, `compute` begins.
  void load();
  /// `note`: for the report of the first volume, unless empty.
  void compute(JobEngine& engine, const ProgressCallback& progress, const std::string& note);
  /// Throws Error where the results `prefix` cannot be written, or overwrite one of `inputs`.
  void require_writable(const std::string& prefix, const std::vector<std::string>& inputs) const;
  /// Throws Error where what is there belongs to another scan.
  void require_replaceable(const std::string& prefix) const;
  /// The same in the folder of a batch, but for files that its manifest names (`own`, paths), and results of this scan
  /// with another content.
  void require_replaceable_in_batch(const std::string& prefix, const std::vector<std::string>& own) const;
  /// PREFIX.* and the formats beside it: with a '/' at the end those that are folders.
  std::vector<std::string> result_names(const std::string& prefix) const;
  /// Writes them.
  void write(const std::string& prefix);
  /// The same, and what the manifest tells of the result.
  void write(const std::string& prefix, io::Manifest& manifest);

  ScanResults& results() { return results_; }

  const std::shared_ptr<const JobSettings> settings;

 private:
  EstimateSettings estimate_settings() const;
  ScanSizes sizes() const;
  /// Throws Error where a format in which they are written has no room for them.
  void require_room(const ScanResults& results) const;
  void find_field_map(const JobEngine& engine);
  void compute_volumes(JobEngine& engine, const ProgressCallback& progress, const std::string& note);
  void compute_frames(JobEngine& engine, const ProgressCallback& progress, const std::string& note);
  /// Whether it is still to be made.
  bool lacks_field_map() const {
    return settings->field_map == FieldMapChoice::from_echoes && !has_made_map_;
  }

  std::unique_ptr<io::ScanFile> file_;
  ScanResults results_;
  std::unique_ptr<VolumeReader> reader_;  ///< not of frames, whose slices are read as they are taken
  bool has_made_map_ = false, is_to_be_written_ = false;
  std::vector<std::string> scan_warnings_;
};

}  // namespace fhd::app

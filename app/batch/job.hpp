#pragma once
// One scan of a batch, step by step: what `fhd recon` does, in pieces that can overlap with those of other
// scans.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/device_option.hpp"
#include "app/recon_engine.hpp"
#include "app/recon_options.hpp"
#include "app/scan_options.hpp"
#include "app/scan_results.hpp"
#include "io/result/manifest.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// The options of `fhd recon` that say what becomes of a scan.
struct JobOptions {
  VolumeSelection selection;
  bool no_gridded_image = false;
  ScanOptions scan;
  ReconOptions recon;
  DeviceOption device;

  /// The object must outlive the parse.
  void add_to(CLI::App& app);
  /// From "--name=value" each. Throws UsageError.
  explicit JobOptions(const std::vector<std::string>& arguments);
  JobOptions();
  ~JobOptions();

 private:
  std::unique_ptr<CLI::App> parser_;
};

/// "--lambda", ...: the options that may differ between the scans of a batch, and those that may not.
struct JobOptionNames {
  std::set<std::string> of_scans, of_batch;
};
JobOptionNames job_option_names();

/// Options and what follows from them; made once for all scans that share them.
struct JobSettings {
  /// Reads the files that options name. Throws UsageError.
  explicit JobSettings(const std::vector<std::string>& arguments);
  JobOptions options;
  Settings settings;
};

/// Reconstructs scans with the same settings on one device; keeps what depends on the trajectory alone.
class JobEngine {
 public:
  /// Starts the device that the options ask for.
  explicit JobEngine(std::shared_ptr<const JobSettings> settings);
  const JobSettings& settings() const { return *settings_; }
  ReconResult operator()(const Scan& scan, const ProgressCallback& progress);
  const ChosenDevice& device() const { return device_; }

 private:
  std::shared_ptr<const JobSettings> settings_;
  ChosenDevice device_;
  ReconEngine engine_;
};

class ScanJob {
 public:
  /// Opens the scan: reads and checks its headers. Throws Error.
  ScanJob(const std::string& path, std::shared_ptr<const JobSettings> settings, std::string command_line,
          std::string input_sha256);
  const std::shared_ptr<const JobSettings>& settings() const { return settings_; }
  /// What it takes of memory at most, in bytes, until it is written.
  std::uint64_t planned_bytes() const;
  /// Reads the first volume; further ones follow while it is computed.
  void load();
  void compute(JobEngine& engine, const ProgressCallback& progress);
  /// Writes PREFIX.* and what the manifest tells of the result.
  void write(const std::string& prefix, io::Manifest& manifest);
  /// The files that `write` makes.
  static std::vector<std::string> result_names(const std::string& name);

 private:
  std::shared_ptr<const JobSettings> settings_;
  std::unique_ptr<io::ScanFile> file_;
  ScanResults results_;
  std::optional<Scan> first_;
};

/// What the header of a scan says of its sizes.
ScanSizes header_sizes(const io::ScanSummary& summary);
/// Throws Error unless `path` is a file or a directory that can be read.
void require_readable_kind(const std::string& path);
/// Whether a file holds images and no scan: results of fhd, which lie beside scans now and then.
bool holds_only_images(const std::string& path);

}  // namespace fhd::app

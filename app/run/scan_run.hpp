#pragma once
// A run takes one scan from its file to its images: `fhd recon`, `fhd batch` and Python call these functions in turn,
//
//     open_run -> start_reading -> reconstruct -> write_results,
//
// and differ in the events that they listen to and in the engines that they give.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/options/run_options.hpp"
#include "app/run/recon_engine.hpp"
#include "app/run/scan_results.hpp"
#include "app/run/volume_reader.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/pipeline/estimate.hpp"

namespace fhd::app {

class MpiTeam;

/// The options of a run and what follows from them: one for all scans that share them.
struct RunSettings {
  /// Reads the files that options name. Throws Error where options contradict each other.
  explicit RunSettings(RunOptions of);
  RunOptions options;
  Settings settings;
  bool is_sparing = false;  ///< ScanChecks::is_sparing
};

/// An open scan and what was made of it so far. It stays in its place: the reader refers to it.
struct ScanRun {
  std::shared_ptr<const RunSettings> settings;
  std::unique_ptr<io::ScanFile>
      file;  ///< its volumes are corrected, and have the field map that is asked for
  ScanResults results;
  bool lacks_field_map = false;  ///< reconstruct() makes it from the echoes
  /// Returns whether volumes like this one are reconstructed together.
  std::function<bool(const Scan&)> takes_series{};
  std::vector<Message> scan_warnings{};    ///< of the scan as a whole
  std::unique_ptr<VolumeReader> reader{};  ///< uses `file`
};

/// Engines that reconstruct the volumes of a run.
struct RunEngines {
  std::vector<ChosenDevice> devices;
  std::function<std::shared_ptr<ReconEngine>(const ChosenDevice&, int threads)> make;
  int count = 1;         ///< engines that work concurrently, spread over the devices
  bool is_team = false;  ///< the devices share every volume: one engine leads them
};

/// Checks that the results of these settings can hold the scan, and returns its run. `path` and `command_line` are for
/// the report. Throws Error.
std::unique_ptr<ScanRun> open_run(std::unique_ptr<io::ScanFile> file, const std::string& path,
                                  std::shared_ptr<const RunSettings> settings,
                                  const std::string& command_line);
/// Starts the threads that read volumes ahead, from the first volume on. Does nothing for frames, whose slices are read
/// one by one, and while the field map is missing.
void start_reading(ScanRun& run);
/// Returns whether all GPUs work on each volume, one after the other: where there are too few volumes to give each GPU
/// its own.
bool shares_volumes(const ScanRun& run, const std::vector<ChosenDevice>& devices);
/// Returns as many engines as speed up this run on `devices`.
RunEngines engines_of(const ScanRun& run, std::vector<ChosenDevice> devices, const Execution& execution);
/// Returns what the header of the scan tells of the memory of the run. `images_wait_in_memory`: until they are written,
/// instead of in a folder.
Estimate estimate_of(const ScanRun& run, Device device, bool images_wait_in_memory);
/// Returns an engine for these settings on one device. Of several processes, the first makes the gridded image.
std::unique_ptr<ReconEngine> make_engine(const RunSettings& settings, const ChosenDevice& device,
                                         const Execution& execution = {},
                                         std::shared_ptr<const DeviceTeam> team = nullptr);
/// Reconstructs all volumes, or frames, that are missing in the results. `note`, unless empty, is added to the report of
/// the first image. Throws Error.
void reconstruct(ScanRun& run, const RunEngines& engines, const RunEvents& events,
                 const std::string& note = {});

/// Returns whether the CPU is done before a GPU has started: `fhd recon` and `fhd plan` ask where --device is auto.
bool leaves_gpu_alone(const std::string& path, const RunSettings& settings, const io::ScanSummary& summary);
/// Opens the scan. Devices start meanwhile, or after a look into a small file, which may not need a GPU; the first step that
/// computes on one waits for it. `local_rank`: of several processes on this machine, which one this is; else -1.
std::pair<std::unique_ptr<io::ScanFile>, std::unique_ptr<DevicesInBackground>> open_and_start_devices(
    const std::string& path, const RunSettings& settings, int local_rank);

/// Returns work(team), null for a process alone. When `work` throws, the other processes end, too.
int run_in_team(const std::function<int(const std::shared_ptr<MpiTeam>&)>& work);
/// Throws Error where several processes cannot do such a run; gives each process its share of the machine's processors.
void share_work(const MpiTeam& team, const RunSettings& settings);
/// Throws Error where the scan has changed since one of the processes opened it: each has read it by itself.
void require_unchanged_for_all(const MpiTeam& team, const io::ScanSummary& summary);

/// Returns the files that the results `prefix` are to have.
io::ResultRequest request_of(const RunOptions& options, const std::string& prefix);
/// Does the same for the stacks of slices of a scan that is open.
io::ResultRequest request_of(const ScanRun& run, const std::string& prefix);
/// Writes the results for the holder of the lock of `prefix`, and returns the paths of their files; folders end with '/'.
std::vector<std::string> write_results(ScanRun& run, const io::OutputLock& lock, const std::string& prefix);

}  // namespace fhd::app

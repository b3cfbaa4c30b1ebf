#include "app/run/run_devices.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/commands/commands.hpp"
#include "app/terminal/console.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// A file of fewer bytes may be small work.
constexpr std::uintmax_t bytes_of_small_file = 1 << 25;

/// Returns whether the CPU, solving once by squares, is done before a GPU has started, which takes about 0.3 s
/// (validation/results/2026-11-23-h200.md): its threads go through so many pairs of voxels and samples in a fraction of
/// that.
bool is_small_work(const io::ScanSummary& summary) {
  constexpr double pairs_of_thread = 2e9, most_pairs = 1e10;
  const double pairs = static_cast<double>(summary.geometry.voxel_count()) *
                       static_cast<double>(summary.samples_per_scan) *
                       static_cast<double>(summary.coil_count) *
                       static_cast<double>(summary.slice_count * summary.repetition_count);
  return pairs <= std::min(pairs_of_thread * omp_get_max_threads(), most_pairs);
}

bool solves_once(const RunSettings& settings) {
  const LeastSquares* method = least_squares(settings.settings);
  return !settings.options.frames.asks() && !settings.options.noise_map.given() &&
         (method == nullptr || method->sparse.empty());
}

}  // namespace

OpenedScan open_and_start_devices(const std::string& path, const RunSettings& settings, int local_rank) {
  DeviceOption option = settings.options.device;
  OpenedScan opened;
  const auto start = [&] {
    opened.devices = std::make_unique<DevicesInBackground>(option, std::max(local_rank, 0));
  };
  std::error_code unknown;
  const bool may_be_small = local_rank < 0 && solves_once(settings) &&
                            std::filesystem::file_size(path, unknown) <= bytes_of_small_file;
  if (!may_be_small) start();
  opened.file = io::open_scan(path, settings.options.read_options);
  if (may_be_small) {
    if (is_small_work(opened.file->summary())) option.leave_gpu_alone();
    start();
  }
  return opened;
}

int run_in_team(const std::function<int(const std::shared_ptr<MpiTeam>&)>& work) {
  const auto team = join_team();
  if (!team) return work(nullptr);
  try {
    const int status = work(team);
    team->leave();
    return status;
  } catch (const std::exception& error) {
    // The first process prints what fails in every process, and ends the others before they do.
    if (team->rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    print_error((team->rank() > 0 ? fmt::format("process {}: ", team->rank()) : "") + error.what());
    std::fflush(stderr);
    throw;
  }
}

void share_work(const MpiTeam& team, const RunSettings& settings) {
  const RunOptions& options = settings.options;
  if (options.frames.asks())
    throw UsageError(Error("--frames, --spokes-per-frame and --gate", "one process", "several, by mpirun",
                           "run it without mpirun"));
  if (settings.field_map == FieldMapChoice::from_echoes)
    throw Error("--field-map auto", "one process", "several, by mpirun",
                "make the map with 'fhd fieldmap' first");
  if (options.device.names_several())
    throw Error("--device " + options.device.text(), "one GPU for each process that mpirun started", "several",
                "leave --device out, and every process takes its own; or run one process");
  options.noise_map.require_alone(1, team.size());
  if (options.threads > 0) return;
  // Where mpirun has not bound the processes to some processors each.
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  if (omp_get_num_procs() >= all) omp_set_num_threads(std::max(1, all / team.local_size()));
}

void require_unchanged_for_all(const MpiTeam& team, const io::ScanSummary& summary) {
  summary.stamps.require_unchanged();
  double arrived = 1;
  team.sum(&arrived, 1);
}

}  // namespace fhd::app

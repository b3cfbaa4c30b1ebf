#include "app/run/start_devices.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

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

}  // namespace fhd::app

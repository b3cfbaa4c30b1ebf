#pragma once
// Sensitivity maps from the scan itself.
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "recon/array/work.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/coils/smooth_reference.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"

namespace fhd {

/// espirit    eigenvectors of what neighbours in k-space predict of each other: Uecker et al.,
///            MRM 71:990 (2014)
/// adaptive   eigenvectors of the local covariance of low-resolution coil images: Walsh et al.,
///            MRM 43:682 (2000)
/// joint      smooth maps and an image of the region at once: Uecker et al., MRM 60:674 (2008)
using MapMethod = CoilMaps;  // of which asks_to_find
inline MapMethod map_method(CoilMaps maps) { return asks_to_find(maps) ? maps : MapMethod::espirit; }

struct MapEstimate {
  /// [coil][z][y][x]; sum over coils |S|^2 = 1, or S = 0 outside of the mask. Phases are smooth, and wind about no point
  /// inside the object unless `defects` says so.
  SensitivityMaps maps;
  /// The next eigenvectors where their eigenvalues, too, are above the threshold, 0 elsewhere; where they are asked for.
  std::optional<SensitivityMaps> second{};
  double second_share = 0;  ///< voxels with a second map over those with a first, where it was looked for
  std::array<int, 3> calibration_radius{};  ///< as used, x, y, z
  bool calibration_sampled = true;          ///< CalibrationRegion::sampled
  std::vector<MapDefect> defects{};         ///< of the first set; of espirit and adaptive
};

/// MapSetCount::automatic takes two sets from here on. G(r) is blurred and periodic: an object near the edge of the FOV
/// has a second eigenvalue at 2.5 ... 7.5 % of its voxels though nothing is folded; a head 1.2 times as large, at 14 %.
inline constexpr double least_second_share = 0.1;

/// Returns whether a matrix of few voxels along z, in which no neighbourhood fits, is calibrated slice by slice.
inline bool calibrates_by_plane(const std::array<int, 3>& matrix_size) {
  return matrix_size[2] > 1 && matrix_size[2] < 10;
}
/// Near tissue maps of espirit are zero where the largest eigenvalue, 1 where the neighbours' prediction is exact, is below.
inline constexpr double eigenvalue_mask = 0.8;

/// The calibration region of a reference of its own shrinks to this along phase axes, cycles/FOV: two neighbourhoods.
inline constexpr int least_reference_radius = 4;

/// Returns the maps of all coils of a scan as it is, from its calibration where it has one, in host memory. A GPU grids and
/// solves a large calibration region, and finds the eigenvectors; the algebra of neighbourhoods is the CPU's. Throws Error
/// when k-space near its centre is zero or not sampled. `kept`: of calibration_region.
MapEstimate estimate_maps(const Scan& scan, MapMethod method, MapSetCount sets = MapSetCount::one,
                          Device device = Device::cpu(), const ProgressCallback& progress = {},
                          std::optional<CalibrationSystem>* kept = nullptr);

/// The cost of a step for which a GPU does a part; on the CPU alone the device's are 0.
struct MapsCost {
  Work work;
  Work device_work;               ///< beside it, after it
  std::size_t scratch_bytes = 0;  ///< of the host, at most at one time, beside the maps
};
/// Returns the cost of estimate_maps of so many samples of each coil. `calibration_sampled`, CalibrationRegion::sampled, is
/// taken from samples for 0.7 of the voxels on where it is not known.
MapsCost maps_cost(const std::array<int, 3>& matrix_size, std::int64_t samples, std::int64_t coils,
                   MapMethod method, std::optional<bool> calibration_sampled = {},
                   Device device = Device::cpu());

/// Returns the cost of calibration_region with this radius, of so many samples in all, which determine it or do not.
MapsCost calibration_cost(const std::array<int, 3>& matrix_size, int radius, std::int64_t samples,
                          std::int64_t coil_count, bool sampled, Device device = Device::cpu());

/// Returns the work of whitening or compression.
Work mixing_work(std::int64_t coils, std::int64_t samples);

}  // namespace fhd

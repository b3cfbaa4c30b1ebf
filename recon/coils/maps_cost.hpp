#pragma once
// What the preparation of the coils costs and takes of the host's memory, from sizes alone.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "recon/array/work.hpp"
#include "recon/coils/maps.hpp"

namespace fhd {

struct MapsCost {
  Work work;
  std::size_t scratch_bytes = 0;  ///< at most at one time, beside the maps
};
/// estimate_maps of so many samples of each coil, on the CPU. `calibration_sampled` is
/// CalibrationRegion::sampled; not known: scans with samples for 0.7 of their voxels are.
MapsCost maps_cost(const std::array<int, 3>& matrix_size, std::int64_t samples, std::int64_t coils,
                   MapMethod method, std::optional<bool> calibration_sampled = {},
                   const MapSettings& settings = {});

/// Whitening or compression: covariance or principal components of the coils, and k-space mixed by them.
Work mixing_work(std::int64_t coils, std::int64_t samples);

}  // namespace fhd

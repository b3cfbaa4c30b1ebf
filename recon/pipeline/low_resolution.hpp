#pragma once
// A scan of the centre of k-space, on a small matrix of the same FOV: an image of it is quick to make, and shows what
// varies slowly in space.
#include <array>
#include <cstdint>
#include <vector>

#include "recon/domain/scan.hpp"

namespace fhd {

/// Returns the matrix with at most `most` voxels along each axis.
std::array<int, 3> low_resolution(std::array<int, 3> matrix_size, int most);

/// Returns these samples, with their times, on that matrix: maps and field map have their values at its voxels.
/// Without noise and calibration.
Scan at_low_resolution(const Scan& scan, const std::array<int, 3>& matrix_size,
                       const std::vector<std::int64_t>& samples);

}  // namespace fhd

#pragma once
// Checks that k-space positions belong to a matrix.
#include <array>
#include <string>

#include "recon/domain/scan.hpp"

namespace fhd {

/// Throws Error, its subject beginning with `subject` ("scan.h5: ", or empty), unless every position is finite and
/// |k| <= N/2 times edge_rounding on every axis of N > 1 voxels: what lies beyond the edge of the matrix, but for the
/// rounding of files, belongs to another matrix or unit.
void require_positions(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                       const std::string& subject);

}  // namespace fhd

#pragma once
// Axes of one voxel come last while a scan is reconstructed: transforms run along x, and a matrix of 1 x N x N would
// leave them rows of one voxel (measured on a 2D scan: 16 times slower). Images and maps do not move in memory: an
// axis of one voxel has no stride.
#include <array>

#include "recon/domain/scan.hpp"

namespace fhd {

/// The order of the axes: new axis i is the old axis order[i].
using AxisOrder = std::array<int, 3>;
AxisOrder long_axes_first(const std::array<int, 3>& matrix_size);
bool keeps_axes(const AxisOrder& order);
AxisOrder inverse(const AxisOrder& order);

template <class T>
std::array<T, 3> in_order(const AxisOrder& order, const std::array<T, 3>& values) {
  return {values[order[0]], values[order[1]], values[order[2]]};
}
/// Reorder the axes; the voxels stay at the same places in the patient.
Geometry in_order(const AxisOrder& order, const Geometry& geometry);
Trajectory in_order(const AxisOrder& order, const Trajectory& trajectory);
/// Reorder the axes, for orders that keep those of several voxels as they follow each other.
Scan in_order(const AxisOrder& order, Scan scan);
Image in_order(const AxisOrder& order, Image image);

}  // namespace fhd

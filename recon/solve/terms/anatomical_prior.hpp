#pragma once
// The anatomical prior: W is a finite difference whose weight is small where an image of the same anatomy
// (usually a proton image of high resolution) has an edge, and 1 elsewhere: noise is averaged within tissues,
// not across their borders. Source: Haldar, Hernando, Song and Liang, "Anatomically constrained
// reconstruction from noisy data", MRM 59:810 (2008).
#include <array>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

/// The voxel (x, y, z) -> LPS, mm of a scan's geometry; voxels of 1 mm along an axis whose FOV is unknown.
std::array<std::array<double, 4>, 3> voxel_to_lps_mm(const Geometry& geometry);

/// The volume on the voxels of `geometry`, [z][y][x]: averaged over each voxel by 2 x 2 x 2 linear
/// interpolations (as many more as the volume is finer), 0 outside of the volume. Throws Error when less than
/// 1 % of the voxels lie inside, or when the affine map of the volume cannot be inverted.
Array<float> resampled(const Volume& volume, const Geometry& geometry);

/// Weights of the pairs (p, p + 1) along x, y, z, [axis][z][y][x], between 1e-3 and 1:
///
///     w = 1 / (1 + (d / threshold)^2),   d = |image(p + 1) - image(p)|
///
/// with threshold = the 99th percentile of |image| x 0.05 / strength. strength > 0; larger finds weaker
/// edges.
template <class T>
Array<T> edge_weights(const Array<float>& image, double strength);

}  // namespace fhd

#pragma once
// The terms that a problem may have, one function each.
#include <memory>

#include "recon/solve/problem.hpp"

namespace fhd {

/// W = identity.
template <class T>
std::shared_ptr<const Term<T>> identity_term();

/// W = finite differences between neighbours along every axis with more than one voxel, free ends:
///
///     |W rho|^2 = sum over axes and voxels p of w_axis(p) |rho(p + 1) - rho(p)|^2
///
/// `weights` is [axis x, y, z][z][y][x] on the device of the images (w of the pair p, p + 1), or empty for w = 1.
template <class T>
std::shared_ptr<const Term<T>> roughness_term(Array<T> weights = {});

/// The anatomical prior: weights that are small where an image of the same anatomy (usually a proton image of high
/// resolution) has an edge: noise is averaged within tissues, not across their borders. Source: Haldar, Hernando,
/// Song and Liang, "Anatomically constrained reconstruction from noisy data", MRM 59:810 (2008).
///
/// Weights of the pairs (p, p + 1) along x, y, z, [axis][z][y][x], between 1e-3 and 1:
///
///     w = 1 / (1 + (d / threshold)^2),   d = |image(p + 1) - image(p)|
///
/// with threshold = the 99th percentile of |image| x 0.05 / strength. strength > 0; larger finds weaker
/// edges.
template <class T>
Array<T> edge_weights(const Array<float>& image, double strength);
}  // namespace fhd

#pragma once
// The anatomical prior: W is a finite difference whose weight is small where an image of the same anatomy
// (usually a proton image of high resolution) has an edge, and 1 elsewhere: noise is averaged within tissues,
// not across their borders. Source: Haldar, Hernando, Song and Liang, "Anatomically constrained
// reconstruction from noisy data", MRM 59:810 (2008).
#include "recon/array/array.hpp"

namespace fhd {

/// Weights of the pairs (p, p + 1) along x, y, z, [axis][z][y][x], between 1e-3 and 1:
///
///     w = 1 / (1 + (d / threshold)^2),   d = |image(p + 1) - image(p)|
///
/// with threshold = the 99th percentile of |image| x 0.05 / strength. strength > 0; larger finds weaker
/// edges.
template <class T>
Array<T> edge_weights(const Array<float>& image, double strength);

}  // namespace fhd

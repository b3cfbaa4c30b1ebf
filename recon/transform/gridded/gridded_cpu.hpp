#pragma once
// The CPU side of gridded.hpp.
#include <memory>

#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cpu(const Trajectory& trajectory,
                                                                const GriddedCost& cost);

/// The weights of density_compensation before they are scaled, [sample]: `iterations` of w <- w / (C w) from
/// w = 1, with the gridding of GriddedCost::of_density.
Array<float> density_fixed_point_cpu(const Trajectory& trajectory, const GriddedCost& cost, int iterations);

}  // namespace fhd

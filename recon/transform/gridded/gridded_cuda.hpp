#pragma once
// The CUDA side of gridded.hpp: named only inside `if constexpr (built_with_cuda)`.
#include <memory>

#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory& trajectory,
                                                                 const GriddedCost& cost);

/// As density_fixed_point_cpu; the result lies in host memory.
Array<float> density_fixed_point_cuda(const Trajectory& trajectory, const GriddedCost& cost, int iterations);

/// q on the periodic difference grid [z][y][x] from the image [1][z][y][x] of that grid with its centre in
/// the middle; differences that no pair of voxels reaches become zero. Both on one device.
template <class T>
Array<Complex<T>> periodic_point_spread_cuda(const Array<Complex<T>>& centred,
                                             std::array<int, 3> matrix_size);

}  // namespace fhd

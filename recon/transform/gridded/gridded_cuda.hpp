#pragma once
// The CUDA side of make_gridded_transform and gridded.hpp: gridded_cuda.cu or gridded_no_cuda.cpp.
#include <cstddef>
#include <memory>

#include "recon/transform/transform.hpp"
#include "recon/transform/gridded/kaiser_bessel.hpp"

namespace fhd {

/// Grids and partial sums of the coils that are computed side by side stay below this many bytes of device
/// memory, as long as one coil's grid does.
constexpr std::size_t default_gridding_bytes = std::size_t{3} << 30;

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(
    const Trajectory& trajectory, std::array<int, 3> matrix_size, double accuracy,
    std::size_t gridding_bytes = default_gridding_bytes);

/// The weights of density_compensation before they are scaled, [sample] in host memory: `iterations` of
/// w <- w / (C w) from w = 1, C by `kernel` in single precision.
Array<float> density_fixed_point_cuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const KaiserBessel& kernel, int iterations);

/// q on the periodic difference grid [z][y][x] from the image [1][z][y][x] of that grid with its centre in
/// the middle; differences that no pair of voxels reaches become zero. Both on the device.
template <class T>
Array<Complex<T>> periodic_point_spread_cuda(const Array<Complex<T>>& centred,
                                             std::array<int, 3> matrix_size);

}  // namespace fhd

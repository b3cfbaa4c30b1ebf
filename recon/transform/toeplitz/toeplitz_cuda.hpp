#pragma once
// The CUDA side of toeplitz.hpp, implemented by toeplitz_cuda.cu or toeplitz_no_cuda.cpp.
#include <array>
#include <memory>

#include "recon/array/array.hpp"
#include "recon/array/linear_operator.hpp"

namespace fhd {

template <class T>
std::unique_ptr<HermitianOperator<T>> make_toeplitz_normal_cuda(const Array<Complex<T>>& point_spread,
                                                                const Array<Complex<T>>& maps,
                                                                std::int64_t coils_at_once);

/// Coils of a 3D scan that are padded together, at most: more gain nothing, and each takes 2.5 grids.
constexpr std::int64_t most_toeplitz_coils = 4;

/// Image and grid of differences, x first, axes of one voxel left out (in memory nothing changes).
struct ToeplitzExtents {
  std::int64_t n[3] = {1, 1, 1}, g[3] = {1, 1, 1};

  ToeplitzExtents(std::array<std::int64_t, 3> matrix, std::array<std::int64_t, 3> grid_size) {
    for (std::size_t axis = 0, used = 0; axis < 3; ++axis)
      if (grid_size[axis] > 1) n[used] = matrix[axis], g[used] = grid_size[axis], ++used;
  }
  std::int64_t voxels() const { return n[0] * n[1] * n[2]; }
  std::int64_t plane() const { return g[0] * g[1]; }
  std::int64_t grid() const { return plane() * g[2]; }
  bool flat() const { return g[2] == 1; }
  /// Elements that hold one coil's padded planes, and all that one coil takes.
  std::int64_t padded() const { return plane() * n[2]; }
  std::int64_t coil() const { return padded() + (flat() ? 1 : 2) * grid(); }
};

/// Median milliseconds of one forward() of an operator of make_toeplitz_normal_cuda, and of its cuFFT passes
/// alone.
struct ToeplitzTiming {
  double ms = 0, cufft_ms = 0;
};
ToeplitzTiming time_toeplitz_cuda(const HermitianOperator<float>& toeplitz, int repetitions);

}  // namespace fhd

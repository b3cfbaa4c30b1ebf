#pragma once
// The CPU and the CUDA side of dominant_eigenvectors (matrix_field.hpp), and the sizes that the memory of the GPU follows
// from. More coils than a GPU has shared memory for (40 on an H100) are left to the CPU.
#include <array>
#include <cstdint>
#include <vector>

#include "recon/coils/matrix_field.hpp"

namespace fhd {

void dominant_eigenvectors_cpu(const MatrixField& field, const EigenvectorRequest& request,
                               std::int64_t first_plane, Array<Complex<float>>& vectors);
void dominant_eigenvectors_cuda(const MatrixField& field, const EigenvectorRequest& request,
                                std::int64_t first_plane, Device device, Array<Complex<float>>& vectors);

/// exp(-i 2 pi D r) of the voxels of one axis, [D + degree][voxel].
std::vector<Complex<float>> axis_phases(int degree, int voxels);

/// Voxels of a row that iterate until the last of them is done: on a GPU half a warp.
inline constexpr int eigenvector_group = 16;
/// |G v - lambda v|^2 <= this |G v|^2: the error of v is the root of it over the relative gap of the eigenvalues.
inline constexpr float eigenvector_tolerance = 4e-6f;
inline constexpr int most_eigenvector_iterations = 40;

/// On a GPU: the shared memory of a warp, whose voxels have G, v and G v there.
inline constexpr int eigenvector_threads = 2 * eigenvector_group;
constexpr std::int64_t eigenvector_warp_bytes(std::int64_t coils) {
  return (coils * (coils + 1) + 4 * coils) * eigenvector_threads * 4;
}

}  // namespace fhd

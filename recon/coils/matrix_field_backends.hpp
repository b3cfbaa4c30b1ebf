#pragma once
// The CPU and the CUDA side of dominant_eigenvectors (matrix_field.hpp; the latter not in a build without CUDA),
// and the sizes that the memory of the GPU follows from.
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

/// On a GPU: what a voxel works on, in shared memory where a warp's fits, else in an array of the device.
struct EigenvectorWork {
  static constexpr int threads = 32;
  std::int64_t floats;  ///< of a voxel: G, v and G v

  explicit EigenvectorWork(std::int64_t coils) : floats(coils * (coils + 1) + 4 * coils) {}
  std::int64_t bytes_of_warp() const { return floats * threads * 4; }
  /// Where it does not fit into shared memory.
  std::int64_t warps_in_scratch() const {
    constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
    return most_bytes / bytes_of_warp() > 0 ? most_bytes / bytes_of_warp() : 1;
  }
  /// Nothing up to the number of coils that every GPU has shared memory for (99 KiB).
  double most_scratch_bytes() const {
    constexpr std::int64_t shared_everywhere = std::int64_t{96} << 10;
    return bytes_of_warp() <= shared_everywhere ? 0.0
                                                : static_cast<double>(warps_in_scratch() * bytes_of_warp());
  }
};

/// On a GPU: the planes that are worked on together, and what is held meanwhile.
struct FieldSlab {
  FieldSlab(std::int64_t coils, const std::array<int, 3>& terms, const std::array<int, 3>& matrix_size);
  int planes;
  double bytes_of_plane;  ///< field summed along z, and along y; eigenvectors; mask
  double field_bytes, scratch_bytes;
};

}  // namespace fhd

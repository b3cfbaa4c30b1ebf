#pragma once
// A Hermitian matrix of the coils at every voxel, of which sensitivities are the dominant eigenvectors.
#include <array>
#include <cstdint>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/coils/calibration.hpp"

namespace fhd {

/// At every position r (fractions of the FOV):
///
///     G_cc'(r) = sum_D h_cc'(D) exp(-i 2 pi D . r),   |D_axis| <= degree_axis, c <= c'
struct MatrixField {
  int coils = 0;
  std::array<int, 3> degree{};
  Array<Complex<float>> coefficients;  ///< h, [pair][z][y][x]; D = index - degree

  MatrixField(int coil_count, std::array<int, 3> degrees)
      : coils(coil_count),
        degree(degrees),
        coefficients({pair_count(), 2 * degree[2] + 1, 2 * degree[1] + 1, 2 * degree[0] + 1}) {}
  std::int64_t pair_count() const { return std::int64_t{coils} * (coils + 1) / 2; }
  std::int64_t pair(int c, int d) const {
    return std::int64_t{c} * coils - std::int64_t{c} * (c - 1) / 2 + d - c;
  }
  Complex<float>& at(int c, int d, const Position& difference) {
    std::int64_t index = pair(c, d);
    for (int axis = 2; axis >= 0; --axis)
      index = index * (2 * degree[axis] + 1) + difference[axis] + degree[axis];
    return coefficients.data()[index];
  }
};

/// Returns the radius of neighbourhoods in k-space, cycles/FOV: `wanted`, but at most 0.4 of the calibration region's radius.
std::array<double, 3> neighbourhood_radius(const CalibrationRegion& region, double wanted);

MatrixField espirit_field(const CalibrationRegion& region, double wanted_radius);
MatrixField adaptive_field(const CalibrationRegion& region, double wanted_radius);

/// Where a voxel of one axis lies among the points of a coarser grid over the same FOV.
struct GridPlace {
  int low, high;  ///< the points on both sides of it, or the outermost one twice
  float share;    ///< of `high`
};
FHD_HOST_DEVICE inline GridPlace grid_place(int voxel, int voxels, int points) {
  const float at =
      static_cast<float>(voxel - voxels / 2) * static_cast<float>(points) / static_cast<float>(voxels) +
      static_cast<float>(points / 2);
  const int low = at <= 0 ? 0 : at >= static_cast<float>(points - 1) ? points - 1 : static_cast<int>(at);
  const int high = low + 1 < points && at > 0 ? low + 1 : low;
  return {low, high, high > low ? at - static_cast<float>(low) : 0.0f};
}

/// Where eigenvectors are wanted, and which.
struct EigenvectorRequest {
  std::array<int, 3> matrix_size;   ///< of the field: voxels along x and y, and planes
  const Array<std::uint8_t>& mask;  ///< [z][y][x] of MapMask, host memory
  /// [coil][z][y][x] of a matrix over the FOV of the field, in host memory; between its points it is interpolated linearly.
  /// The iteration starts there: where two eigenvalues are nearly the same, vectors change no faster than these do.
  const Array<Complex<float>>& reference;
  float least;  ///< eigenvalue whose vector is wanted beside tissue
  /// Vectors found before, as `vectors` below: wanted are those of the next eigenvalues, on the CPU, from any start.
  const Array<Complex<float>>* beside = nullptr;

  /// Where the images show tissue there is a first vector, however noisy.
  float least_at(std::uint8_t mask_value) const {
    return mask_value == MapMask::tissue && beside == nullptr ? 0 : least;
  }
};

/// Finds the eigenvectors to the largest eigenvalues of a field: unit vectors v with sum_c conj(reference_c(r)) v_c real and
/// not negative. Writes the planes of `vectors` [coil][z][y][x], host memory, of the matrix of the mask, from `first_plane`
/// on, as many as the field has; 0 where none is wanted, near tissue where the eigenvalue is below `least`, and where a
/// voxel has no first vector `beside` which to seek. The same on each device but for rounding.
void dominant_eigenvectors(const MatrixField& field, const EigenvectorRequest& request,
                           std::int64_t first_plane, Device device, Array<Complex<float>>& vectors);

// Its sides; more coils than a GPU has shared memory for (40 on an H100) are left to the CPU.
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

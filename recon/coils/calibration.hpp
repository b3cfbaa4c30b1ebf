#pragma once
// The centre of k-space of every coil on Cartesian positions, made from any trajectory: what sensitivity maps
// are estimated from.
#include <array>
#include <cstdint>

#include "recon/array/array.hpp"
#include "recon/coils/lattice.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

struct CalibrationRegion {
  /// [coil][z][y][x], element n of L at n - floor(L/2) cycles/FOV. For data of which the largest is 1.
  Array<Complex<float>> kspace;
  /// Positions with sum_axis (k / radius)^2 > 1 are not reliable. 0 on an axis of one voxel.
  std::array<int, 3> radius{};
  /// Whether the samples alone determine it. False: it was completed by the coils together, see below.
  bool sampled = true;

  std::array<int, 3> matrix_size() const {
    return {static_cast<int>(kspace.extent(3)), static_cast<int>(kspace.extent(2)),
            static_cast<int>(kspace.extent(1))};
  }
  /// Of position k (cycles/FOV) in one coil.
  std::int64_t index_of(const Position& k) const {
    const auto n = matrix_size();
    return row_major({k[0] + n[0] / 2, k[1] + n[1] / 2, k[2] + n[2] / 2}, n);
  }
};

/// Takes the samples inside a small matrix of voxels over the full FOV.
///
/// Where these determine it - nine in ten of the integer positions inside the radius have a sample within
/// half a cycle/FOV - every coil's image is the solution of
///
///     (F^H D F + lambda) m_c = F^H D d_c,    D = density compensation (Pipe and Menon 1999), lambda = 1e-3,
///
/// and F^H D F is near the identity, so that a few conjugate gradient iterations do. The radius shrinks from
/// `largest_radius` down to `least_radius` as long as the samples do not determine it.
///
/// Where they do not (undersampled spirals), images and smooth sensitivities are found together by
/// estimate_jointly (joint_estimation.hpp), and the region is F (S_c rho).
CalibrationRegion calibration_region(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                                     std::array<int, 3> matrix_size, int largest_radius, int least_radius);

/// The smallest radius that maps are made from, in cycles/FOV.
inline int least_calibration_radius(const std::array<int, 3>& matrix_size) {
  return matrix_size[2] > 1 ? 10 : 12;
}
/// CalibrationRegion::sampled, known before: whether the samples determine the region with the least radius.
bool calibration_is_sampled(const Trajectory& trajectory, std::array<int, 3> matrix_size);

/// The matrix of the region with this radius: that of the image where it is smaller.
std::array<int, 3> calibration_matrix(const std::array<int, 3>& matrix_size, int radius);
inline constexpr double calibration_accuracy = 1e-4;  ///< of its gridded transform

/// The region's k-space times 1/2 + 1/2 cos(pi |k| / radius), 0 beyond the radius: images of it do not ring.
Array<Complex<float>> windowed(const CalibrationRegion& region);

/// exp(-i 2 pi k r) transforms between images [coil][z][y][x] and k-space of the same matrix, both with index
/// floor(L/2) at the centre, of every coil. sign -1: to k-space, unnormalised; +1: to images, divided by the
/// voxels.
void centred_fft(Array<Complex<float>>& coils, int sign);

}  // namespace fhd

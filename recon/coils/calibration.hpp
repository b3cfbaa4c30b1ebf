#pragma once
// The centre of k-space of every coil on Cartesian positions, made from any trajectory: what sensitivity maps
// are estimated from.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "recon/array/linear_operator.hpp"
#include "recon/coils/lattice.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

struct CalibrationRegion {
  /// [coil][z][y][x], element n of L at n - floor(L/2) cycles/FOV. For data of which the largest is 1.
  Array<Complex<float>> kspace;
  std::array<int, 3> radius{};  ///< sum_axis (k / radius)^2 > 1 is not reliable; 0 on an axis of one voxel
  bool sampled = true;  ///< the samples alone determine the region; else the coils together completed it
  Array<Complex<float>> smooth{};  ///< s of every coil, [coil][term], of joint estimation; else empty
  /// Variance of the noise in a voxel of the windowed images, of samples whose noise has variance 1:
  /// sum_m (D_m window(k_m))^2, over the square of the largest value.
  double noise_gain = 0;

  std::array<int, 3> matrix_size() const {
    return {static_cast<int>(kspace.extent(3)), static_cast<int>(kspace.extent(2)),
            static_cast<int>(kspace.extent(1))};
  }
  /// Returns the index of position k (cycles/FOV) in one coil.
  std::int64_t index_of(const Position& k) const {
    const auto n = matrix_size();
    return row_major({k[0] + n[0] / 2, k[1] + n[1] / 2, k[2] + n[2] / 2}, n);
  }
};

/// Returns the samples with |k| <= matrix_size / 2 on every axis of more than one voxel, ascending.
std::vector<std::int64_t> indices_inside(const Trajectory& trajectory, const std::array<int, 3>& matrix_size);
/// Some samples of a scan. `kspace` may be empty: then so are the values.
struct CentralSamples {
  Trajectory trajectory;
  Array<Complex<float>> kspace;
};
/// Returns the samples with these indices; both arrays in host memory.
CentralSamples samples_at(const std::vector<std::int64_t>& indices, const Trajectory& trajectory,
                          const Array<Complex<float>>& kspace);
/// Returns the samples with |k| <= matrix_size / 2 on every axis.
CentralSamples samples_inside(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                              std::array<int, 3> matrix_size);

using MakeNormal = std::function<std::shared_ptr<const HermitianOperator<float>>()>;

/// How much of the centre of k-space: see CalibrationSystem.
struct CalibrationExtent {
  std::array<int, 3> matrix_size;
  int largest_radius, least_radius, least_width;
  bool jointly = false;  ///< image and sensitivities are found together, whatever the samples determine
  bool operator==(const CalibrationExtent&) const = default;
};

/// Computes all that a calibration region takes from the trajectory alone, from the samples inside a small matrix of voxels
/// over the full FOV. Where these determine it - nine in ten of the integer positions inside the radius have a sample
/// within half a cycle/FOV - every coil's image is the solution, by a few iterations of conjugate gradient, of
///
///     (F^H D F + lambda) m_c = F^H D d_c,    D = density compensation (Pipe and Menon 1999), lambda = 1e-3.
///
/// The radius shrinks from `largest_radius` down to `least_radius` as long as the samples do not determine it; of reference
/// lines (`least_width` < `least_radius`), also along one or both phase axes down to `least_width`. Else images and smooth
/// sensitivities are found together by estimate_jointly, on the CPU, and the region is F (S_c rho). `device` grids and
/// solves where the region is large.
class CalibrationSystem {
 public:
  CalibrationSystem(const Trajectory& trajectory, const CalibrationExtent& extent, Device device);

  /// Returns whether it was made for these inputs, positions near the centre among them.
  bool is_of(const Trajectory& trajectory, const CalibrationExtent& extent, Device device) const;
  /// Returns the region of k-space [coil][sample] of all samples; both in host memory. One call at a time. Throws Error
  /// where k-space near the centre is zero.
  CalibrationRegion region(const Array<Complex<float>>& kspace);

 private:
  Array<Complex<float>> solve_coil_by_coil(Array<Complex<float>> right_hand_side);
  std::shared_ptr<const HermitianOperator<float>> make_normal() const;

  CalibrationExtent extent_;
  Device device_;
  std::vector<std::int64_t> looked_at_;  ///< samples inside the largest small matrix
  Trajectory positions_;                 ///< theirs
  std::array<int, 3> radius_{}, small_{};
  bool sampled_ = true;
  std::vector<std::int64_t> inside_;  ///< samples inside the small matrix
  Array<double> density_;
  double noise_gain_ = 0;  ///< CalibrationRegion::noise_gain, of samples as they are
  std::unique_ptr<FourierTransform<float>> transform_;
  Array<Complex<float>> point_spread_, ones_;                             ///< where it is solved
  std::vector<std::shared_ptr<const HermitianOperator<float>>> normals_;  ///< of each thread that solves
};

/// Returns one region. `kept` holds the system of the scan before: it is used where it fits, else made, and left there
/// where it is small.
CalibrationRegion calibration_region(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                                     const CalibrationExtent& extent, Device device = Device::cpu(),
                                     std::optional<CalibrationSystem>* kept = nullptr);

/// Image and sensitivities at once, by the iteratively regularised Gauss-Newton method:
///
///     x = (rho, s),   c_j(r) = sum_k omega(k) s_j(k) exp(i 2 pi k . r),   omega(k) = (1 + |k|^2 / 100)^-12,
///     k integer, at most 8 cycles/FOV on every axis (omega = 3e-3),
///
///     (DG^H T DG + alpha_n) dx = DG^H (b - T G(x_n)) + alpha_n (x_0 - x_n),
///     G(x)_j = rho c_j,   alpha_n = 4^-n
///
/// from x_0 = (1, 0), six steps. T = F^H D F of one coil, near the identity where k-space is sampled, is made
/// once for every thread; `right_hand_side` is b_j = F^H D d_j. The weight omega keeps sensitivities smooth,
/// alpha selects among the factorisations. Source: Uecker et al., MRM 60:674 (2008); for non-Cartesian
/// samples Uecker et al., NMR Biomed. 23:986 (2010).
struct JointEstimate {
  Array<Complex<float>> coil_images;  ///< rho c_j, [coil][z][y][x]
  Array<Complex<float>> smooth;       ///< s_j, [coil][term]
};
JointEstimate estimate_jointly(const MakeNormal& make_normal, const Array<Complex<float>>& right_hand_side);
/// c_j / sqrt(sum_j |c_j|^2) at the voxels of a matrix over the same FOV, [coil][z][y][x]; 0 where `mask` [z][y][x] is.
Array<Complex<float>> smooth_maps(const CalibrationRegion& region, const Array<std::uint8_t>& mask);

/// The smallest radius that maps are made from, in cycles/FOV.
inline int least_calibration_radius(const std::array<int, 3>& matrix_size) {
  return matrix_size[2] > 1 ? 10 : 12;
}
/// Returns whether the samples determine the region with the least radius.
bool calibration_is_sampled(const Trajectory& trajectory, std::array<int, 3> matrix_size);

/// Returns the matrix of the region with this radius, at most that of the image.
std::array<int, 3> calibration_matrix(const std::array<int, 3>& matrix_size, int radius);
inline constexpr double calibration_accuracy = 1e-4;  ///< of its gridded transform

/// Returns whether a GPU would do nothing but launch kernels; such a system is kept for the next scan.
inline bool is_small_region(const std::array<int, 3>& matrix_size) {
  constexpr double worth_launching = 1 << 13;
  return double(matrix_size[0]) * matrix_size[1] * matrix_size[2] < worth_launching;
}
/// Returns where calibration_region grids.
inline Device gridding_device(const std::array<int, 3>& matrix_size, Device device) {
  return is_small_region(matrix_size) ? Device::cpu() : device;
}
/// Returns where it solves.
inline Device solving_device(const std::array<int, 3>& matrix_size, bool sampled, Device device) {
  return sampled ? gridding_device(matrix_size, device) : Device::cpu();
}

/// The region's k-space times 1/2 + 1/2 cos(pi |k| / radius), 0 beyond the radius: images of it do not ring.
Array<Complex<float>> windowed(const CalibrationRegion& region);

/// Transforms every coil by exp(sign i 2 pi k r) between images [coil][z][y][x] (+1: divided by the voxels) and k-space
/// (-1) of the same matrix, both with index floor(L/2) at the centre.
void centred_fft(Array<Complex<float>>& coils, int sign);

/// Where maps are wanted: not in air; near tissue, as far as they are known; in tissue and what it surrounds.
struct MapMask {
  static constexpr std::uint8_t air = 0, near_tissue = 1, tissue = 2;
};
/// Returns [z][y][x] of `matrix_size`. Tissue is where the low-resolution image stands out of the noise (coils/mask.cpp) and
/// is above a share of the root mean square of its signal, and what it surrounds; near it is what lies within 1/16 FOV.
/// `noise` is the variance of each coil in a voxel of the windowed images; empty where it is not known.
Array<std::uint8_t> signal_mask(const CalibrationRegion& region, const std::vector<double>& noise,
                                std::array<int, 3> matrix_size);

}  // namespace fhd

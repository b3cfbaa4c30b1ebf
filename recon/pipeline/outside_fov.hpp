#pragma once
// Tissue outside the field of view, which leaves a bright edge and streaks. Where the samples are dense enough to tell it
// apart, a larger matrix of the same voxels explains it, and the image is cropped.
#include <array>
#include <string>

#include "recon/coils/maps.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"

namespace fhd {

/// Factors of the FOV along each axis, >= 1.
using FieldFactors = std::array<double, 3>;
inline constexpr FieldFactors own_field{1, 1, 1};

/// Returns the field that the centre of k-space, and of a reference for the maps, is dense enough for: 2 along every axis
/// but those of one voxel, of Cartesian steps, or cropped already; `own_field` where it is not for all of them at once.
FieldFactors resolved_field(const Scan& scan);

/// The view of an image of low resolution along one axis; lengths in FOVs, from its centre.
struct AxisView {
  double resolved = 0.5;  ///< the image ends here; 0.5: it shows nothing beyond the FOV
  double reach = 0;       ///< outermost place with a signal above noise and leakage
  double blur = 0;        ///< of the low resolution: a sharp edge seems to reach so much further
};
/// Returns the matrix that holds the object, of the same voxels: even numbers of small prime factors, at most twice
/// the matrix, along axes where the object reaches beyond the FOV by 1 % of it; elsewhere `matrix_size`.
std::array<int, 3> matrix_for_object(const std::array<int, 3>& matrix_size,
                                     const std::array<AxisView, 3>& views);

struct ObjectBeyondFov {
  std::array<int, 3> matrix_size{};  ///< that holds the object; that of the scan where it fits
  double energy_share = 0;           ///< of the object, beyond the FOV, at low resolution
};
/// Finds the object in the field `resolved` from the centre of k-space of two (in 2D four) virtual coils: in an image by
/// least squares (calibration_region, with its cache `kept`), a signal counts above 1 % of the mean energy inside the FOV
/// and above twice the noise of known_noise. `device` makes the image.
ObjectBeyondFov object_beyond_fov(const Scan& scan, const FieldFactors& resolved,
                                  Device device = Device::cpu(),
                                  std::optional<CalibrationSystem>* kept = nullptr);
/// Returns "the object reaches beyond the field of view along y (12 % of its energy at low resolution)", for a scan
/// of this smaller matrix.
std::string in_words(const ObjectBeyondFov& object, const std::array<int, 3>& matrix_size);

/// Returns the cost of object_beyond_fov, of `samples` in all.
MapsCost look_cost(const std::array<int, 3>& matrix_size, const FieldFactors& resolved, std::int64_t samples,
                   std::int64_t coils, Device device = Device::cpu());

/// Returns whether these settings ask for the search.
bool looks_beyond_fov(const Settings& settings);
/// Returns what keeps a scan on its matrix with these settings: "its sensitivity maps end there"; empty where nothing
/// does.
std::string bound_to_fov(const Scan& scan, const Settings& settings);
/// Returns the scan on a matrix of the same voxels about the same centre, cropped to its own; without its maps.
Scan on_larger_matrix(const Scan& scan, const std::array<int, 3>& matrix_size);

}  // namespace fhd

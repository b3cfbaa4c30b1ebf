#pragma once
// Vectors of the coils on the grid of a calibration region, from which the search of eigenvectors starts and from which
// these take their phases: they change little from point to point, and their phases wind about no point, as far as the
// calibration allows.
#include <array>
#include <cstdint>
#include <vector>

#include "recon/array/execution.hpp"
#include "recon/coils/matrix_field.hpp"

namespace fhd {

/// A place with signal where maps cannot be followed from point to point.
struct MapDefect {
  enum class Kind {
    jump,   ///< |v^H v'| of neighbours is small
    vortex  ///< the phase of v^H v' winds about a square of neighbours
  } kind = Kind::jump;
  std::array<int, 3> voxel{};  ///< x, y, z, the first of the neighbours
  double energy = 0;           ///< of the signal there; 1: typical of tissue
};
/// Neighbours of the grid are FOV/14 ... FOV/24 apart; maps of coils turn by less between them.
inline constexpr double least_overlap = 0.5;
inline constexpr double least_overlap_of_voxels = 0.7;

/// Phases of unit vectors, or vectors 0, at the points of a grid.
struct AlignedPhases {
  std::vector<Complex<float>> turns;  ///< unit numbers, [z][y][x]: vectors times these are aligned
  std::vector<MapDefect> defects{};   ///< where neighbours overlap by less than least_overlap, or wind
};
/// Finds turns that make v^H v' of neighbours real and positive as nearly as they all can be. From the point of most energy
/// outwards, through tissue first, each point is aligned with those before it; then the angles that are left,
///
///     sum over neighbours of weight (arg(v^H v') + phi' - phi)^2,   weight ~ the lesser energy, within 1e-3 ... 1,
///
/// are made least by successive over-relaxation: so they become what curvature (the angle about a small square, which
/// no turns change) makes of them, spread over the object, and no line or point is left where it gathers. `vectors`
/// [coil][z][y][x]; `energy` of the signal, [z][y][x].
AlignedPhases align_phases(const Array<Complex<float>>& vectors, const std::vector<double>& energy);

/// Holds vectors [coil][z][y][x] on every second point of the matrix of the region: eigenvectors of the field to the largest
/// eigenvalue. They are sought from the images of low resolution, so that of two eigenvalues that are nearly the same the one
/// with the signal counts. Phases are aligned, and the sum over the grid, weighted by `component` [coil], conjugated, and by
/// energy, is real and positive.
struct SmoothReference {
  Array<Complex<float>> vectors;
  std::vector<MapDefect> defects{};
};
SmoothReference smooth_reference(const CalibrationRegion& region, const MatrixField& field,
                                 const std::vector<Complex<float>>& component, Device device);

/// Returns whether maps [coil][z][y][x] of unit length jump, or their phases wind, between neighbours among the voxels from
/// `first` to `last`.
bool breaks(const Array<Complex<float>>& maps, MapDefect::Kind kind, const Position& first,
            const Position& last);

}  // namespace fhd

#pragma once
// Slices that make one volume: of like directions, in the order of their places.
#include <cstddef>
#include <vector>

#include "recon/domain/geometry.hpp"

namespace fhd {

/// Slices that lie behind each other. Of images with several voxels along z there is one, unless none states its place.
struct SliceStack {
  std::vector<std::size_t> slices;  ///< their numbers, by rising place along the slice direction
  /// Maps voxel (x, y, place in the stack, 1) to LPS, mm. Slices follow each other in their mean step.
  Affine voxel_to_lps_mm{};
  bool states_places = true;  ///< false: all state one position, so that they are stacked by their thickness
  double step_mm = 0;         ///< from one slice to the next; 0: there is one
  double misplaced_mm = 0;    ///< the largest distance of a slice from where the map puts it

  /// Returns whether all slices lie where the map puts them, to 1 % of their step.
  bool is_even() const { return misplaced_mm <= 0.01 * step_mm; }
};

/// Returns the stacks of slices, in the order of their first numbers. Slices of one stack have the same directions to 1e-4
/// (0.01 voxels at the edge of 256). Of slices at one place, to 0.01 mm, the second and further ones make stacks of their
/// own, unless no slice of these directions lies elsewhere.
std::vector<SliceStack> stacks_of(const std::vector<Geometry>& slices);

}  // namespace fhd

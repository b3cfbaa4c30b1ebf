// Checks voxels, directions and positions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/result/nifti.hpp"
#include "recon/domain/option_words.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {

void check_geometry(const Geometry& geometry, Findings& findings) {
  double smallest = INFINITY, largest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (geometry.matrix_size[axis] == 1 || geometry.fov_mm[axis] == 0) continue;
    const double voxel = geometry.fov_mm[axis] / geometry.matrix_size[axis];
    smallest = std::min(smallest, voxel);
    largest = std::max(largest, voxel);
  }
  if (largest == 0) return;  // an unknown FOV is said elsewhere
  // Human MRI lies between 0.1 mm (microscopy at 7 T and above) and 20 mm (spectroscopic imaging).
  if (smallest < 0.1 || largest > 20)
    findings.add(
        Severity::warning, "geometry",
        fmt::format("Voxels of {:.3g} to {:.3g} mm are unusual: the FOV may be in another unit than mm.",
                    smallest, largest),
        option_words("fov-mm", "X,Y,Z") + " states it");
  else if (largest > 2.5 * smallest)
    findings.add(
        Severity::note, "geometry",
        fmt::format("Voxels are {:.3g} mm long on one axis and {:.3g} mm on another.", smallest, largest),
        "if that is not meant: " + option_words("fov-mm") + " or " + option_words("matrix"));
  const auto& a = geometry.read_direction;
  const auto& b = geometry.phase_direction;
  const auto& c = geometry.slice_direction;
  const double determinant = a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
                             a[2] * (b[0] * c[1] - b[1] * c[0]);
  if (determinant < 0)
    findings.add(
        Severity::note, "geometry",
        "The read, phase and slice directions form a left-handed system, as the gradients of Siemens do; "
        "the NIfTI affine keeps it.",
        "if the image is mirrored: turn one direction in the file, or in the copy that 'fhd convert' makes "
        "of a .dat");
}

void check_positions(const std::vector<Geometry>& slices, Findings& findings) {
  const auto at_origin = [](const Geometry& g) { return g.position_mm == std::array<double, 3>{}; };
  if (slices.size() > 1 && std::all_of(slices.begin() + 1, slices.end(), [&](const Geometry& g) {
        return g.position_mm == slices.front().position_mm &&
               g.slice_direction == slices.front().slice_direction;
      })) {
    findings.add(
        Severity::warning, "positions",
        fmt::format("All {} slices are at one position: the NIfTI file stacks them by their thickness.",
                    slices.size()),
        "write each slice's position into the file");
    return;
  }
  if (std::all_of(slices.begin(), slices.end(), at_origin))
    findings.add(
        Severity::note, "positions",
        "The position is 0, 0, 0: the scanner's isocentre, or not stated. Images will be centred there.",
        "write position (ISMRMRD) or position_mm (fhd) into the file");
  if (const auto places = io::note_of_places(stacks_of(slices)); !places.empty())
    findings.add(Severity::warning, "positions", fmt::format("Places of slices: {}.", places),
                 option_words("slices") + " chooses others");
}

}  // namespace fhd::doctor

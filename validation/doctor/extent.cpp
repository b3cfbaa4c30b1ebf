// Checks whether k-space reaches as far as the matrix says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/transform/cartesian.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {
namespace {

/// Returns the fewest voxels whose k-space contains the positions along an axis. A grid has the lines -N/2 ... N/2 - 1; of
/// other positions the edge may be rounded, and an even number is likelier.
int matrix_for(const Extent& extent, bool on_grid) {
  if (on_grid)
    return static_cast<int>(std::lround(std::max({1.0, -2 * extent.lowest, 2 * extent.highest + 1})));
  const int fewest = std::max(1, static_cast<int>(std::ceil(2 * extent.magnitude() / edge_rounding)));
  return fewest % 2 == 1 && fewest < 2 * extent.magnitude() ? fewest + 1 : fewest;
}

/// Returns the unit in which the positions reach the edge of k-space, where there is one; else the matrix whose edge they reach.
std::string remedy_of_short_extent(const Scan& scan, const std::array<Extent, 3>& extents,
                                   const std::array<int, 3>& matrix, double least_fill) {
  const auto unit = io::likelier_unit(
      io::TrajectoryUnit::cycles_per_fov,
      {extents[0].magnitude(), extents[1].magnitude(), extents[2].magnitude()}, scan.geometry);
  return unit ? "the unit may be " + option_words("trajectory-unit", io::name_of(*unit))
              : option_words("matrix", fmt::format("{}", fmt::join(matrix, ","))) +
                    (least_fill < 0.35 ? ", or another " + option_words("trajectory-unit") : "");
}

}  // namespace

void check_extent(const Scan& scan, Findings& findings) {
  const auto extents = extents_of(scan.trajectory);
  auto suggested = scan.geometry.matrix_size;
  std::vector<std::string> short_axes;
  double least_fill = 1;
  const bool on_grid = is_cartesian(scan.trajectory, scan.geometry.matrix_size);
  for (int axis = 0; axis < 3; ++axis) {
    const int n = scan.geometry.matrix_size[axis];
    if (n == 1) continue;
    const double reach = extents[axis].magnitude(), fill = reach / (n / 2.0);
    // The outermost Cartesian line lies at (N/2 - 1) / (N/2) at least: 0.8 leaves room for N >= 10. Spirals
    // and spokes that stop short of the edge by design reach 0.9.
    if (fill < 0.8) {
      suggested[axis] = matrix_for(extents[axis], on_grid);
      if (reach == 0) {
        findings.add(Severity::warning, "extent",
                     fmt::format("k along {} is 0 everywhere, though the matrix has {} voxels there.",
                                 axis_names[axis], n),
                     option_words("matrix") + " with 1 along " + axis_names[axis]);
        continue;
      }
      least_fill = std::min(least_fill, fill);
      short_axes.push_back(fmt::format("{:.4g} of {:g} along {}", reach, n / 2.0, axis_names[axis]));
    }
    const double shorter = std::min(-extents[axis].lowest, extents[axis].highest);
    if (reach > 2 && shorter < 0.5 * reach)
      findings.add(
          Severity::note, "extent",
          fmt::format("k along {} runs from {:.4g} to {:.4g}: one side of k-space is missing (partial "
                      "Fourier), and the image is reconstructed without it.",
                      axis_names[axis], extents[axis].lowest, extents[axis].highest),
          shorter >= 2 && on_grid
              ? option_words("partial-fourier", "phase") + ", where the phase of the object is smooth"
              : "");
  }
  if (!short_axes.empty())
    findings.add(
        Severity::warning, "extent",
        fmt::format("The trajectory stays far inside k-space of this matrix ({} cycles/FOV): the image is "
                    "blurred to that resolution.",
                    fmt::join(short_axes, ", ")),
        remedy_of_short_extent(scan, extents, suggested, least_fill));
}

void check_swapped_axes(const std::string& path, const DiagnosisSettings& settings,
                        const io::ScanSummary& summary, Findings& findings) {
  const auto& n = summary.geometry.matrix_size;
  if (n[0] == n[1] || summary.has_sensitivity_maps || summary.has_field_map) return;
  auto options = settings.options;
  const int largest = std::max(n[0], n[1]);
  options.matrix_size = {largest, largest, n[2]};
  try {
    const auto extents = extents_of(io::open_scan(path, options)->read(0, 0).trajectory);
    const auto fits = [](double k, int voxels) {
      return k <= edge_rounding * voxels / 2 && k >= 0.8 * voxels / 2;
    };
    if (fits(extents[0].magnitude(), n[1]) && fits(extents[1].magnitude(), n[0]))
      findings.add(
          Severity::problem, "extent",
          fmt::format("k reaches {:.4g} along x and {:.4g} along y for a matrix of {} x {}: x and y look "
                      "exchanged.",
                      extents[0].magnitude(), extents[1].magnitude(), n[0], n[1]),
          option_words("matrix", fmt::format("{},{},{}", n[1], n[0], n[2])) +
              ", or exchange the axes of the trajectory");
  } catch (const Error&) {
    // The reason why it cannot be read is already among the findings.
  }
}

}  // namespace fhd::doctor

#pragma once
// Compares sensitivity maps, or a calibration, with the low-resolution image of each coil, before any search: maps of
// another position, head, order, sign or orientation are told from errors of the trajectory.
#include <optional>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::validation {

struct MapAgreement {
  /// Share of the energy at the centre of k-space that an image with the maps explains; right maps leave less than 0.01.
  /// Negative: not known (one coil, no maps of the file's own, too few samples).
  double explained = -1;
  double explained_without_maps =
      -1;  ///< by an image of its own for each coil: other mistakes than of maps leave more
  std::optional<Finding> cause;  ///< a change of the maps with which they agree; code "sensitivity_maps"
};

/// Takes some 0.1 s.
MapAgreement compare_maps(const Scan& scan);

/// Returns that the maps do not agree with the data, and nothing simple makes them; empty where they do, or it is not
/// known.
std::optional<Finding> unlike_maps(const MapAgreement& agreement);

}  // namespace fhd::validation

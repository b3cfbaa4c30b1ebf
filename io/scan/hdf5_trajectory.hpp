#pragma once
// The dataset /trajectory of an HDF5 file, a scan's own or one beside it:
//
//   /trajectory          real  [sample][axis] with axes x, y or x, y, z, or [repetition][slice][sample][axis]
//     attribute unit     text  cycles/FOV, cycles/voxel, radians/voxel, 1/m, 1/mm or kmax; required
#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

constexpr auto trajectory_name = "/trajectory";

/// The unit that the user told or, where that is automatic, the file states. Says in `inferred` that it is the user's.
/// Throws Error where neither is known.
TrajectoryUnit unit_of_trajectory(const hdf5::File& file, TrajectoryUnit told,
                                  std::vector<std::string>& inferred);
/// Positions [axis][sample] of one slice and repetition, in the unit of the file; 0 along an axis that is left out.
/// Throws Error.
Array<double> read_stored_trajectory(const hdf5::File& file, std::int64_t slice, std::int64_t repetition);

}  // namespace fhd::io

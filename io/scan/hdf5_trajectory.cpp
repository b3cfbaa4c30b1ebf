#include "io/scan/hdf5_trajectory.hpp"

#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {

using hdf5::Extents;

TrajectoryUnit unit_of_trajectory(const hdf5::File& file, TrajectoryUnit told,
                                  std::vector<std::string>& inferred) {
  if (told != TrajectoryUnit::automatic) {
    inferred.push_back(unit_of_options(told));
    return told;
  }
  constexpr auto expected = "cycles/FOV, cycles/voxel, radians/voxel, 1/m, 1/mm or kmax";
  const auto subject = file.subject(trajectory_name) + " attribute 'unit'";
  if (!file.has_attribute(trajectory_name, "unit"))
    throw Error(subject, expected, "none", "tell the unit with --trajectory-unit");
  const auto stated = parse_trajectory_unit(file.text_attribute(trajectory_name, "unit"), subject);
  if (stated == TrajectoryUnit::automatic) throw Error(subject, expected, "'auto'");
  return stated;
}

Array<double> read_stored_trajectory(const hdf5::File& file, std::int64_t slice, std::int64_t repetition) {
  const auto dataset = file.dataset(trajectory_name);
  const auto& extents = dataset.extents();
  const auto rank = extents.size();
  const auto axes = rank == 0 ? 0 : extents.back();
  if ((rank != 2 && rank != 4) || (axes != 2 && axes != 3) || extents[rank - 2] < 1)
    throw Error(dataset.subject(), "[sample][axis] or [repetition][slice][sample][axis] with 2 or 3 axes",
                hdf5::text_of(extents));
  const auto samples = extents[rank - 2];
  const auto stored =
      dataset.read<double>({samples, axes}, rank == 4 ? Extents{repetition, slice} : Extents{});
  Array<double> k({3, samples});
  for (std::int64_t axis = 0; axis < axes; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) k[axis * samples + m] = stored[m * axes + axis];
  return k;
}

}  // namespace fhd::io

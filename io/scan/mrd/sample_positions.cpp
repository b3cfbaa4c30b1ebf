#include "io/scan/mrd/sample_positions.hpp"

#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {

SamplePositions choose_positions(const Header& header, const ReadOptions& options, const EncodedSpace& space,
                                 const TrajectoryExtent& extent, const Subjects& subjects,
                                 std::vector<std::string>& inferred) {
  const auto& geometry = space.unit_geometry;
  const auto& n = geometry.matrix_size;
  SamplePositions positions{n, extent.axis_count, header.step_1 ? header.step_1->center : n[1] / 2,
                            header.step_2 ? header.step_2->center : n[2] / 2};
  if (extent.axis_count == 0) {
    if (header.trajectory != "cartesian" && header.trajectory != "epi")
      throw Error(subjects.readouts,
                  "readouts with their trajectory, because the header says '" + header.trajectory + "'",
                  "trajectory_dimensions 0", "write the k-space positions into the file");
    positions.center_is_stated = extent.some_center_is_stated;
    if (!positions.center_is_stated)
      inferred.push_back(
          "No readout states its center_sample: the centre of k-space is taken to be the middle of each.");
    if (!header.step_1 && n[1] > 1)
      inferred.push_back(
          "The header states no limits: the centre of k-space is taken to be the middle encoding step.");
    return positions;
  }
  if (extent.axis_count == 1) throw Error(subjects.readouts, "a trajectory of 2 or 3 axes", "1");
  auto largest_k = extent.largest_k;
  if (n[2] == 1) {
    if (extent.axis_count > 2 && largest_k[2] > 0)
      inferred.push_back("The third axis of the trajectory is ignored: the matrix has one voxel along z.");
    largest_k[2] = 0;
  } else if (extent.axis_count == 2) {
    positions.stacked = true;
    inferred.push_back(
        "The trajectory has two axes and the matrix three: k along z is taken from kspace_encode_step_2.");
  }
  auto unit = options.trajectory_unit;
  if (unit != TrajectoryUnit::automatic)
    inferred.push_back(unit_of_options(unit));
  else if (!header.trajectory_unit.empty())
    unit = parse_trajectory_unit(header.trajectory_unit,
                                 subjects.header + " userParameterString 'trajectory_unit'");
  if (unit == TrajectoryUnit::automatic) {
    const auto found = infer_trajectory_unit(largest_k, geometry, subjects.readouts);
    unit = found.unit;
    inferred.push_back(found.reason);
  }
  positions.scale = scale_to_cycles_per_fov(unit, geometry, subjects.readouts);
  return positions;
}

std::array<double, 3> SamplePositions::of(const Readout& readout, std::int64_t sample) const {
  const auto& head = readout.head;
  const auto& n = matrix_size;
  const double kz_step = n[2] > 1 ? double(head.idx.kspace_encode_step_2) - center_step_2 : 0;
  if (axis_count > 0) {
    const float* k = readout.trajectory.data() + sample * axis_count;
    return {k[0] * scale[0], k[1] * scale[1], stacked ? kz_step : n[2] > 1 ? k[2] * scale[2] : 0};
  }
  const std::int64_t last = head.number_of_samples - 1;
  const std::int64_t center = center_is_stated ? head.center_sample : head.number_of_samples / 2;
  const bool reverse = head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
  return {static_cast<double>((reverse ? last - sample : sample) - center),
          n[1] > 1 ? double(head.idx.kspace_encode_step_1) - center_step_1 : 0, kz_step};
}

}  // namespace fhd::io::mrd

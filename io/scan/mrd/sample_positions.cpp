#include "io/scan/mrd/sample_positions.hpp"

#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {

SamplePositions::SamplePositions(const Header& header, const ReadOptions& options, const EncodedSpace& space,
                                 const TrajectoryExtent& extent, const Subjects& subjects,
                                 std::vector<std::string>& inferred)
    : matrix_size_(space.unit_geometry.matrix_size),
      axis_count_(extent.axis_count),
      // Where the header does not say, the centre is the middle step.
      center_step_1_(header.step_1 ? header.step_1->center : matrix_size_[1] / 2),
      center_step_2_(header.step_2 ? header.step_2->center : matrix_size_[2] / 2) {
  if (axis_count_ == 0) {
    count_encoding_steps(header, extent, subjects, inferred);
    return;
  }
  if (axis_count_ == 1) throw Error(subjects.readouts, "a trajectory of 2 or 3 axes", "1");
  std::array<double, 3> largest_k = extent.largest_k;
  if (matrix_size_[2] == 1) {
    if (axis_count_ > 2 && largest_k[2] > 0)
      inferred.push_back("The third axis of the trajectory is ignored: the matrix has one voxel along z.");
    largest_k[2] = 0;
  } else if (axis_count_ == 2) {
    stacked_ = true;
    inferred.push_back(
        "The trajectory has two axes and the matrix three: k along z is taken from kspace_encode_step_2.");
  }
  choose_unit(header, options, space, largest_k, subjects, inferred);
}

void SamplePositions::count_encoding_steps(const Header& header, const TrajectoryExtent& extent,
                                           const Subjects& subjects, std::vector<std::string>& inferred) {
  if (header.trajectory != "cartesian" && header.trajectory != "epi")
    throw Error(subjects.readouts,
                "readouts with their trajectory, because the header says '" + header.trajectory + "'",
                "trajectory_dimensions 0", "write the k-space positions into the file");
  center_is_stated_ = extent.some_center_is_stated;
  if (!center_is_stated_)
    inferred.push_back(
        "No readout states its center_sample: the centre of k-space is taken to be the middle of each.");
  if (!header.step_1 && matrix_size_[1] > 1)
    inferred.push_back(
        "The header states no limits: the centre of k-space is taken to be the middle encoding step.");
}

void SamplePositions::choose_unit(const Header& header, const ReadOptions& options, const EncodedSpace& space,
                                  const std::array<double, 3>& largest_k, const Subjects& subjects,
                                  std::vector<std::string>& inferred) {
  auto unit = options.trajectory_unit;
  if (unit != TrajectoryUnit::automatic)
    inferred.push_back(unit_of_options(unit));
  else if (!header.trajectory_unit.empty())
    unit = parse_trajectory_unit(header.trajectory_unit,
                                 subjects.header + " userParameterString 'trajectory_unit'");
  if (unit == TrajectoryUnit::automatic) {
    const auto found = infer_trajectory_unit(largest_k, space.unit_geometry, subjects.readouts);
    unit = found.unit;
    inferred.push_back(found.reason);
  }
  scale_ = scale_to_cycles_per_fov(unit, space.unit_geometry, subjects.readouts);
}

std::array<double, 3> SamplePositions::of(const Readout& readout, std::int64_t sample) const {
  const auto& head = readout.head;
  const auto& n = matrix_size_;
  const double kz_step = n[2] > 1 ? double(head.idx.kspace_encode_step_2) - center_step_2_ : 0;
  if (axis_count_ > 0) {
    const float* k = readout.trajectory.data() + sample * axis_count_;
    return {k[0] * scale_[0], k[1] * scale_[1], stacked_ ? kz_step : n[2] > 1 ? k[2] * scale_[2] : 0};
  }
  const std::int64_t last = head.number_of_samples - 1;
  const std::int64_t center = center_is_stated_ ? head.center_sample : head.number_of_samples / 2;
  const bool reverse = head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
  return {static_cast<double>((reverse ? last - sample : sample) - center),
          n[1] > 1 ? double(head.idx.kspace_encode_step_1) - center_step_1_ : 0, kz_step};
}

}  // namespace fhd::io::mrd

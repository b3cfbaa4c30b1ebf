#pragma once
// Where the samples of readouts lie in k-space:
//   - the trajectory of the readouts where there is one; else, for 'cartesian' and 'epi', from center_sample
//     and the encoding steps, in cycles/FOV. A third axis counts only for a matrix of several voxels in z
//     (elsewhere it holds zeros or density weights); a two-dimensional trajectory of a 3D matrix is stacked by
//     kspace_encode_step_2.
//   - Unit of the trajectory: --trajectory-unit, else the userParameterString 'trajectory_unit', else
//     inferred.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// What errors call a measurement and its parts.
struct Subjects {
  std::string measurement, header, readouts;
  std::string readout(std::int64_t number) const { return readouts + "[" + std::to_string(number) + "]"; }
};

/// Of all readouts of the image.
struct TrajectoryExtent {
  int axis_count = 0;                  ///< of the trajectories; 0: none
  std::array<double, 3> largest_k{};   ///< in the unit of the trajectories
  bool some_center_is_stated = false;  ///< of the readouts' center_sample
};

class SamplePositions {
 public:
  /// Adds to `inferred` what was inferred. Throws Error when the positions are unknown or ambiguous.
  SamplePositions(const Header& header, const ReadOptions& options, const EncodedSpace& space,
                  const TrajectoryExtent& extent, const Subjects& subjects,
                  std::vector<std::string>& inferred);
  /// Position of a sample (counted with the discarded ones), cycles/FOV.
  std::array<double, 3> of(const Readout& readout, std::int64_t sample) const;

 private:
  void count_encoding_steps(const Header& header, const TrajectoryExtent& extent, const Subjects& subjects,
                            std::vector<std::string>& inferred);
  void choose_unit(const Header& header, const ReadOptions& options, const EncodedSpace& space,
                   const std::array<double, 3>& largest_k, const Subjects& subjects,
                   std::vector<std::string>& inferred);

  std::array<int, 3> matrix_size_;
  int axis_count_, center_step_1_, center_step_2_;
  bool stacked_ = false, center_is_stated_ = false;
  std::array<double, 3> scale_{1, 1, 1};
};

}  // namespace fhd::io::mrd

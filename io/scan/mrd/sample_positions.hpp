#pragma once
// Where the samples of readouts lie in k-space:
//   - the trajectory of the readouts where there is one; else, for 'cartesian' and 'epi', from center_sample
//     and the encoding steps, in cycles/FOV. A third axis counts only for a matrix of several voxels in z, and only
//     if it holds positions: density weights (Gadgetron's convention) are recognised. A two-dimensional
//     trajectory of a 3D matrix is stacked by kspace_encode_step_2.
//   - A stated centre of encoding steps counts, but for one left at 0, the default of the Python package, where the
//     steps fill the matrix: then it is the middle.
//   - Nothing of this where the trajectory comes from another file (ReadOptions::outside).
//   - A trajectory of three axes may be in those of the magnet, which the directions of each readout turn into those of the
//     image: --trajectory-axes, else as it fits (trajectory_axes.hpp).
//   - Unit of the trajectory: --trajectory-unit, else the userParameterString 'trajectory_unit', else
//     inferred (trajectory_unit.hpp).
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/readout.hpp"
#include "io/scan/object_extent.hpp"
#include "io/scan/trajectory_axes.hpp"

namespace fhd::io::mrd {

/// Names of a measurement and its parts in errors.
struct Subjects {
  std::string measurement, header, readouts;
  std::string readout(std::int64_t number) const { return readouts + "[" + std::to_string(number) + "]"; }
};

/// Collects what the trajectories of all readouts of the image tell before their unit is known.
struct TrajectoryExtent {
  int axis_count = 0;                 ///< of the trajectories; 0: none
  std::array<double, 3> largest_k{};  ///< in the unit of the trajectories
  std::array<double, 3>
      largest_turned_k{};              ///< the same, from the axes of the magnet into those of the image
  AxesEvidence axes_evidence{};        ///< of trajectories of three axes
  bool states_directions = true;       ///< every readout does
  double largest_offset_mm = 0;        ///< of a readout's position from the isocentre, within its plane
  bool some_center_is_stated = false;  ///< of the readouts' center_sample
  int largest_step_1 = 0, largest_step_2 = 0;  ///< kspace_encode_step_1 and _2

  void add(const Readout& readout);  ///< whose trajectory is as long as its head says
  /// Returns whether the third axis holds no positions but density weights, or nothing: never below zero, and the same in
  /// every partition (kspace_encode_step_2) of a stack.
  bool third_axis_is_weight() const;
  /// Returns whether no position along the third axis is below zero.
  bool third_axis_may_be_weight() const { return lowest_third_ >= 0; }

 private:
  void add_axes(const Readout& readout);
  struct Mean {
    double sum = 0;
    std::int64_t count = 0;
  };
  double lowest_third_ = std::numeric_limits<double>::infinity();
  std::map<int, Mean> third_by_step_;
};

/// Delivers a readout again; its arrays live until the next call.
using Source = std::function<Readout(std::int64_t number)>;
/// Returns a source of the same readouts with their trajectories turned from the axes of the magnet into those of the image.
/// One thread at a time may call it.
Source in_axes_of_image(Source source);
/// Returns the directions that a readout states, unit vectors; empty where they are not at right angles.
std::optional<AxisDirections> directions_of(const ReadoutHead& head);

/// Returns the length of the object along the first `axes` axes of the trajectory (ObjectExtent::lengths), from the
/// readouts `numbers`: of many, some that come nearest to the centre of k-space. Throws Error where one contradicts its head.
std::array<double, 3> object_length(std::vector<std::int64_t> numbers, const Source& source,
                                    const Source& with_values, int axes, const Subjects& subjects);

/// Computes positions of samples; `scale` is the factor to cycles/FOV, encoding steps count from their centres.
struct SamplePositions {
  std::array<int, 3> matrix_size;
  int axis_count, center_step_1, center_step_2;
  bool stacked = false, center_is_stated = false;
  bool in_magnet = false;  ///< trajectories are in its axes: readouts are to come from in_axes_of_image
  bool outside = false;    ///< another file holds them (ReadOptions::outside): all are 0 here
  std::array<double, 3> scale{1, 1, 1};

  bool operator==(const SamplePositions&) const = default;
  /// Returns the position of a sample (counted with the discarded ones), cycles/FOV, of a readout in the axes of the image.
  std::array<double, 3> of(const Readout& readout, std::int64_t sample) const;
};

/// Returns the length of the object along `axes` axes, of trajectories in the axes of the image or of the magnet; asked only
/// where the unit is open.
using ObjectLength = std::function<std::array<double, 3>(int axes, bool in_magnet)>;

/// Returns the kind of trajectory where the header states none, and says so in `inferred`: "other" where positions are known, else
/// "cartesian" where readouts of `readout_length` samples and their encoding steps fill more than half of the matrix. Throws Error
/// where they do not.
std::string kind_of_trajectory(const TrajectoryExtent& extent, const EncodedSpace& space,
                               std::int64_t readout_length, bool has_positions, const Subjects& subjects,
                               std::vector<std::string>& inferred);

/// Decides how positions are found, and says in `inferred` what was inferred. Throws Error when they are unknown or ambiguous.
SamplePositions choose_positions(const EncodingHeader& encoding, const std::string& trajectory_unit,
                                 const ReadOptions& options, const EncodedSpace& space,
                                 const TrajectoryExtent& extent, const ObjectLength& object_length,
                                 const Subjects& subjects, std::vector<std::string>& inferred);

}  // namespace fhd::io::mrd

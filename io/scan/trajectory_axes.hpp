#pragma once
// The axes in which a file gives k-space positions: those of the image (read, phase, slice), as ISMRMRD and most programs have
// them, or those of the magnet. The axes of the magnet are the L, P, S in which a file states the directions of the image:
// k along an axis of the image is the product of k with its direction.
//
// Two readings of a trajectory of three axes are told apart by what fits: a 2D slice is measured in its own plane, and the
// partitions of a 3D volume are coupled with no other axis.
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Read, phase and slice direction, unit vectors in LPS.
using AxisDirections = std::array<std::array<double, 3>, 3>;
AxisDirections directions_of(const Geometry& geometry);
/// Returns k of the axes of the magnet along those of the image.
std::array<double, 3> turned(const AxisDirections& directions, const std::array<double, 3>& k);
/// Does the same for positions [axis][sample].
void turn_into_image(Array<double>& k, const Geometry& geometry);

/// Returns whether the vendor is Siemens, whose signal is exp(+i 2 pi k . r), k along the gradients. The program's signal has
/// a minus, so that its image lies against the gradients along the encoded axes. Source: twixtools, geometry.py; MRpro, pull
/// request 833.
bool is_siemens(const AcquisitionInfo& scanner);
/// Returns the geometry with the encoded directions turned around: those of the image for those of the gradients, or the
/// other way round.
Geometry turned_around(Geometry geometry);
/// Returns the geometry of a slice with the directions of the gradients.
Geometry along_gradients(const ScanSummary& summary, std::int64_t slice);

/// Collects what positions tell about their axes.
class AxesEvidence {
 public:
  /// Takes a position as the file gives it, of a slice of these directions.
  void add(int slice, const std::array<double, 3>& k, const AxisDirections& directions);

  /// Returns the root mean square of k along the third axis over that of k, the largest of all slices.
  double third_axis(bool in_magnet) const;
  /// Returns the same across the plane that fits the samples of a slice best: 0 where they lie in one.
  double out_of_plane() const;
  /// Returns the coupling of the third axis with others, 0 ... 1.
  double coupling(bool in_magnet) const;
  /// Returns whether both readings give the same positions.
  bool readings_agree() const;
  bool empty() const { return slices_.empty(); }

 private:
  using Moments = std::array<std::array<double, 3>, 3>;  ///< sums of products of k along two axes
  struct OfSlice {
    Moments stored{}, turned{};
    double difference = 0;  ///< sum of squares of the distance between both readings
  };
  std::map<int, OfSlice> slices_;
};

/// The axes of a trajectory, and a sentence for ScanSummary::inferred; empty: nothing is to be said.
struct FoundAxes {
  bool in_magnet = false;
  std::string sentence{};
};
/// Decides about a trajectory of three axes. `is_2d`: the matrix has one voxel along z; `is_weight`: the third axis may hold
/// density weights. Throws Error naming `subject`, with both readings, where neither fits, or both fit and differ.
FoundAxes find_axes(TrajectoryAxes told, const AxesEvidence& evidence, bool is_2d, bool is_weight,
                    bool states_directions, const std::string& subject);

}  // namespace fhd::io

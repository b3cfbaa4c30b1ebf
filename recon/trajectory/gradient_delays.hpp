#pragma once
// Gradients that play later than a file says. The position of sample m of a readout is the nominal one of sample
// m - delay, on each physical axis of the gradients by itself:
//
//   k(m) = sum_p u_p q_p(m - tau_p),   q_p = u_p . k_nominal,   D = sum_p tau_p u_p u_p^T
//
// D is symmetric, in samples along the readout (dwell times), positive where gradients are late. Where the image
// lies along the physical axes it is diagonal, and each axis has a delay of its own; else its off-diagonal
// elements tell the turn. For a spoke along n the shift of k is -D n, the ellipse of Rosenzweig et al., MRM
// 81:1898 (2019), doi:10.1002/mrm.27506.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "recon/domain/scan.hpp"

namespace fhd {

struct GradientDelays {
  std::array<std::array<double, 3>, 3> samples{};  ///< D[axis][axis], symmetric
  bool are_zero() const { return samples == decltype(samples){}; }
  bool are_diagonal() const;
  static GradientDelays along_axes(const std::array<double, 3>& samples);
};

/// Where readouts start, ascending, with the number of samples as the last element.
using ReadoutStarts = std::vector<std::int64_t>;
/// Samples of each readout; 0 where they are not all of one length.
std::int64_t readout_length(const ReadoutStarts& starts);

/// The positions as played, cycles/FOV. Between samples by cubic interpolation, beyond the ends of a readout at
/// their speed, and at rest before one that sets out from rest. Delays of zero change nothing.
Trajectory delayed(const Trajectory& nominal, const Geometry& geometry, const ReadoutStarts& starts,
                   const GradientDelays& delays);

/// Says what leaves a scan where samples lie beyond its matrix: these alone, or, so that readouts of equal length stay
/// so, their place in every readout.
enum class BeyondMatrix { samples, columns };

/// The scan at the positions as played, its calibration as well (`of_calibration`: where its readouts start, of
/// the dwell time of the scan),
/// without the samples that then lie beyond its matrix, which a remark tells. Of readouts that are not of one
/// length BeyondMatrix::columns leaves out samples alone. Throws Error naming "gradient delays" where nothing is
/// left.
Scan with_delays(Scan scan, const ReadoutStarts& starts, const GradientDelays& delays,
                 const ReadoutStarts& of_calibration = {}, BeyondMatrix leaves = BeyondMatrix::samples);

/// Keeps samples of these numbers, ascending: their positions, values and times.
void keep_samples(Scan& scan, const std::vector<std::int64_t>& kept);

/// The scan without the samples that lie beyond its matrix, which a remark tells: these alone, or, where readouts
/// have `length` samples, their place in every readout. Throws Error naming `cause`, "gradient delays", where
/// less than half is left.
Scan inside_matrix(Scan scan, std::int64_t length, const std::string& cause);

struct DelayEstimate {
  GradientDelays delays;
  double uncertainty = 0;  ///< standard deviation of the least certain element, samples
  /// |d - best object's d| / |d| of the central samples, without and with the delays.
  double inconsistency_before = 0, inconsistency = 0;
  /// Why nothing is found: "the scan is Cartesian"; empty where it is.
  std::string obstacle;
  bool found() const { return obstacle.empty(); }
};

/// The delays with which the samples near the centre of k-space agree best with some object inside the field of
/// view, each coil by itself:
///
///   min over D of sum_c min over x_c of |d_c - E(D) x_c|^2,   E_mp = exp(-i 2 pi k_m(D) . r_p)
///
/// p are voxels of a small matrix over the FOV, or over 1.5 FOVs where the object does not fit into one. x_c is
/// eliminated (variable projection: Golub and Pereyra, Inverse Problems 19:R1 (2003)), and D found by
/// Gauss-Newton. Spokes that cross, and turns of a spiral that pass the same places, thus correct each other.
/// Off-diagonal elements that are not above their uncertainty are zero.
///
/// Nothing is found, which `obstacle` says, where the trajectory is Cartesian, where too few samples lie near the
/// centre, where they contradict each other by a tenth beside noise with any delays, or do not tell them to 0.05
/// samples, and where what the delays do not explain, noise aside, is more than a third of what they do:
/// off-resonance of a spiral looks a little like a delay.
DelayEstimate estimate_delays(const Scan& scan, const ReadoutStarts& starts);

/// Returns whether estimate_delays is worth its time: by the first of its steps alone, from no delay on, which tells one of
/// up to some two samples along some axis. Takes a tenth of the time and less.
bool may_be_delayed(const Scan& scan, const ReadoutStarts& starts);

/// How far delays move a sample: the largest over the axes of |row of D| times the root mean square step from
/// sample to sample inside of readouts, cycles/FOV.
double displacement(const GradientDelays& delays, const Trajectory& trajectory, const ReadoutStarts& starts);

/// "0.512 samples along x, 0.203 along y": of the axes of more than one voxel, and between axes where it is not
/// zero.
std::string in_words(const GradientDelays& delays, const Geometry& geometry);

}  // namespace fhd

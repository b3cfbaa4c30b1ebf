#pragma once
// Takes a tone of one frequency (a zipper: interference, or a clock that leaks) off the samples of a scan, before anything
// else uses them. In sample m of readout j and coil c the tone is
//
//   a_cj exp(i 2 pi f (t_m - t_j)),   a_cj = sum_m w_m d_cm exp(-i 2 pi f (t_m - t_j)) / sum_m w_m,
//
// t_j the time of the first sample, 1 / w_m the usual |d|^2 at that place of a readout: the centre of k-space, where the
// object is strong, counts little. f is where sum_cj |a_cj|^2 is largest. What the object adds to a_cj has the variance
// v_cj of such sums at frequencies beside f. Where the phase of a_cj advances alike from readout to readout, one amplitude
// and one advance, fitted with weights 1 / (A_c^2 + v_cj), tell all readouts; else each a_cj is multiplied by
// A_c^2 / (A_c^2 + v_cj) (Wiener), A_c^2 the mean of |a_cj|^2 - v_cj.
#include <cstdint>
#include <optional>
#include <vector>

#include "recon/domain/scan.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd {

/// When samples were measured, in dwell times.
struct SampleClock {
  std::vector<double> times{};  ///< [sample]
  double dwell_s = 0;           ///< 0: not known; times are then the numbers of the samples
};
SampleClock sample_clock(const std::optional<Array<double>>& sample_time_s, const Trajectory& trajectory);

/// A tone that was taken off, and standard deviations.
struct Tone {
  double frequency = 0, frequency_uncertainty = 0;  ///< cycles/sample
  double share = 0, share_uncertainty = 0;          ///< root mean square over that of the samples
  bool advances_alike = false;  ///< its phase, from readout to readout: its clock ran through the scan
};

/// Takes the tone nearest to `frequency`, cycles/sample, off all readouts of 16 samples or more and half the length of the
/// longest or more. The frequency is sought within half a cycle over a readout, or over 256 samples of a longer one.
/// Returns what was taken off; a share of 0: nothing.
Tone take_off_tone(KSpace& kspace, const ReadoutStarts& starts, const std::vector<double>& times,
                   double frequency);

/// Returns weights of the places of a readout, 1 over the median of energies there, each smoothed over its neighbours.
std::vector<double> weights_of_places(std::vector<std::vector<double>> energies);

}  // namespace fhd

#pragma once
// Motion found in the scan itself, and the readouts of a scan sorted into bins of it, which are frames without blur whose
// neighbours are alike (frames.hpp). Source: Feng, Axel, Chandarana, Block, Sodickson and Otazo, "XD-GRASP", MRM 75:775
// (2016).
#include "recon/pipeline/frame_layout.hpp"

namespace fhd {

/// Returns the breathing, from the mean of each readout's samples within 0.5 cycles/FOV of k = 0 (or its nearest, within 1).
/// Of the real and the imaginary part of each coil as courses over the readouts:
///
///   1. what a polynomial of the second degree in time, and of the second degree in the direction of the readout
///      (first and second harmonic of a spoke's angle: gradient delays, and samples beside k = 0), explains is
///      taken off;
///   2. among cosines over the scan the first principal component of the courses tells the strongest frequency f
///      of breathing: within 0.1 ... 0.6 Hz where `readout_time_s`, from one readout to the next, is known; where it
///      is 0, two cycles in the scan ... one in 16 readouts, which may as well be a heart;
///   3. f/2 ... 5/2 f is kept, and the first principal component of that is the signal, of mean 0 and deviation 1,
///      with most readouts (the end of expiration) below the mean: bin 0.
///
/// It is doubtful where noise, known from second differences, is more than a quarter of its power, or its correlation with
/// itself a cycle later is below 0.3. Throws Error where readouts miss the centre, or are too few.
GatingSignal self_gating_signal(const Scan& scan, std::int64_t readout_length, double readout_time_s);

/// Returns the phase of the heart, 0 ... 1 from trigger to trigger: time stamp `stamp` (0, 1, 2) of the file over the length
/// of its heartbeat, of the last one over the median. It is doubtful where heartbeats last less than half, or more than one
/// and a half of the median. Throws Error where the scan holds no such time, or fewer than two triggers.
GatingSignal cardiac_phase(const Scan& scan, std::int64_t readout_length, int stamp);

/// Returns the signal of a user: one number for each readout of the scan, or of its file (Scan::readout_numbers).
/// Throws Error naming `source` where there are fewer or more, or one is not finite.
GatingSignal given_signal(const Scan& scan, std::int64_t readout_length, std::string source,
                          std::vector<double> values);

/// Returns frames of readouts with like values of the signal: `bins` of them, of equally many, from the lowest to the
/// highest. The last readouts that cannot be shared out evenly are in none. Throws Error as lay_out_frames, and where
/// all values are the same.
FrameLayout lay_out_bins(std::int64_t samples, std::int64_t readout_length, std::int64_t bins,
                         GatingSignal signal);

}  // namespace fhd

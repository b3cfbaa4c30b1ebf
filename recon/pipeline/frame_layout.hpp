#pragma once
// Which readouts of a continuous acquisition make a frame: some that follow each other, or those of one bin of a
// motion signal.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recon/domain/scan.hpp"

namespace fhd {

/// The request: a number of frames of equal length, or of readouts in a frame.
struct FrameChoice {
  std::int64_t frames = 0;              ///< 0: as many as there are
  std::int64_t readouts_per_frame = 0;  ///< 0: as many as fit into `frames`
  std::int64_t step = 0;                ///< readouts by which a frame moves on; 0: those of a frame
  bool asks() const { return frames > 0 || readouts_per_frame > 0 || step > 0; }
};

/// A motion: one number for each readout of a scan.
struct GatingSignal {
  std::string source;            ///< "self-gated: 0.25 Hz, 2 % noise"
  std::vector<double> values{};  ///< [readout]
  std::string doubt{};           ///< why it may be none, a sentence; empty: no reason known
};

/// Frame t has the readouts order[t step] ... order[t step + readouts_per_frame - 1].
struct FrameLayout {
  std::int64_t frames = 0, readouts_per_frame = 0, step = 0;
  std::int64_t readout_length = 0;  ///< samples
  std::int64_t readouts = 0;        ///< of the scan
  /// The readouts of the scan as frames take them: 0, 1, 2, ..., or bin by bin; last those in no frame.
  std::vector<std::int64_t> order{};
  std::vector<std::int64_t> readout_numbers{};  ///< Scan::readout_numbers; empty: 0, 1, 2, ...
  std::optional<GatingSignal> gate{};           ///< of bins; empty: frames follow each other in time

  std::int64_t unused() const { return readouts - ((frames - 1) * step + readouts_per_frame); }
  std::int64_t samples_per_frame() const { return readouts_per_frame * readout_length; }
  /// Returns the number of readout i of a frame in the scan.
  std::int64_t readout(std::int64_t frame, std::int64_t i) const { return order[frame * step + i]; }
  /// Returns the samples of a frame, as the scan counts them.
  std::vector<std::int64_t> samples_of(std::int64_t frame) const;
  /// Returns the number of the first readout of a frame in the file.
  std::int64_t first_readout(std::int64_t frame) const {
    const std::int64_t first = readout(frame, 0);
    return readout_numbers.empty() ? first : readout_numbers[first];
  }
};

/// The sizes that decide the cost of frames.
struct FrameSizes {
  std::int64_t frames = 0, samples_per_frame = 0;
};
inline FrameSizes sizes_of(const FrameLayout& layout) { return {layout.frames, layout.samples_per_frame()}; }

/// Returns the layout of a scan of `samples` in readouts of equal length: at least two frames, which share no
/// readouts unless the step is smaller than a frame. Readouts behind the last frame are in none. Throws Error naming
/// --frames, --spokes-per-frame or --sliding where the choice does not fit, and "frames" where the readouts are
/// not known (`readout_length` = 0).
FrameLayout lay_out_frames(std::int64_t samples, std::int64_t readout_length, const FrameChoice& choice);

/// Throws Error unless it is one of this scan.
void require_layout_of(const Scan& scan, const FrameLayout& layout);

/// Returns a warning about frames that each leave out much of k-space, as those of a stack that is measured plane by
/// plane; empty where there is none.
std::string doubt_of_frames(const Trajectory& trajectory, const FrameLayout& layout);

/// Returns a warning about readouts that are left out between others: "13 readouts are left out between others, from
/// number 60 on: ...", or empty; none for bins, whose readouts lie apart anyway.
std::string doubt_of_gaps(const FrameLayout& layout);

/// Returns the scan of some samples; its maps, noise and field map are views.
Scan with_samples(const Scan& scan, const std::vector<std::int64_t>& samples);
inline Scan frame_of(const Scan& scan, const FrameLayout& layout, std::int64_t frame) {
  return with_samples(scan, layout.samples_of(frame));
}

// Motion found in the scan itself, and the readouts of a scan sorted into bins of it, which are frames without blur whose
// neighbours are alike (frames.hpp). Source: Feng, Axel, Chandarana, Block, Sodickson and Otazo, "XD-GRASP", MRM 75:775
// (2016).

/// Returns the breathing, from the mean of each readout's samples within 0.5 cycles/FOV of k = 0 (or its nearest, within 1).
/// The real and the imaginary part of each coil are courses over the readouts, of which the signal is found so:
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

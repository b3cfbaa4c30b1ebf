#pragma once
// Frames of a continuous acquisition: readouts in the order in which they were taken, so many to a frame. Frames are
// reconstructed jointly, with the maps of the whole scan:
//
//     rho = argmin sum over frames t of |E_t rho_t - d_t|^2 + lambda |W rho_t|^2 + 2 sum_j weight_j g_j(A_j rho),
//
// with terms without squares of every frame by itself (wavelet, tv) or of all together (temporal-tv, llr).
#include <cstdint>
#include <string>
#include <vector>

#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"

namespace fhd {

/// What is asked for: so many frames of equal length, or so many readouts to a frame.
struct FrameChoice {
  std::int64_t frames = 0;               ///< 0: as many as there are
  std::int64_t readouts_per_frame = 0;   ///< 0: as many as fit into `frames`
  std::int64_t step = 0;                 ///< readouts by which a frame moves on; 0: those of a frame
  bool asks() const { return frames > 0 || readouts_per_frame > 0 || step > 0; }
};

/// Frame t has the readouts t step ... t step + readouts_per_frame - 1.
struct FrameLayout {
  std::int64_t frames = 0, readouts_per_frame = 0, step = 0;
  std::int64_t readout_length = 0;  ///< samples
  std::int64_t readouts = 0;        ///< of the scan
  std::vector<std::int64_t> readout_numbers{};  ///< Scan::readout_numbers; empty: 0, 1, 2, ...
  std::int64_t unused() const { return readouts - ((frames - 1) * step + readouts_per_frame); }
  std::int64_t first_sample(std::int64_t frame) const { return frame * step * readout_length; }
  /// Its number in the file.
  std::int64_t first_readout(std::int64_t frame) const {
    return readout_numbers.empty() ? frame * step : readout_numbers[static_cast<std::size_t>(frame * step)];
  }
  std::int64_t samples_per_frame() const { return readouts_per_frame * readout_length; }
};

/// Of a scan of `samples` in readouts of equal length; at least two frames, which share no readouts unless the step is
/// smaller than a frame. Readouts behind the last frame are in none. Throws Error naming frames.count, frames.readouts or
/// frames.step where the choice does not fit, and "frames" where the readouts are not known (`readout_length` = 0).
FrameLayout lay_out_frames(std::int64_t samples, std::int64_t readout_length, const FrameChoice& choice);

/// A doubt about frames that leave out much of k-space, each another part, as those of a stack that is taken plane by
/// plane: one sentence, empty where there is none.
std::string doubt_of_frames(const Trajectory& trajectory, const FrameLayout& layout);

/// The readouts that are left out between others: "13 readouts are left out between others, from number 60 on: ...",
/// or empty.
std::string doubt_of_gaps(const FrameLayout& layout);

/// Throws Error naming the setting that frames cannot have.
void validate_for_frames(const Settings& settings);

/// Bytes on the device that frames of this scan take together, with so many coils after their preparation.
double frames_bytes(const Scan& scan, std::int64_t coils, const FrameLayout& layout, const Settings& settings,
                    Device device);

}  // namespace fhd

#pragma once
// Frames of a continuous acquisition (frame_layout.hpp), reconstructed jointly, with the maps of the whole scan:
//
//     rho = argmin sum over frames t of |E_t rho_t - d_t|^2 + lambda |W rho_t|^2 + 2 sum_j weight_j g_j(A_j rho),
//
// with terms without squares of every frame by itself (wavelet, tv) or of all together (temporal-tv, llr).
#include "recon/domain/settings.hpp"
#include "recon/pipeline/frame_layout.hpp"

namespace fhd {

/// Throws Error naming the setting that frames cannot have.
void validate_for_frames(const Settings& settings);

/// Time segments of E and of E^H E; 0: off-resonance is not corrected.
struct SegmentCounts {
  std::int64_t encoding = 0, normal = 0;
};

/// Bytes on the device that frames of this scan take together, with so many coils after their preparation.
double frames_bytes(const Scan& scan, std::int64_t coils, const FrameLayout& layout, const Settings& settings,
                    Device device, const SegmentCounts& segments = {});

}  // namespace fhd

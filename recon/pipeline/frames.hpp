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

}  // namespace fhd

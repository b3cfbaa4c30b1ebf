#pragma once
// Frames of a continuous acquisition (frame_layout.hpp), reconstructed jointly, with the maps of the whole scan:
//
//     rho = argmin sum over frames t of |E_t rho_t - d_t|^2 + lambda |W rho_t|^2 + 2 sum_j weight_j g_j(A_j rho),
//
// with terms without squares of every frame by itself (wavelet, tv) or of all together (temporal-tv, llr).
#include "recon/pipeline/frame_layout.hpp"
#include "recon/pipeline/volumes.hpp"

namespace fhd {

/// Reconstructs the frames of a scan with its coils as prepared. `transform.kind` is not automatic. Frames have one unit,
/// lambda and strengths, and without terms that couple them are solved one by one. Throws Error where they do not fit into
/// the memory of the device.
template <class T>
Images frame_images(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                    const Context& context);

/// Throws Error naming the setting that frames cannot have.
void validate_for_frames(const Settings& settings);
/// Throws Error naming what frames of a scan as measured cannot have, or the memory that they would take.
void require_frames_can(const Scan& scan, const FrameLayout& layout, const Settings& settings,
                        const Execution& execution);

}  // namespace fhd

#pragma once
// Frames of a continuous acquisition (frame_layout.hpp), reconstructed jointly, with the maps of the whole scan:
//
//     rho = argmin sum over frames t of |E_t rho_t - d_t|^2 + lambda |W rho_t|^2 + 2 sum_j weight_j g_j(A_j rho),
//
// with terms without squares of every frame by itself (wavelet, tv) or of all together (temporal-tv, llr).
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/pipeline/volumes.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// Reconstructs the frames of a scan with its coils as prepared. `transform.kind` is not automatic. Frames have one unit,
/// lambda and strengths, and without terms that couple them are solved one by one. Throws Error where they do not fit into
/// the memory of the device.
template <class T>
Images frame_images(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                    const Context& context);

/// Throws Error naming what frames of a scan as measured cannot have, or the memory that they would take.
void require_frames_can(const Scan& scan, const FrameLayout& layout, const Settings& settings,
                        const Execution& execution);

// Frames as sums of a few courses in time, rho_t = sum_k phi_k(t) alpha_k, so that components alpha take the place
// of frames:
//
//     alpha = argmin sum over frames t of |E_t sum_k phi_k(t) alpha_k - d_t|^2
//                    + lambda |W alpha|^2 + 2 sum_j weight_j g_j(A_j alpha),
//
// phi real and orthonormal, so that noise is that of frames, and strengths mean the same. Its normal operator has
// K^2 Toeplitz products of pairs of components (solve/stack.hpp) in the place of one for each frame, where
// these are more.
// Sources: Tamir et al., "T2 shuffling", MRM 77:180 (2017), a given basis; Feng et al., "GRASP-Pro", MRM 83:94
// (2020), one from the centre of k-space.

/// Returns the components of the subspace of so many frames; 0: there is none. Throws Error where they do not fit.
std::int64_t component_count(const LeastSquares& method, std::int64_t frames);

/// Returns whether pairs of components take fewer products than frames.
constexpr bool takes_pairs(std::int64_t components, std::int64_t frames) {
  return components * components < frames;
}

/// Return the matrix and the method of the frames of low resolution that leading courses are found in: at most 32
/// voxels along each axis, 24 in 3D.
std::array<int, 3> matrix_of_small_frames(const std::array<int, 3>& matrix_size);
LeastSquares method_of_small_frames(const TransformSettings& transform);

/// Returns phi, [component][frame], as LeastSquares::basis says; empty without. Leading courses are the principal
/// components (of real and imaginary parts alike) of frames of low resolution, from the samples of every readout that
/// lie within them, and llr:0.01. Given ones are made orthonormal (Gram-Schmidt). What they hold goes to a note.
/// Throws Error naming settings.basis: more components than frames, courses of another length or that are sums of
/// others, readouts that miss the centre of k-space.
template <class T>
Array<double> temporal_courses(const Scan& scan, const FrameLayout& layout,
                               const TransformSettings& transform, const Context& context);

}  // namespace fhd

#pragma once
// The terms that a problem may have, one function each.
#include <array>
#include <memory>
#include <vector>

#include "recon/domain/settings.hpp"
#include "recon/solve/problem.hpp"

namespace fhd {

/// W = identity: |W rho|^2 = sum over voxels p of w(p) |rho(p)|^2. `weights` is [z][y][x] on the device of the images, or
/// empty for w = 1.
template <class T>
std::shared_ptr<const Term<T>> identity_term(Array<T> weights = {});

/// W = finite differences between neighbours along every axis with more than one voxel, free ends:
///
///     |W rho|^2 = sum over axes and voxels p of w_axis(p) |rho(p + 1) - rho(p)|^2
///
/// `weights` is [axis x, y, z][z][y][x] on the device of the images (w of the pair p, p + 1), or empty for w = 1.
template <class T>
std::shared_ptr<const Term<T>> roughness_term(Array<T> weights = {});

/// The anatomical prior: weights that are small where an image of the same anatomy (usually a proton image of high
/// resolution) has an edge: noise is averaged within tissues, not across their borders. Source: Haldar, Hernando,
/// Song and Liang, "Anatomically constrained reconstruction from noisy data", MRM 59:810 (2008).
///
/// Weights of the pairs (p, p + 1) along x, y, z, [axis][z][y][x], between 1e-3 and 1:
///
///     w = 1 / (1 + (d / threshold)^2),   d = |image(p + 1) - image(p)|
///
/// with threshold = the 99th percentile of |image| x 0.05 / strength. strength > 0; larger finds weaker
/// edges.
template <class T>
Array<T> edge_weights(const Array<float>& image, double strength);

// --- Sparse terms, for images [z][y][x] of this shape on this device ---

/// Detail coefficients of the orthogonal wavelet transform with Daubechies' four taps (two vanishing moments), periodic,
/// from the mean of 2^d transforms of the image shifted by one of 0, 1 voxels along each of its d axes (and more, by
/// numbers from a fixed seed): so that their grid does not show, and there is one convex function that is minimised,
/// which a new shift in every iteration would not leave. Any size: of an odd number the last voxel goes to the next
/// level as it is, and the transform stays orthogonal. An axis is split while it has at least 8 voxels; the means that
/// are left are not penalised.
///
/// A = the transforms side by side, each divided by sqrt(2^d): A^H A = 1. g(c) = sum |c| / sqrt(2^d). Throws Error where
/// no axis has 8 voxels.
///
/// Sources: Daubechies, Comm. Pure Appl. Math. 41:909 (1988); Coifman and Donoho, "Translation-invariant de-noising"
/// (1995); Figueiredo and Nowak, IEEE Trans. Image Process. 12:906 (2003), shifts within a solver.
template <class T>
std::shared_ptr<const SparseTerm<T>> wavelet_term(const Shape& image, Device device);

// --- Of frames: `image` [z][y][x] is one of them, unknowns are [frame and z][y][x] ---

/// Locally low rank: the nuclear norm of every block of neighbouring voxels as a matrix [frame][voxel of the block].
/// Blocks have 64 voxels (8 x 8, or 4 x 4 x 4), in two grids that are shifted against each other by half a block along every
/// axis, fixed, so that neither shows and there is one convex function that is minimised, which a new shift in every
/// iteration would not leave; at the borders blocks are smaller.
///
///     A rho = both grids' copies / sqrt(2), A^H A = 1,   g(c) = sum over blocks (sqrt(p) + sqrt(frames)) |c_block|_* / sqrt(2)
///
/// p = voxels of the block: sqrt(p) + sqrt(frames) is the largest singular value of noise of magnitude 1, so that a strength is
/// one of voxels, whatever the block and the number of frames. The prox shortens singular values; they and the vectors of the shorter side
/// come from the Gram matrix in double precision: on the CPU by LAPACK, on a GPU by Jacobi's rotations (low_rank_cuda.cu), if it has
/// the memory for 64 x 64 of them in a block of threads; else coefficients go to the CPU and back.
///
/// Sources: Trzasko and Manduca, ISMRM 2011, 4371; Cai, Candes and Shen, SIAM J. Optim. 20:1956 (2010), the prox;
/// Davidson and Szarek (2001), Theorem II.13, the norm of noise.
template <class T>
std::shared_ptr<const SparseTerm<T>> low_rank_term(const Shape& image, std::int64_t frames);

/// The one of that kind, of frames: temporal-tv or llr. Throws Error for fewer than two frames and for other kinds.
template <class T>
std::shared_ptr<const SparseTerm<T>> temporal_term(SparseKind kind, const Shape& image, std::int64_t frames);

/// The one of that kind, of one image: wavelet, tv or tgv. Throws Error for 2^32 voxels and more, and for terms of frames.
template <class T>
std::shared_ptr<const SparseTerm<T>> sparse_term(SparseKind kind, const Shape& image, Device device);

/// In images.
struct SparseTermCost {
  double planes = 0, auxiliary = 0;  ///< as SparseTerm says
  double held = 0;                   ///< memory of the term itself
  double passes = 0;                 ///< read and written by A, and by A^H
};
/// Returns the cost of all terms together, for images of this matrix x, y, z.
SparseTermCost sparse_terms_cost(const std::vector<SparsePenalty>& penalties,
                                 const std::array<int, 3>& matrix_size);

}  // namespace fhd

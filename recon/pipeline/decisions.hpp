#pragma once
// What is left open by the settings, decided from plain values, once: the reconstruction and its estimate ask
// the same functions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "recon/coils/undersampling.hpp"
#include "recon/domain/settings.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

// --- Coils ---

struct CoilFacts {
  std::int64_t all = 1;   ///< in the scan
  std::int64_t live = 1;  ///< of these, with a value other than zero
  bool has_maps = false, has_noise = false;
};
struct CoilDecision {
  bool maps_from_scan = false, finds_maps = false, whitens = false, compresses = false;
  bool uses_maps() const { return maps_from_scan || finds_maps; }
};
/// Throws Error when the settings ask for what the scan cannot give.
CoilDecision decide_coils(const CoilFacts& facts, const Settings& settings);

/// Narrower references do not determine maps: two neighbourhoods of k-space.
inline constexpr int least_reference_width = 8;
/// What a regularly undersampled Cartesian scan has to tell its folded copies apart.
struct FoldingFacts {
  LatticeSampling lattice;
  std::int64_t live_coils = 1;
  bool uses_maps = false, finds_maps = false;  ///< as decide_coils decides
  bool has_calibration = false;
  /// Maps that are given, or found from a reference that determines them.
  bool knows_maps() const {
    return uses_maps && (!finds_maps || has_calibration || lattice.reference_width >= least_reference_width);
  }
};
/// none: nothing folds, or maps unfold it. suspicious: the image is made and is said to fold. refused: as
/// suspicious, where settings.coils.allow_folding does not ask for it.
enum class Folding { none, suspicious, refused };
Folding decide_folding(const FoldingFacts& facts, const Settings& settings);

/// Virtual coils of `coils`; for KeptEnergy, which only the data decide, as many as without a choice. Throws
/// Error when more are asked for than there are.
std::int64_t virtual_coil_count(std::int64_t coils, const CompressionChoice& choice);

/// Coils go together in equal parts: the most of `coils` (a divisor) that fit, or 0 when not even one does.
std::int64_t coils_at_once(std::int64_t coils, const std::function<bool(std::int64_t)>& fits);

// --- Transform ---

/// Pairs of voxels and samples up to which `automatic` sums directly: about 10 s on two cores with AVX-512; 2 s on the
/// tensor cores of an H100, and pair by pair.
double affordable_pairs(const Settings& settings, Device device);

/// Pairs of samples and voxels that direct sums take for one image: F^H d of every coil, Q on half of the
/// difference grid, and the data residual; both transforms in every iteration where there is no Q. On the CPU
/// those of samples that share positions count as the work that is left of them.
double direct_pairs(const Settings& settings, Device device, const std::array<int, 3>& matrix_size,
                    const SampleCount& samples, std::int64_t coils);

/// Of the periodic difference grid of Q, without the overflow of int at sizes that no machine holds.
inline double difference_points(const std::array<int, 3>& matrix_size) {
  double points = 1;
  for (const int n : matrix_size) points *= n == 1 ? 1 : 2.0 * n;
  return points;
}

struct TransformDecision {
  TransformKind kind = TransformKind::direct;  ///< not automatic
  double pairs = 0;                            ///< of voxels and samples, were the sums direct
  bool asked_for = true;                       ///< or implied by the method
};
TransformDecision decide_transform(const Settings& settings, Device device,
                                   const std::array<int, 3>& matrix_size, const SampleCount& samples,
                                   std::int64_t coils);

/// In single precision the data residual is predicted with the gridded transform at its best (an error near
/// that of direct sums in single precision, at a small part of their operations), unless E is wanted in every
/// product.
bool predicts_by_gridding(const Settings& settings, TransformKind kind);
/// Volumes of a scan that a device works on side by side, by threads with a share of all: on a GPU, what one does on the
/// host is hidden behind the others; on the CPU small volumes gain more from threads of their own than from sharing.
std::int64_t volumes_side_by_side(Device device, std::int64_t volumes, std::int64_t voxels,
                                  std::int64_t threads);
inline constexpr std::int64_t voxels_of_small_volume = 1 << 18;

/// What the volumes of a series that a GPU takes together may take of `free_bytes`, beside all else: enough for many small
/// ones, and room for engines that work side by side.
inline double bytes_of_volumes_together(double free_bytes) { return std::min(2e9, free_bytes / 12); }

/// By the terms. FISTA, which serves one term with a prox in closed form, took 1.3 to 20 times as long as ADMM, with a
/// preconditioner and without: validation/results/2026-11-22-sparse.md.
enum class SolverKind { conjugate_gradient, admm };
inline SolverKind decide_solver(const LeastSquares& method) {
  return method.sparse.empty() ? SolverKind::conjugate_gradient : SolverKind::admm;
}
constexpr const char* name_of(SolverKind kind) {
  return kind == SolverKind::conjugate_gradient ? "conjugate gradient" : "ADMM";
}
/// Whether the strength of a sparse term is left to the noise.
inline bool searches_strength(const LeastSquares& method) {
  return std::any_of(method.sparse.begin(), method.sparse.end(),
                     [](const SparsePenalty& each) { return !each.strength; });
}
/// Of conjugate gradient within an iteration of ADMM, at most.
inline int inner_iterations(bool preconditioned) { return preconditioned ? 10 : 50; }
/// Of conjugate gradient for the image that ADMM starts from, at most; it converges to a per cent long before.
inline int first_image_iterations(bool preconditioned) { return preconditioned ? 30 : 100; }

/// Whether the largest eigenvalue of E^H E is needed before the solution: lambda is told in units of it, or sought. Else
/// it is found on the way, but by the solver only where the regularizer adds the same to every eigenvalue.
bool needs_largest_eigenvalue(const LeastSquares& method);

inline constexpr double prediction_accuracy = 1e-6;
/// The transform of the samples that a verdict compares: the cheapest of those that are there, or one to 1e-3.
TransformSettings verdict_transform(const Settings& settings, const TransformSettings& own);

/// Whether conjugate gradient has a preconditioner: where E^H E is one Toeplitz operator, and lambda defines an image.
/// Without lambda the iterations themselves keep the image from what the samples leave open (the corners of k-space of a
/// radial scan); a preconditioner goes there first. So it does with a penalty below `least_penalty` of the mean eigenvalue.
inline constexpr double least_penalty = 1e-3;
bool uses_preconditioner(const LeastSquares& method, bool corrects_off_resonance);

// --- Where ---

/// One FFT is not worth the way to a GPU.
Device device_for(const Settings& settings, Device device);
/// Iterations of conjugate gradient between looks at the residual: a GPU waits for each.
inline int residual_interval(Device device) { return device.is_cuda() ? 5 : 1; }

// --- Off-resonance ---

/// Relative error of the time segments.
double off_resonance_accuracy(const LeastSquares& method);

}  // namespace fhd

#pragma once
// Decisions that the settings leave open, made once from plain values: the reconstruction and its estimate call the
// same functions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "recon/coils/undersampling.hpp"
#include "recon/domain/scan.hpp"
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
/// Decides before the samples are looked at: all coils count as live.
CoilDecision decide_coils_of(const Scan& scan, const Settings& settings);

/// Narrower references do not determine maps: two neighbourhoods of k-space.
inline constexpr int least_reference_width = 8;
/// Facts about a regularly undersampled Cartesian scan that tell its folded copies apart.
struct FoldingFacts {
  LatticeSampling lattice;
  std::int64_t live_coils = 1;
  bool uses_maps = false, finds_maps = false;  ///< as decide_coils decides
  bool has_calibration = false;
  /// Returns whether there are maps that are given, or found from a reference that determines them.
  bool knows_maps() const {
    return uses_maps && (!finds_maps || has_calibration || lattice.reference_width >= least_reference_width);
  }
};
/// `suspicious`: the image is made, and reported as folded. `refused`: the same, where settings.coils.allow_folding
/// does not ask for it.
enum class Folding { none, suspicious, refused };
Folding decide_folding(const FoldingFacts& facts, const Settings& settings);

/// Returns the number of virtual coils of `coils`; for KeptEnergy, which only the data decide, as many as without a
/// choice. Throws Error when more are asked for than there are.
std::int64_t virtual_coil_count(std::int64_t coils, const CompressionChoice& choice);

/// Returns the largest divisor of `coils` that fits (coils are taken in equal parts), or 0 when not even one does.
std::int64_t coils_at_once(std::int64_t coils, const std::function<bool(std::int64_t)>& fits);

// --- Transform ---

/// Returns the pairs of samples and voxels in direct sums for one image: F^H d of every coil, Q on half of the difference
/// grid, and the data residual; both transforms in every iteration without Q. On the CPU shared positions count less.
double direct_pairs(const Settings& settings, Device device, const std::array<int, 3>& matrix_size,
                    const SampleCount& samples, std::int64_t coils);

/// Returns the points of the periodic difference grid of Q, also for sizes that overflow an int.
inline double difference_points(const std::array<int, 3>& matrix_size) {
  double points = 1;
  for (const int n : matrix_size) points *= n == 1 ? 1 : 2.0 * n;
  return points;
}

struct TransformDecision {
  TransformKind kind = TransformKind::direct;  ///< not automatic
  double pairs = 0;                            ///< of voxels and samples, were the sums direct
  bool shares = false;                         ///< the pairs are those that differ
  bool asked_for = true;                       ///< or implied by the method
  /// Returns "1.2e+10 pairs of voxels and samples that differ".
  std::string pairs_text() const;
};
/// Decides from all `samples`; where these are too many, from what `that_differ` returns, which takes a sort.
TransformDecision decide_transform(const Settings& settings, Device device,
                                   const std::array<int, 3>& matrix_size, std::int64_t samples,
                                   std::int64_t coils, const std::function<SampleCount()>& that_differ);

/// Returns whether the data residual is predicted with the gridded transform at its best, near direct sums in single
/// precision, unless E is applied in every iteration.
bool predicts_by_gridding(const Settings& settings, TransformKind kind);
/// Returns the volumes that a device works on concurrently, by threads with a share of all: a GPU hides the work of the
/// host; on the CPU small volumes gain more from threads of their own.
std::int64_t concurrent_volumes(Device device, std::int64_t volumes, std::int64_t voxels,
                                std::int64_t threads);
inline constexpr std::int64_t voxels_of_small_volume = 1 << 18;

/// Returns the bytes for volumes of a series together on a GPU, with room for engines that work concurrently.
inline double bytes_of_volumes_together(double free_bytes) { return std::min(2e9, free_bytes / 12); }

/// The solver follows from the terms. FISTA, which serves one term with a prox in closed form, took 1.3 to 20 times
/// as long as ADMM: validation/results/2026-11-22-sparse.md.
enum class SolverKind { conjugate_gradient, admm };
inline SolverKind decide_solver(const LeastSquares& method) {
  return method.sparse.empty() ? SolverKind::conjugate_gradient : SolverKind::admm;
}
constexpr const char* name_of(SolverKind kind) {
  return kind == SolverKind::conjugate_gradient ? "conjugate gradient" : "ADMM";
}
/// Returns whether the strength of a sparse term is left to the noise.
inline bool searches_strength(const LeastSquares& method) {
  return std::any_of(method.sparse.begin(), method.sparse.end(),
                     [](const SparsePenalty& each) { return !each.strength; });
}
/// Returns the most iterations of conjugate gradient within one of ADMM.
inline int inner_iterations(bool preconditioned) { return preconditioned ? 30 : 50; }
/// Returns the most iterations of conjugate gradient for the image that ADMM starts from.
inline int first_image_iterations(bool preconditioned) { return preconditioned ? 30 : 100; }

/// Returns whether the largest eigenvalue of E^H E is needed before the solution: lambda is in units of it, or searched;
/// or the solver does not find it, as the regularizer does not add the same to every eigenvalue.
bool needs_largest_eigenvalue(const LeastSquares& method);

inline constexpr double prediction_accuracy = 1e-6;
/// Returns the transform of the samples that a verdict compares: the cheapest that is there, or one to 1e-3.
TransformSettings verdict_transform(const Settings& settings, const TransformSettings& own);

/// Returns whether conjugate gradient has a preconditioner: E^H E is one Toeplitz operator, and lambda defines an image.
/// Without lambda, or with a penalty below `least_penalty` of the mean eigenvalue, it would go first where the samples
/// leave the image open (the corners of k-space of a radial scan), from which few iterations keep it.
inline constexpr double least_penalty = 1e-3;
bool uses_preconditioner(const LeastSquares& method, bool has_fields);

// --- Where ---

/// Returns the device of a method: one FFT is not worth the way to a GPU.
Device device_for(const Settings& settings, Device device);
/// Returns the iterations of conjugate gradient between looks at the residual, for which a GPU waits.
inline int residual_interval(Device device) { return device.is_cuda() ? 5 : 1; }

// --- Fields ---

/// Returns the error (field_factors.hpp) that factors of fields may have.
double field_accuracy(const TransformSettings& transform);
inline constexpr std::int64_t most_field_terms = 512;
struct FieldSizes {
  TransformSizes sizes;
  std::int64_t coils = 1;
  double seen = 1;  ///< share of the voxels that a coil sees: exact sums take these alone
};
/// Returns the most terms of factors, with `plain` for each, that are worth it beside exact sums, by assumed rates: 0: exact sums,
/// where they are asked for or cheaper than some terms; all where the gridded transform is asked for or exact sums would take too
/// long.
std::int64_t most_factors(const FieldSizes& of, const TransformSettings& asked,
                          const TransformSettings& plain);
/// Returns the most Toeplitz operators that are worth it, by time and memory, beside E and E^H with so many terms.
std::int64_t most_toeplitz_terms(const FieldSizes& of, const TransformSettings& plain, std::int64_t terms);

}  // namespace fhd

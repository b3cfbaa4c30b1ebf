#pragma once
// The report of a reconstruction: what was done and how well. app/ prints it, io/ stores it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/message.hpp"

namespace fhd {

/// A span without pause; times count from the start of the reconstruction of the image.
struct StageSpan {
  double begin_s = 0, seconds = 0;
};

struct Stage {
  std::string name;  ///< "FhD", "Q", "conjugate gradient", ...
  double seconds = 0;
  /// Its spans in order; empty for a share of work that was done for several images at once.
  std::vector<StageSpan> spans{};
};

/// One solution of a search for lambda.
struct LambdaPoint {
  double lambda = 0;         ///< relative to the largest eigenvalue of E^H E
  double data_residual = 0;  ///< |F rho - d| / |d|
  /// Stein's unbiased estimate of the squared error of the image, as an image of a small lambda sees it, over the
  /// noise in that image (pipeline/lambda.cpp).
  double risk = 0;
};

/// One solution of a search for the strength of a sparse term.
struct StrengthPoint {
  double strength = 0;
  double data_residual = 0;  ///< |E rho - d| / |d|
  /// Stein's unbiased estimate of |E rho - E rho_0|^2, of the image without noise rho_0, over the expected
  /// |noise|^2.
  double risk = 0;
};

/// How exact a result is: the operators that made it are compared with double-precision direct sums at random voxels and
/// samples. Errors are relative l2 errors estimated from the places checked; < 0 where a
/// quantity does not occur in the method.
struct Certificate {
  std::int64_t voxels = 0, samples = 0;  ///< how many were checked
  double forward_error = -1;             ///< of F rho
  double adjoint_error = -1;             ///< of F^H d
  double normal_error = -1;              ///< of F^H F rho as the solver applied it (Toeplitz)
  /// The largest error of a single voxel or sample, also of those where an approximation of the phases is worst: where they
  /// and off-resonance are largest, and at the edge of the object; < 0 where all phases are k . r.
  double worst_error = -1;
  double adjointness = -1;  ///< |<F rho, d> - <rho, F^H d>| / (|F rho| |d|)
  /// |F^H(d - F rho) - lambda W^H W rho| / |F^H d| without the Toeplitz form, or a little more: the residual
  /// with it, of all voxels, and how far the exact one is from that at the voxels checked.
  double true_residual = -1;
  double solver_residual = -1;  ///< the same as conjugate gradient believes
  double requested = 0;         ///< what the largest of the three errors may be
  double seconds = 0;           ///< that the check took
  bool passed = false;
  /// The largest of the three errors; NaN where one is NaN, which std::max would pass over.
  double error() const {
    const bool known =
        forward_error == forward_error && adjoint_error == adjoint_error && normal_error == normal_error;
    return known ? std::max({forward_error, adjoint_error, normal_error})
                 : std::numeric_limits<double>::quiet_NaN();
  }
};

/// The misfit of an image in one part of the data.
struct Misfit {
  double where = 0;          ///< of a shell of k-space: its outer radius, 1 at a face; of a coil: its number
  double energy = 0;         ///< share of sum |d|^2
  double unexplained = 0;    ///< |E rho - d| / |d|, noise included
  double chi_squared = 0;    ///< |E rho - d|^2 over what the noise leaves there; 0 where that is not known
  double samples = 0;        ///< values there, of all coils
  double beyond_noise = -1;  ///< what of `unexplained` is more than noise; < 0 where that is not known
};

/// A change of the model that the data ask for, or a mistake that explains what an image leaves over of them.
struct Finding {
  std::string code;   ///< codes::delays, codes::folding, "scale", "order", "motion", ...
  std::string text;   ///< one sentence without a full stop: what, how much and how uncertain, with a unit
  double amount = 0;  ///< in `unit`
  double uncertainty = 0;    ///< standard deviation of `amount`; 0 where not known
  std::string unit{};        ///< empty where the finding has no size
  double share = 0;          ///< of |d - E rho|^2 that it explains, noise taken off
  double image_change = -1;  ///< |change of rho| / |rho| when it is undone; < 0: not known
  /// Values of the option that undoes it (remedy_of_cause): numbers of readouts or coils, delays in samples or factors of k
  /// along x, y, z, or a frequency in cycles/sample; empty: not known.
  std::vector<double> correction{};
};

/// A judgement whether E rho, with the trajectory, maps and field map as given, explains the samples to within their
/// noise. The certificate judges the arithmetic alone.
struct Verdict {
  enum class Judgement {
    explained,  ///< data explained
    ordinary,   ///< explained but for a rest that scans in vivo leave (`ordinary`)
    untested,  ///< no more values than unknowns, which every model explains, or a lambda that leaves signal over
    not_converged,  ///< the solver stopped far from the solution: nothing is said of the data
    varies,      ///< explained but for a signal that changes from readout to readout (contrast): an average
    unexplained  ///< data not explained
  };
  Judgement judgement = Judgement::untested;
  std::string sentence;          ///< why, for a reader
  std::optional<Finding> cause;  ///< the likeliest of unexplained data; empty: not known, or not sought
  /// sqrt(sum (|d - E rho|^2 - 1.2 noise) / sum |d|^2) over the shells with more values than unknowns, without what
  /// lambda takes off the image.
  double unexplained = 0;
  double tested = 0;               ///< share of sum |d|^2 in these shells
  double chi_squared = 0;          ///< of the same shells, 1: noise; 0 where the noise is not known
  double noise_variance = 0;       ///< E |n|^2 of a sample, in the unit of the scan; 0 where not known
  bool noise_is_measured = false;  ///< by noise readouts; else from the shell with the smallest rest
  double noise_share = 0;          ///< |noise| / |d| with this variance; 0 where it is not known
  std::vector<Misfit> by_radius, by_coil;
  /// |E rho - d| of groups of successive readouts, noise included, over that of d, root mean squares both: of the group,
  /// and of all samples. Empty where the trajectory has one readout.
  std::vector<double> by_readout;
  std::int64_t readouts_per_group = 0;
  std::vector<Finding> changes;
  /// Sources of what scans in vivo always leave over, most first, where more is left over than of simulated scans that are
  /// right: `share` of that.
  std::vector<Finding> ordinary;
  double ordinary_limit = 0;  ///< `unexplained` up to this is ordinary; 0: not estimated
  double border = 0;   ///< root mean square of |rho| along the border of the FOV over that of all voxels
  double air = 0;      ///< the same of the tenth of the voxels with the least |rho|
  double offset = 0;   ///< |c| over |d|, c the mean of the samples of each coil in the outer half of k-space
  double seconds = 0;  ///< that it took
};

/// A term without squares, as used.
struct UsedTerm {
  std::string name;     ///< "tv"
  double strength = 0;  ///< of the settings
  double weight = 0;    ///< of its values, in the unit of |d|^2 over that of the image
};

/// Full width at half maximum of the image of a point.
struct PointWidth {
  std::array<int, 3> voxel{};  ///< where the point is, x, y, z
  std::array<double, 3>
      width{};  ///< voxels along each axis; 0 on axes of one voxel, or where nothing is seen
  std::array<double, 3> width_mm{};  ///< the same in mm; 0 where the field of view is not known
};

/// The figures of noise maps. The object: voxels above a tenth of the largest magnitude.
struct NoiseSummary {
  std::string method;              ///< "pseudo-replicas", or "exact"
  std::int64_t replicas = 0;       ///< 0: exact
  bool noise_is_measured = false;  ///< by noise readouts
  double deviation = 0, snr = 0;   ///< medians over the object
  double g_factor = 0,
         largest_g_factor = 0;     ///< median and 99th percentile over the object; 0 where not defined
  std::vector<PointWidth> widths;  ///< of linear methods
  double seconds = 0;
};

/// A place where terms without squares make an image far brighter than least squares do.
struct HotSpot {
  std::array<int, 3> voxel{};  ///< of the image, x, y, z
  double times = 0;            ///< |image| over the largest magnitude around it in least squares
  bool is_held = false;        ///< a quadratic term was added there
};

/// The solution of one volume.
struct SolvedVolume {
  /// |b - A rho| / |b| of the normal equations A = E^H E + lambda W^H W, b = E^H d, as conjugate gradient
  /// updates it: of the start (1 from zeros) and per iteration. With terms beside the quadratic one those of the conditions of optimality:
  /// solve/admm.hpp.
  std::vector<double> relative_residuals{};
  bool converged = true;  ///< false: stopped by the iteration limit
  /// With such terms: what is minimised, over that of an image of zeros, of the start and after each iteration.
  std::vector<double> objectives{};
  std::optional<double> stationarity{};      ///< SparseSolution::stationarity
  double data_residual = 0;                  ///< |F rho - d| / |d|, from an explicit forward transform
  double largest_eigenvalue = 0;             ///< of E^H E, in the unit of the scan's maps
  std::optional<Certificate> certificate{};  ///< empty when nobody asked for one
  std::optional<Verdict> verdict{};          ///< likewise; of least squares alone
  std::optional<HotSpot> hot_spot{};         ///< the largest, with terms without squares
};

struct Report : SolvedVolume {
  std::vector<std::pair<std::string, std::string>> settings;  ///< name, value as used (after all defaults)
  std::vector<Stage> stages;
  double seconds = 0;             ///< the stages and what lies between them
  std::vector<Message> messages;  ///< decisions, and reasons why the image or the input may be wrong
  /// Q and density compensation that were there from an earlier scan or on disk.
  std::int64_t trajectory_hits = 0;
  std::size_t device_planned_bytes =
      0;                              ///< the most that arrays on the GPU were planned to take; 0 on the CPU
  std::size_t device_peak_bytes = 0;  ///< what they took, measured
  std::vector<UsedTerm> terms;        ///< beside the quadratic one
  double lambda = 0;                  ///< as used, absolute
  std::vector<LambdaPoint> lambda_curve;      ///< of a search for lambda, smallest first
  double noise_residual = 0;                  ///< |noise| / |d| that a search went by; 0 without a search
  std::vector<StrengthPoint> strength_curve;  ///< of a search for a strength, smallest first
  std::optional<NoiseSummary> noise_summary;  ///< of maps of the noise, where they were made
};

/// Images that show how a result was made.
struct DiagnosticImages {
  Array<Complex<float>> sensitivity_maps;  ///< [coil][y][x] of the middle slice, as used; empty without
  /// |q| / max |q| in the plane of no difference along z, [y][x], centred; empty when Q was not needed.
  Array<float> point_spread;
  /// For frames in a temporal subspace: orthonormal courses [component][frame], and the images [component][z][y][x] that they
  /// are multiplied by; empty without.
  Array<double> temporal_basis{};
  Array<Complex<float>> components{};
  Array<Complex<float>>
      set_images{};  ///< [set][z][y][x] of two sets of maps, whose `image` is combined_sets; empty: one set
};

/// Noise of an image, [z][y][x] each: noise_map.hpp.
struct NoiseMaps {
  Array<float>
      deviation;     ///< standard deviation of the real part (and of the imaginary part), unit of the image
  Array<float> snr;  ///< |image| / deviation; 0 where the deviation is 0
  Array<float> g_factor;  ///< empty where not defined
};

/// The progress of a long stage: `done` of `total` steps; `residual` < 0 where there is none.
struct Progress {
  std::string stage;
  std::int64_t done = 0, total = 0;
  double residual = -1;
};
using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace fhd

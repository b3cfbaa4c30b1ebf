#include "recon/pipeline/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "recon/domain/text.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/subspace.hpp"

namespace fhd {
namespace {

/// Iterations that bring the residual of a spectrum between lambda and `largest` + lambda down to the
/// tolerance: half of sqrt(condition) ln(2 / tolerance). Source: Shewchuk (1994), 9.
int chebyshev_iterations(double largest_over_lambda, double tolerance) {
  const double most = std::sqrt(1 + largest_over_lambda) * std::log(2 / tolerance) / 2;
  return static_cast<int>(std::min(1e9, std::ceil(most)));
}

/// By how much the circulant preconditioner narrows the spectrum: less where k-space has gaps, which coils fill and it
/// knows nothing of. Golden-angle radial of 96 x 96 (3.1 samples a voxel), 8 coils, x 1, 2, 4, 8, 12: 8, 9, 12, 17, 23
/// iterations, frames of 13 spokes 28 ... 30; this tells 14, 14, 14, 18, 22, 21. Spiral (1.6), x 1, 4, 8, 12: 9, 14, 17, 20;
/// 14, 18, 26, 26.
double preconditioner_gain(double samples_per_unknown) {
  return std::clamp(8 * samples_per_unknown, 1.5, 6.0);
}

/// Of the solver, without a limit.
int expected_iterations(const LeastSquares& method, bool corrects_off_resonance, double samples_per_unknown) {
  const double tolerance = std::max(method.tolerance, 1e-8);
  // ADMM: 12 ... 37, and some twice as many to a fifth of the tolerance, as measured; 40 ... 60 with temporal-tv; half of
  // them after a search of the strength, which leaves the image nearly solved.
  if (decide_solver(method) == SolverKind::admm) {
    const bool in_time = std::any_of(method.sparse.begin(), method.sparse.end(),
                                     [](const auto& each) { return each.kind == SparseKind::temporal_tv; });
    const double usual = (in_time ? 50 : 25) * (searches_strength(method) ? 0.5 : 1);
    return static_cast<int>(std::ceil(usual * std::sqrt(sparse_tolerance / tolerance)));
  }
  // Of the mean eigenvalue: the bulk of the spectrum lies below some twice the mean.
  double ratio = 2 / OfMeanEigenvalue{}.share;
  if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda))
    ratio = of_largest->share > 0 ? 1 / of_largest->share : 1e6;
  if (uses_preconditioner(method, corrects_off_resonance)) ratio /= preconditioner_gain(samples_per_unknown);
  return chebyshev_iterations(ratio, tolerance);
}

}  // namespace

double Walk::samples_per_unknown(const LeastSquares& method) const {
  if (!how_.frames) return frames_per_unknown_ * samples_ / voxels_;
  const std::int64_t components = component_count(method, how_.frames->frames);
  const double frames = static_cast<double>(how_.frames->frames),
               unknowns = components > 0 ? static_cast<double>(components) : frames;
  return frames / unknowns * static_cast<double>(how_.frames->samples_per_frame) / voxels_;
}

void Walk::decide() {
  if (gpu_) scan_.samples.x = scan_.samples.xy = scan_.samples.all;  // no sums are shared there
  out_.transform = decide_transform(how_.settings, device_, scan_.matrix_size, scan_.samples, out_.coils);
  transform_ = transform_settings(how_.settings);
  transform_.kind = out_.transform.kind;
  const auto* method = least_squares(how_.settings);
  if (method == nullptr) return;
  out_.solves = out_.coil_decision.uses_maps() ? 1 : coils();
  if (scan_.has_field_map && scan_.has_sample_time) {
    const bool toeplitz = method->normal == NormalKind::toeplitz, known = scan_.time_segments > 0;
    segments_ = known ? scan_.time_segments : 10;
    differences_ = known ? scan_.difference_segments : toeplitz ? 16 : 0;
    if (!known)
      out_.assumptions.push_back(
          "how many time segments the field map needs is not known before it is read: 10 are assumed, and 16 "
          "for the Toeplitz operator");
  }
  out_.most_iterations = method->iterations;
  out_.iterations =
      std::min(method->iterations, expected_iterations(*method, segments_ > 0, samples_per_unknown(*method)));
  const std::string tolerance = short_number(method->tolerance), most = std::to_string(method->iterations);
  out_.assumptions.push_back(name_of(decide_solver(*method)) + std::string(" is expected to take ") +
                             std::to_string(out_.iterations) + " iterations to " + tolerance +
                             " and takes at most " + most +
                             ": the true number depends on the trajectory and the data");
}

void Walk::take_measurements() {
  const bool maps = out_.coil_decision.uses_maps();
  const double all_samples = samples_ * coils(), all_voxels = voxels_ * coils();
  out_.host.hold("trajectory of the transform", samples_ * 24);
  kept_ = arrays().mark();
  arrays().hold("k-space data", all_samples * element_);
  if (maps) arrays().hold("sensitivity maps", all_voxels * element_);
  // Values converted and scaled, the image cropped.
  out_.between.work = copied(4 * (all_samples + voxels_) * (8 + element_)) + touched(all_samples * element_);
  if (maps) out_.between.work += copied(4 * all_voxels * (8 + element_));
  out_.between.on_host = true;
  if (gpu_) out_.between.work = 2.0 * out_.between.work, out_.between.seconds = 0.02;  // waits for the device
}

Estimate estimate(const ScanSizes& scan, const EstimateSettings& how) {
  ScanSizes sizes = scan;
  const AxisOrder order = long_axes_first(scan.matrix_size);
  sizes.matrix_size = in_order(order, scan.matrix_size);
  sizes.told_apart = in_order(order, scan.told_apart);
  sizes.cropped_matrix_size = in_order(order, scan.cropped_matrix_size);
  return Walk(sizes, how)();
}

}  // namespace fhd

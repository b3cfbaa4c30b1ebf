#include <omp.h>

#include <cmath>

#include "recon/coils/calibration.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/partial_fourier.hpp"
#include "recon/transform/direct/direct_cost.hpp"

namespace fhd {

// Iterations of conjugate gradient bring the residual of a spectrum between lambda and (1 + ratio) lambda down to the
// tolerance in sqrt(1 + ratio) ln(2 / tolerance) / 2 steps (Shewchuk (1994), 9); the circulant preconditioner narrows the
// spectrum, less where k-space has gaps. ADMM was measured.
int expected_iterations(const LeastSquares& method, bool corrects_off_resonance, double samples_per_unknown) {
  const double tolerance = std::max(method.tolerance, 1e-8);
  if (decide_solver(method) == SolverKind::admm) {
    const bool in_time = std::any_of(method.sparse.begin(), method.sparse.end(),
                                     [](const auto& each) { return each.kind == SparseKind::temporal_tv; });
    const double usual = (in_time ? 50 : 25) * (searches_strength(method) ? 0.5 : 1);
    return static_cast<int>(std::ceil(usual * std::sqrt(sparse_tolerance / tolerance)));
  }
  double ratio = 2 / reference_lambda;  // most of the spectrum lies below some twice the mean
  if (const auto* of_mean = std::get_if<OfMeanEigenvalue>(&method.lambda)) ratio = 2 / of_mean->share;
  if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda))
    ratio = of_largest->share > 0 ? 1 / of_largest->share : 1e6;
  if (uses_preconditioner(method, corrects_off_resonance))
    ratio /= std::clamp(8 * samples_per_unknown, 1.5, 6.0);
  return static_cast<int>(std::min(1e9, std::ceil(std::sqrt(1 + ratio) * std::log(2 / tolerance) / 2)));
}

ScanSizes sizes_of(const Scan& scan) {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  const AxisOrder order = long_axes_first(sizes.matrix_size);
  sizes.samples = count_samples(keeps_axes(order) ? scan.trajectory : in_order(order, scan.trajectory));
  sizes.coils = scan.kspace.coil_count();
  if (sizes.coils > 1)
    sizes.calibration_sampled =
        scan.calibration.has_value() || calibration_is_sampled(scan.trajectory, sizes.matrix_size);
  sizes.told_apart = field_told_apart(scan);
  sizes.noise_samples = scan.noise ? scan.noise->extent(1) : 0;
  sizes.calibration_samples = scan.calibration ? scan.calibration->kspace.sample_count() : 0;
  sizes.cropped_matrix_size = scan.cropped_matrix_size;
  sizes.has_maps = scan.sensitivity_maps.has_value();
  sizes.has_field_map = scan.field_map.has_value();
  sizes.has_sample_time = scan.sample_time_s.has_value();
  sizes.in_double = !scan.kspace.in_double.empty();
  return sizes;
}

ScanSizes on_larger_matrix(ScanSizes sizes, const std::array<int, 3>& matrix_size) {
  for (int axis = 0; axis < 3; ++axis) {
    const int own = std::exchange(sizes.matrix_size[axis], matrix_size[axis]);
    if (own == matrix_size[axis]) continue;
    sizes.is_enlarged = true;
    sizes.told_apart[axis] *= static_cast<double>(own) / matrix_size[axis];
    sizes.cropped_matrix_size[axis] = own;
  }
  return sizes;
}

ScanSizes sizes_of(const Scan& scan, const Settings& settings) {
  ScanSizes sizes = sizes_of(scan);
  if (const auto* method = least_squares(settings);
      method && method->partial_fourier == PartialFourier::phase)
    missing_side(scan.trajectory, scan.geometry.matrix_size);
  if (!looks_beyond_fov(settings) || sizes.told_apart == own_field || !bound_to_fov(scan, settings).empty())
    return sizes;
  return on_larger_matrix(sizes, object_beyond_fov(scan, sizes.told_apart).matrix_size);
}

Prediction predict(const ScanSizes& scan, const EstimateSettings& how, const MachineRates& device,
                   const MachineRates& host) {
  const Estimate made = estimate(scan, how);
  const auto seconds_of = [&](const EstimatedStage& stage) {
    return stage.seconds + device.seconds(stage.work) + host.seconds(stage.host_work);
  };
  Prediction result;
  result.images = how.images;
  result.other_seconds = seconds_of(made.between);
  double before = result.other_seconds;
  const bool solved = least_squares(how.settings) != nullptr,
             segmented = scan.has_field_map && scan.has_sample_time;  // whose Q depend on the field map
  for (const auto& stage : made.stages) {
    double seconds = seconds_of(stage);
    if (stage.name == "certificate") {  // of each frame, with a clock of its own
      const FrameSizes frames = how.frames.value_or(FrameSizes{1, scan.samples.all});
      const std::int64_t coils = made.coil_decision.uses_maps() || !solved ? made.coils : 1;
      seconds += frames.frames * how.verifier->expected_seconds(
                                     {double(frames.samples_per_frame), scan.voxels(), double(coils), solved,
                                      how.frames ? 0 : before, double(omp_get_max_threads())});
    }
    before += seconds;
    result.stages.push_back({stage.name, seconds});
    if (!how.frames && !segmented && depends_on_trajectory_alone(stage.name)) result.once_seconds += seconds;
  }
  result.iterations_seconds =
      made.solves * std::max(0, made.most_iterations - made.iterations) * device.seconds(made.iteration);
  return result;
}

double Prediction::seconds() const {
  double sum = other_seconds;
  for (const Stage& stage : stages) sum += stage.seconds;
  return sum;
}

}  // namespace fhd

#include <omp.h>

#include "recon/coils/calibration.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/partial_fourier.hpp"
#include "recon/transform/direct/direct_cost.hpp"

namespace fhd {

double ScanSizes::image_voxels() const {
  double count = 1;
  for (int axis = 0; axis < 3; ++axis)
    count *= cropped_matrix_size[axis] > 0 ? cropped_matrix_size[axis] : matrix_size[axis];
  return count;
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

namespace {

/// Returns the sizes on the matrix that holds the object (prepare_matrix).
ScanSizes on_larger_matrix(ScanSizes sizes, const std::array<int, 3>& matrix_size) {
  for (int axis = 0; axis < 3; ++axis)
    sizes.told_apart[axis] *= static_cast<double>(sizes.matrix_size[axis]) / matrix_size[axis];
  sizes.is_enlarged = sizes.is_enlarged || sizes.matrix_size != matrix_size;
  for (int axis = 0; axis < 3; ++axis)
    if (sizes.matrix_size[axis] != matrix_size[axis])
      sizes.cropped_matrix_size[axis] = sizes.matrix_size[axis];
  sizes.matrix_size = matrix_size;
  return sizes;
}

/// Returns ScanSizes::central_samples where the settings ask for them; else 0. Throws Error where no side of k-space is
/// missing.
std::int64_t central_sample_count(const Scan& scan, const Settings& settings) {
  const auto* method = least_squares(settings);
  if (method == nullptr || method->partial_fourier != PartialFourier::phase) return 0;
  const MissingSide missing = missing_side(scan.trajectory, scan.geometry.matrix_size);
  return static_cast<std::int64_t>(central_samples(scan.trajectory, missing).size());
}

}  // namespace

ScanSizes sizes_of(const Scan& scan, const Settings& settings) {
  ScanSizes sizes = sizes_of(scan);
  sizes.central_samples = central_sample_count(scan, settings);
  if (!looks_beyond_fov(settings) || sizes.told_apart == own_field || !bound_to_fov(scan, settings).empty())
    return sizes;
  const auto object = object_beyond_fov(scan, sizes.told_apart);
  return on_larger_matrix(std::move(sizes), object.matrix_size);
}

bool is_kept(const std::string& stage, const ScanSizes& scan, const Estimate& made,
             const EstimateSettings& how) {
  const auto* method = least_squares(how.settings);
  if (how.frames) return false;
  if (stage == "density compensation") return true;
  if (method == nullptr || (scan.has_field_map && scan.has_sample_time)) return false;
  if (stage == "Q") return true;
  const auto* roughness = std::get_if<RoughnessPenalty>(&method->regularizer);
  return how.device.is_cpu() && !made.coil_decision.finds_maps && !(roughness && roughness->prior) &&
         (stage == "transfer function" || stage == "preconditioner" || stage == "largest eigenvalue");
}

Prediction predict(const ScanSizes& scan, const EstimateSettings& how, const MachineRates& device,
                   const MachineRates& host) {
  const Estimate made = estimate(scan, how);
  const auto seconds_of = [&](const EstimatedStage& stage) {
    return stage.seconds + device.seconds(stage.work) + host.seconds(stage.host_work);
  };
  Prediction result;
  result.other_seconds = seconds_of(made.between);
  double before = result.other_seconds;
  const bool solved = least_squares(how.settings) != nullptr;
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
    if (is_kept(stage.name, scan, made, how)) result.once_seconds += seconds;
  }
  result.images = how.images;
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

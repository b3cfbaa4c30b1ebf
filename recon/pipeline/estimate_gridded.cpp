// What images without a system to solve cost: by themselves, and beside another.
#include <algorithm>
#include <cmath>
#include <memory>

#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd {

void Walk::make_conventional_image() {
  const auto transform = cost_of(transform_, transform_sizes());
  const bool fft = is_method<CartesianFft>(how_.settings);
  arrays().hold("coil images", voxels_ * coils() * element_ * (fft ? 2 : 1));
  arrays().hold("image", voxels_ * (element_ + 8));
  if (fft) {
    double operations = 0;
    for (const int n : scan_.matrix_size)
      if (n > 1) operations += 5 * std::log2(n) * voxels_;
    stage("inverse FFT", coils() * (Work(scan_.matrix_size[2] > 1 ? WorkUnit::fft_3d : WorkUnit::fft_2d,
                                         operations, how_.settings.precision) +
                                    copied(6 * voxels_ * element_)));
    return verify(false);
  }
  if (is_method<ConventionalGridding>(how_.settings)) {
    const DensityCost density = density_cost(transform_sizes());
    out_.host.hold("density compensation", samples_ * 8);
    arrays().hold_briefly("density compensation in the making", density.bytes);
    stage("density compensation", density.work);
  }
  arrays().hold("transform", transform->bytes());
  arrays().hold("sums of the transform", transform->scratch_bytes(out_.coils));
  out_.between.work += transform->making();
  copy_to_device();
  stage(is_method<PlainAdjoint>(how_.settings) ? "FhD" : "gridded adjoint",
        transform->adjoint(out_.coils) +
            touched(transform->scratch_bytes(out_.coils) + voxels_ * coils() * element_));
  verify(false);
}

/// With the samples, the maps and, where it is one, the gridded transform of the solution: gridded_images.
void Walk::share_companion() {
  const bool own = transform_.kind == TransformKind::gridded;
  const double accuracy = own ? transform_.accuracy
                          : predicts_by_gridding(how_.settings, transform_.kind)
                              ? prediction_accuracy
                              : std::get<ConventionalGridding>(how_.companion->method).accuracy;
  const GriddedCost gridded(transform_sizes(), accuracy);
  const DensityCost density = density_cost(transform_sizes());
  const double values = samples_ * channels() * element_, image = voxels_ * element_;
  if (!gpu_)
    out_.host.release(kept_);  // what the solution took; its image and the other transform are still there
  if (!gpu_ && !own) out_.host.hold("gridding", gridded.bytes() + gridded.scratch_bytes(together()));
  out_.host.hold("density compensation", samples_ * 8);
  arrays().hold_briefly("density compensation in the making", density.bytes);
  arrays().hold("gridded image and weighted samples", 2 * image + values + samples_ * element_);
  Work work =
      density.work + gridded.adjoint(channels()) + copied(3 * values + image) + touched(values + image);
  if (!own && accuracy != prediction_accuracy) {
    const double bytes = gridded.bytes() + gridded.scratch_bytes(together());
    if (gpu_) arrays().hold("gridding of the gridded image", bytes);
    work += gridded.making() + touched(bytes);
  }
  stage("gridded image", work);
}

void Walk::companion() {
  if (how_.companion == nullptr) return;
  if (out_.coil_decision.uses_maps() || out_.coils == 1) return share_companion();
  // The model is still there; the coils are the same.
  if (!gpu_) out_.host.release(kept_);
  ScanSizes same_coils = scan_;
  same_coils.noise_samples = same_coils.calibration_samples = 0;
  same_coils.has_field_map = same_coils.has_sample_time = false;
  same_coils.coils = out_.coils;
  same_coils.has_maps = out_.coil_decision.uses_maps();
  same_coils.in_double = prepared_in_double_;
  EstimateSettings how{*how_.companion, device_};
  const Estimate made = Walk(same_coils, how, true)();
  out_.stages.push_back({"gridded image", {}, 0, false});
  for (const auto& stage : made.stages) out_.stages.back().work += stage.work;
  out_.between.work += made.between.work;
  arrays().hold("gridded image", (gpu_ ? made.device : made.host).peak_bytes() -
                                     (gpu_ ? 0
                                           : program_bytes + samples_ * 24 +
                                                 (samples_ + (same_coils.has_maps ? voxels_ : 0)) * coils() *
                                                     held_bytes(prepared_in_double_)));
}

}  // namespace fhd

#include "recon/pipeline/estimate.hpp"

#include <cmath>
#include <memory>

#include "recon/domain/text.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd {

/// Returns the bytes of images that are made concurrently, each with arrays of its own, of volumes that are read ahead,
/// and of images that wait: each and twice its file.
double Walk::further_images(double arrays) const {
  const double images = how_.images * (how_.frames ? how_.frames->frames : 1);
  if (how_.images_wait_in_memory || how_.frames)
    return (images - 1) * scan_.image_voxels() * (element_ == 16 ? 24 : 8) * (how_.companion ? 2 : 1) * 4;
  const double volume = samples_ * (scan_.coils * held_bytes(scan_.in_double) + 24),
               slices = std::min(64.0, images * scan_.matrix_size[2]), slice = 4.0 * (1 << 16);
  const auto concurrent =
      volumes_side_by_side(device_, how_.images, static_cast<std::int64_t>(voxels_), omp_get_max_threads());
  return (concurrent - 1) * arrays + (images > 1 ? slices * slice : 0) + std::min(images - 1, 10.0) * volume;
}

void Walk::prepare() {
  MemoryLedger& host = out_.host;
  const Settings& settings = how_.settings;
  const CoilDecision& decision = out_.coil_decision =
      decide_coils({scan_.coils, scan_.coils, scan_.has_maps, scan_.noise_samples > 0}, settings);
  out_.coils = scan_.coils;
  if (decision.compresses) {
    out_.coils = virtual_coil_count(scan_.coils, settings.coils.compression);
    if (std::holds_alternative<KeptEnergy>(settings.coils.compression))
      out_.assumptions.push_back(
          "how many virtual coils keep the energy asked for is not known before the data are read: " +
          std::to_string(out_.coils) + " are assumed");
  }
  const bool mixes = decision.whitens || decision.compresses,
             mixes_in_double = mixes && settings.precision == Precision::double_precision;
  if (mixes || decision.finds_maps || (scan_.has_maps && !decision.maps_from_scan)) {
    const double kept_maps = decision.maps_from_scan ? voxels_ : 0;
    prepared_in_double_ = scan_.in_double || mixes_in_double;
    const double sample = coils() * held_bytes(prepared_in_double_);
    host.hold((samples_ + kept_maps) * sample + samples_ * 24 + scan_.noise_samples * coils() * 8);
    host.hold_briefly(scan_.calibration_samples * (sample + 24));
    if (mixes) host.hold_briefly((samples_ + kept_maps) * scan_.coils * (mixes_in_double ? 16 : 8));
  }
  const Work mixing = mixing_work(scan_.coils, scan_.samples.all);
  if (decision.whitens) host_stage("whitening", mixing);
  if (decision.compresses) host_stage("coil compression", mixing);
  if (!decision.finds_maps) return;
  host.hold(voxels_ * coils() * 8);
  const MapsCost maps = maps_cost(
      scan_.matrix_size, scan_.calibration_samples > 0 ? scan_.calibration_samples : scan_.samples.all,
      out_.coils, map_method(settings.coils.maps), scan_.calibration_sampled, settings.coils.estimation,
      device_);
  host.hold_briefly(maps.scratch_bytes);
  helped_stage("sensitivity maps", maps);
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
          "how many time segments the field map needs is not known before it is read: 10 are assumed, and "
          "16 for the Toeplitz operator");
  }
  out_.most_iterations = method->iterations;
  out_.iterations =
      std::min(method->iterations, expected_iterations(*method, segments_ > 0, samples_per_unknown(*method)));
  out_.assumptions.push_back(name_of(decide_solver(*method)) + std::string(" is expected to take ") +
                             std::to_string(out_.iterations) + " iterations to " +
                             short_number(method->tolerance) + " and takes at most " +
                             std::to_string(method->iterations) +
                             ": the true number depends on the trajectory and the data");
}

void Walk::take_measurements() {
  const double maps = out_.coil_decision.uses_maps() ? voxels_ * coils() : 0, all = samples_ * coils();
  out_.host.hold(samples_ * 24);
  kept_ = arrays().mark();
  arrays().hold((all + maps) * element_);
  // Values converted and scaled, the image cropped; a GPU is waited for.
  out_.between.host_work = (gpu_ ? 2.0 : 1.0) * copied(4 * (all + voxels_ + maps) * (8 + element_));
  if (gpu_) out_.between.seconds = 0.02;
}

void Walk::make_conventional_image() {
  const auto transform = cost_of(transform_, transform_sizes());
  const bool fft = is_method<CartesianFft>(how_.settings);
  const double coil_images = coils() * image_;
  arrays().hold(coil_images * (fft ? 2 : 1) + image_ + voxels_ * 8);
  if (fft) {
    double operations = 0;
    for (const int n : scan_.matrix_size)
      if (n > 1) operations += 5 * std::log2(n) * voxels_;
    stage("inverse FFT",
          Work(WorkUnit::fft, coils() * operations, how_.settings.precision) + copied(6 * coil_images));
    return verify(false);
  }
  if (is_method<ConventionalGridding>(how_.settings)) {
    const DensityCost density = density_cost(transform_sizes());
    out_.host.hold(samples_ * 8);
    arrays().hold_briefly(density.bytes);
    stage("density compensation", density.work);
  }
  arrays().hold(transform->bytes() + transform->scratch_bytes(out_.coils));
  out_.between.work += transform->making();
  copy_to_device();
  stage(is_method<PlainAdjoint>(how_.settings) ? "FhD" : "gridded adjoint", transform->adjoint(out_.coils));
  verify(false);
}

/// Adds the gridded image, made with the samples, the maps and, where it is one, the gridded transform of the
/// solution.
void Walk::companion() {
  if (!gpu_) out_.host.release(kept_);  // what the solution took
  const bool own = transform_.kind == TransformKind::gridded,
             predicts = predicts_by_gridding(how_.settings, transform_.kind);
  const double accuracy = own        ? transform_.accuracy
                          : predicts ? prediction_accuracy
                                     : std::get<ConventionalGridding>(how_.companion->method).accuracy;
  const GriddedCost gridded(transform_sizes(), accuracy);
  const DensityCost density = density_cost(transform_sizes());
  if (!own && (!gpu_ || !predicts)) arrays().hold(gridded.bytes() + gridded.scratch_bytes(together()));
  out_.host.hold(samples_ * 8);
  arrays().hold_briefly(density.bytes);
  arrays().hold(2 * image_ + values() + samples_ * element_);  // with weighted samples
  Work work = density.work + gridded.adjoint(channels()) + copied(3 * values() + image_);
  if (!own && !predicts) work += gridded.making();
  stage("gridded image", work);
}

/// Adds E of the image times the field map; without a field map some passes.
void Walk::judge() {
  if (how_.verifier == nullptr) return;
  Work work = copied(4 * values() + image_);
  if (segments_ > 0) {
    const GriddedCost gridded(transform_sizes(), verdict_transform(how_.settings, transform_).accuracy);
    if (transform_.kind != TransformKind::gridded && !predicts_by_gridding(how_.settings, transform_.kind)) {
      arrays().hold(gridded.bytes() + gridded.scratch_bytes(together()));
      work += gridded.making();
    }
    arrays().hold(values() + image_);
    if (gpu_) out_.host.hold(values() + image_);
    work += segments_ * (gridded.forward(channels()) + copied(4 * values()));
  }
  host_stage("verdict", work);
}

ScanSizes Walk::prepared_sizes() const {
  ScanSizes scan = scan_;
  scan.coils = out_.coils;
  scan.has_maps = out_.coil_decision.uses_maps();
  scan.in_double = prepared_in_double_;
  scan.noise_samples = scan.calibration_samples = 0;
  scan.time_segments = segments_, scan.difference_segments = differences_;
  return scan;
}

void Walk::add_stage_of(std::string name, const Estimate& made) {
  EstimatedStage all = made.between;
  all.name = std::move(name);
  for (const auto& each : made.stages) {
    all.work += each.work;
    all.host_work += each.host_work;
    all.seconds += each.seconds;
  }
  out_.stages.push_back(std::move(all));
}

/// Adds an image of the centre of k-space, and a copy of the scan with its phase in the maps: partial_fourier.hpp.
void Walk::find_phase() {
  ScanSizes centre = prepared_sizes();
  if (scan_.central_samples == 0)
    out_.assumptions.push_back(
        "how much of k-space lies on both sides is not known before the scan is read: half is assumed");
  centre.samples.all = centre.samples.x = centre.samples.xy =
      scan_.central_samples > 0 ? scan_.central_samples : scan_.samples.all / 2;
  EstimateSettings how{settings_as_prepared(), device_};
  std::get<LeastSquares>(how.settings.method).partial_fourier = PartialFourier::off;
  add_stage_of("phase", Walk(centre, how, true)());
  out_.stages.back().work += copied(40 * voxels_ * 16);
  out_.host.hold(voxels_ * 16 + (samples_ + voxels_) * coils() * held_bytes(prepared_in_double_) +
                 samples_ * 24);
}

/// Adds a reconstruction for each replica and, if the method is linear, each point; what depends on the trajectory
/// is made once.
void Walk::map_noise(std::int64_t replicas) {
  const ScanSizes scan = prepared_sizes();
  EstimateSettings how{settings_as_prepared(), device_};
  auto* method = std::get_if<LeastSquares>(&how.settings.method);
  const bool is_linear =
      (out_.coil_decision.uses_maps() || out_.coils == 1) && !(method && !method->sparse.empty());
  if (method) {  // what was searched is found
    if (std::holds_alternative<FromNoise>(method->lambda)) method->lambda = OfLargestEigenvalue{};
    for (auto& penalty : method->sparse) penalty.strength = penalty.strength.value_or(0.005);
  }
  Estimate made = Walk(scan, how, true)();
  double axes = 0;
  for (const int n : scan_.matrix_size) axes += n > 1;
  const double again = replicas + (is_linear ? 1 + 2 * axes : 0);
  for (auto& each : made.stages)
    if (!is_kept(each.name, scan, made, how)) each.work = again * each.work, each.seconds *= again;
  made.between.host_work = again * made.between.host_work;
  add_stage_of("noise map", made);
  constexpr double drawn_s = 4e-8, pair_s = 4e-9, group_s = 8e-6;
  double& seconds = out_.stages.back().seconds;
  seconds += again * samples_ * coils() * drawn_s / omp_get_max_threads();
  const double maps = scan.has_maps ? voxels_ * coils() * held_bytes(prepared_in_double_) : 0,
               samples = samples_ * coils() * held_bytes(prepared_in_double_);
  if (!gpu_) out_.host.release(kept_);
  if (replicas == 0) {  // by one thread: pairs of aliases, each with pairs of coils, and small matrices
    const double aliases = std::max(1.0, voxels_ / samples_);
    seconds += voxels_ * aliases * coils() * coils() * pair_s + voxels_ / aliases * group_s;
    out_.host.hold_briefly(2 * maps + 24 * voxels_);
  }
  out_.host.hold(voxels_ * 64 + (method ? 2 : 1) * samples + samples_ * 48 + made.host.peak_bytes() -
                 program_bytes);
  out_.device.hold(made.device.peak_bytes());
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

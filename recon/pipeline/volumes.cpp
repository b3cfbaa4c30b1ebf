#include "recon/pipeline/volumes.hpp"

#include <string>
#include <utility>

#include "recon/domain/text.hpp"
#include "recon/pipeline/conventional.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/finish.hpp"
#include "recon/pipeline/partial_fourier.hpp"
#include "recon/transform/direct/direct_cost.hpp"

namespace fhd {

TransformSettings decided_transform(const Scan& scan, const Context& context) {
  TransformSettings transform = transform_settings(context.settings);
  if (transform.kind != TransformKind::automatic) return transform;
  const std::int64_t count = scan.trajectory.sample_count(), coils = scan.kspace.coil_count();
  SampleCount samples{count, count, count};
  const auto decide = [&] {
    return decide_transform(context.settings, context.device(), scan.geometry.matrix_size, samples, coils);
  };
  TransformDecision decision = decide();
  if (decision.kind == TransformKind::gridded && !context.processes().is_shared()) {
    samples = count_samples(scan.trajectory);  // those that share positions take less
    decision = decide();
  }
  transform.kind = decision.kind;
  const std::string pairs = short_number(decision.pairs) + " pairs of voxels and samples";
  context.log.note("transform", transform.kind == TransformKind::direct
                           ? "transform: direct (exact), " + pairs +
                                 (samples.x < samples.all ? " that differ" : "")
                           : "transform: gridded to " + short_number(transform.accuracy) + ", because " +
                                 pairs + " are too many for the direct sums");
  return transform;
}

void note_openness(const Scan& scan, const Context& context) {
  const std::int64_t voxels = scan.geometry.voxel_count(),
                     measurements = scan.trajectory.sample_count() * scan.kspace.coil_count();
  if (!scan.sensitivity_maps && scan.kspace.coil_count() > 1)
    context.log.note("transform", 
        "no sensitivity maps are used: each coil is reconstructed on its own, the image is their root of the "
        "sum of squares");
  if (const auto* method = least_squares(context.settings); method && measurements < voxels)
    context.log.note("transform", 
        std::to_string(voxels) + " voxels are sought from " + std::to_string(measurements) +
        " measured values: " + (method->sparse.empty() ? "lambda decides" : "the regularizer decides") +
        " what the data leave open");
}

namespace {

/// Returns the cached operators if they are of this scan; otherwise makes new ones.
template <class T>
TrajectoryOperators<T>& operators_of(const Scan& scan, const TransformSettings& transform,
                                     const Context& context, Cache<T>& cache) {
  const auto& matrix_size = scan.geometry.matrix_size;
  double differs = !cache.operators || !cache.operators->are_of(scan.trajectory, matrix_size, transform);
  context.processes().sum(&differs, 1);  // each looks at its share: all make them anew, or none
  if (differs > 0) {
    cache.model.reset();
    cache.operators.emplace(scan.trajectory, matrix_size, transform, context.execution,
                            context.services.trajectory_cache);
  }
  return *cache.operators;
}

/// Makes sure that the cache holds the model of the scan, and takes the samples to the device.
template <class T>
void take_model(Measurements<T>& data, std::optional<OffResonance>& off_resonance,
                TrajectoryOperators<T>& operators, const std::shared_ptr<const Preparation>& series,
                const Context& context, Cache<T>& cache) {
  if (cache.model && (!series || cache.model_of != series)) cache.model.reset();
  const std::int64_t coils_at_once =
      cache.model ? 0 : planned_coils_at_once(data.scan, operators.settings(), off_resonance, context);
  copy_to_device(data.samples, context);
  if (cache.model) return;
  const std::int64_t volumes = series && coils_at_once == 0 ? series->volumes_at_once : 1;
  cache.model = make_model(data.scan, off_resonance, coils_at_once, volumes, operators, context);
  cache.model_of = series;
  if (off_resonance) off_resonance->segments.weights = off_resonance->differences.weights = {};
  if (!off_resonance && least_squares(context.settings)->normal == NormalKind::toeplitz)
    context.log.diagnostic_images.point_spread = central_plane(operators.point_spread(context.log));
}

/// Finishes the images of the volumes, or of two sets of maps.
template <class T>
std::vector<Image> finished_images(Array<Complex<T>> images, const Measurements<T>& data, double map_unit,
                                   const Context& context) {
  const Shape image = data.scan.geometry.image_shape();
  const std::int64_t count = images.size() / image.size();
  std::vector<Image> result;
  for (std::int64_t i = 0; i < count; ++i) {
    Array<Complex<T>> one =
        count == 1 ? std::move(images).reshaped(image) : one_of(images, image, i).to(context.device());
    const double unit = data.unit(data.scan.second_maps ? 0 : i);
    result.push_back(finished_image(std::move(one), unit / map_unit, data.scan, context));
  }
  if (!data.scan.second_maps) return result;
  context.log.diagnostic_images.set_images = stacked(result);
  return {combined_sets(result)};
}

template <class T>
Images images_of(const Scan& scan, std::vector<const KSpace*> volumes,
                 const std::shared_ptr<const Preparation>& series, const Context& context, Cache<T>& cache) {
  RunLog& log = context.log;
  const TransformSettings transform = decided_transform(scan, context);
  describe_settings(transform, context);
  Measurements<T> data = measurements_of<T>(scan, std::move(volumes), context);
  note_openness(scan, context);
  if (scan.sensitivity_maps)
    log.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  auto off_resonance = off_resonance_of(scan, context);
  auto& operators = operators_of(scan, transform, context, cache);
  Images result;
  if (least_squares(context.settings) == nullptr) {
    result.images = conventional_images(data, operators, context);
  } else {
    take_model(data, off_resonance, operators, series, context, cache);
    auto solved = solve(*cache.model, data, operators, context);
    result.solved = std::move(solved.volumes);
    result.gridded = gridded_images(*cache.model, data, operators, context);
    const double map_unit = cache.model->map_unit;
    if (!series) operators.release_other_transform(), cache.model.reset();
    result.images = finished_images(std::move(solved.images), data, map_unit, context);
  }
  log.report.device_peak_bytes = device::memory_use(context.device()).peak_bytes;
  return result;
}

/// Returns the phase of an image of the centre of k-space, which nobody else sees.
template <class T>
Array<Complex<double>> phase_of_centre(const Scan& scan, const MissingSide& missing, const Context& context) {
  Settings settings = context.settings;
  std::get<LeastSquares>(settings.method).partial_fourier = PartialFourier::off;
  RunLog log(context.device(), context.log.progress());
  const Services none;
  const Scan centre = symmetric_centre(scan, missing);
  Cache<T> cache;
  const Context own{settings, context.execution, none, log};
  return smooth_phase(images_of(centre, {&centre.kspace}, {}, own, cache).images.front(), missing);
}

}  // namespace

template <class T>
Images volume_images(const Scan& scan, std::vector<const KSpace*> volumes,
                     const std::shared_ptr<const Preparation>& series, const Context& context, Cache<T>& cache) {
  const auto* method = least_squares(context.settings);
  if (method == nullptr || method->partial_fourier == PartialFourier::off)
    return images_of(scan, std::move(volumes), series, context, cache);
  RunLog& log = context.log;
  const MissingSide missing = missing_side(scan);
  Array<Complex<double>> phase;
  log.stage("phase", [&] { phase = phase_of_centre<T>(scan, missing, context); });
  log.note("partial_fourier", "partial Fourier: k-space reaches " + short_number(missing.reach) +
               " cycles/FOV on one side and " + short_number(missing.longest) +
               " on the other; the image is real but for the phase of the centre");
  const Scan turned = with_phase(scan, phase);
  Images made = images_of(turned, {&turned.kspace}, {}, context, cache);
  for (auto* images : {&made.images, &made.gridded})
    for (auto& image : *images) apply_phase(phase, image);
  if (scan.sensitivity_maps)
    log.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  return made;
}

template Images volume_images<float>(const Scan&, std::vector<const KSpace*>,
                                     const std::shared_ptr<const Preparation>&, const Context&, Cache<float>&);
template Images volume_images<double>(const Scan&, std::vector<const KSpace*>,
                                      const std::shared_ptr<const Preparation>&, const Context&,
                                      Cache<double>&);

}  // namespace fhd

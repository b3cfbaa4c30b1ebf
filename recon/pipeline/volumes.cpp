#include "recon/pipeline/volumes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "recon/array/central_part.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/encoding/field_phase.hpp"
#include "recon/pipeline/conventional.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/partial_fourier.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/transform/direct/direct_cost.hpp"

namespace fhd {
namespace {

std::string in_words(const LambdaChoice& lambda) {
  if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&lambda))
    return exact_number(of_largest->share);
  if (const auto* of_mean = std::get_if<OfMeanEigenvalue>(&lambda))
    return exact_number(of_mean->share) + " of the mean eigenvalue";
  if (std::holds_alternative<StandardLambda>(lambda)) return in_words(OfMeanEigenvalue{});
  if (std::holds_alternative<BelowNoise>(lambda)) return "below the noise";
  return "from the noise";
}

std::string in_words(const BasisChoice& basis) {
  if (const auto* leading = std::get_if<LeadingCourses>(&basis))
    return std::to_string(leading->count) + " leading courses";
  return "given courses, " + std::get<GivenCourses>(basis).values.shape().text();
}

/// "identity", "identity,wavelet:0.01", "tv:0.02"
std::string names_of_terms(const LeastSquares& method) {
  const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda);
  const bool is_asked_for =
      of_largest ? of_largest->share > 0 : !std::holds_alternative<BelowNoise>(method.lambda);
  std::string text;
  if (method.sparse.empty() || is_asked_for)
    text = std::holds_alternative<IdentityPenalty>(method.regularizer) ? "identity" : "roughness";
  for (const auto& [kind, strength] : method.sparse)
    text += (text.empty() ? "" : ",") + std::string(name_of(kind)) + ":" +
            (strength ? exact_number(*strength) : "auto");
  return text;
}

template <class T>
Image cropped(Array<Complex<T>> full, const Scan& scan) {
  Image image;
  image.geometry = scan.geometry;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = scan.geometry.matrix_size[axis], wanted = scan.cropped_matrix_size[axis];
    if (wanted == 0 || wanted == n) continue;
    image.geometry.matrix_size[axis] = wanted;
    image.geometry.fov_mm[axis] *= static_cast<double>(wanted) / n;
  }
  const Shape shape = image.geometry.image_shape();
  Array<Complex<T>> values = shape == full.shape() ? std::move(full) : central_part(full, shape);
  if constexpr (std::is_same_v<T, float>) {
    image.values = std::move(values);
  } else {
    image.values = converted<Complex<float>>(values);
    image.in_double = std::move(values);
  }
  return image;
}

}  // namespace

void describe_settings(const TransformSettings& transform, const Context& context) {
  const Settings& s = context.settings;
  RunLog& log = context.log;
  const auto* solved = least_squares(s);
  const bool sums = solved || is_method<PlainAdjoint>(s), direct = transform.kind == TransformKind::direct;
  log.setting("method", name_of(s.method));
  log.setting("device", context.device().is_cpu() ? "cpu" : "cuda");
  log.setting("precision", s.precision == Precision::single_precision ? "single" : "double");
  if (sums) log.setting("transform", name_of(transform.kind));
  if (transform.kind == TransformKind::gridded) log.setting("accuracy", exact_number(transform.accuracy));
  if (sums && direct && context.device().is_cuda())
    log.setting("sums on the GPU", name_of(transform.gpu_sums));
  if (solved == nullptr) return;
  log.setting("normal", solved->normal == NormalKind::toeplitz ? "toeplitz" : "explicit");
  log.setting("regularizer", names_of_terms(*solved));
  if (!solved->sparse.empty()) log.setting("solver", name_of(decide_solver(*solved)));
  if (solved->partial_fourier == PartialFourier::phase) log.setting("partial Fourier", "phase");
  if (solved->basis) log.setting("basis", in_words(*solved->basis));
  log.setting("lambda", in_words(solved->lambda));
  log.setting("iterations", std::to_string(solved->iterations));
  log.setting("tolerance", exact_number(solved->tolerance));
}

template <class T>
Image finished_image(Array<Complex<T>> image, double unit, const Scan& scan, const Context& context) {
  scale(image, static_cast<T>(unit));
  if (image.device().is_cuda())
    context.log.stage("copy from the device", [&] { image = image.to(Device::cpu()); });
  Image result = cropped(std::move(image), scan);
  const auto& values = result.values;
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite)
  for (std::int64_t i = 0; i < values.size(); ++i)
    finite = finite && std::isfinite(values.data()[i].re) && std::isfinite(values.data()[i].im);
  if (!finite)
    throw Error("reconstruction", "finite voxels", "NaN or infinity",
                "use " + option_words("precision", "double") + ", or a larger " + option_words("lambda"));
  return result;
}

Array<Complex<float>> middle_slice(const Array<Complex<float>>& maps) {
  const std::int64_t coils = maps.extent(0), nz = maps.extent(1), pixels = maps.extent(2) * maps.extent(3);
  Array<Complex<float>> slice(Shape{coils, maps.extent(2), maps.extent(3)});
  for (std::int64_t coil = 0; coil < coils; ++coil)
    std::copy_n(maps.data() + (coil * nz + nz / 2) * pixels, pixels, slice.data() + coil * pixels);
  return slice;
}

template <class T>
Array<float> central_plane(const Array<Complex<T>>& point_spread) {
  const std::int64_t ny = point_spread.extent(1), nx = point_spread.extent(2);
  Array<Complex<T>> plane(Shape{ny, nx}, point_spread.device());
  copy_range(point_spread, 0, plane, 0, plane.size());
  plane = plane.to(Device::cpu());
  Array<float> centred(Shape{ny, nx});
  const double largest = abs(plane[0]);  // |q(0)| is the largest
  for (std::int64_t y = 0; y < ny; ++y)
    for (std::int64_t x = 0; x < nx; ++x)
      centred[(y + ny / 2) % ny * nx + (x + nx / 2) % nx] =
          largest == 0 ? 0.0F : static_cast<float>(abs(plane[y * nx + x]) / largest);
  return centred;
}

#define FHD_INSTANTIATE(T)                                                                  \
  template Image finished_image<T>(Array<Complex<T>>, double, const Scan&, const Context&); \
  template Array<float> central_plane<T>(const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

TransformSettings decided_transform(const Scan& scan, const Context& context) {
  TransformSettings transform = transform_settings(context.settings);
  if (transform.kind != TransformKind::automatic) return transform;
  if (has_fields(scan)) {  // the transform of factors; field_model_of decides whether sums are exact
    transform.kind = TransformKind::gridded;
    return transform;
  }
  const std::int64_t count = scan.trajectory.sample_count(), coils = scan.kspace.coil_count();
  const TransformDecision decision =
      decide_transform(context.settings, context.device(), scan.geometry.matrix_size, count, coils, [&] {
        return context.processes().is_shared() ? SampleCount{count, count, count}
                                               : count_samples(scan.trajectory);
      });
  transform.kind = decision.kind;
  context.log.note("transform", transform.kind == TransformKind::direct
                                    ? "transform: direct (exact), " + decision.pairs_text()
                                    : "transform: gridded to " + short_number(transform.accuracy) +
                                          ", because " + decision.pairs_text() +
                                          " are too many for the direct sums");
  return transform;
}

void note_openness(const Scan& scan, const Context& context) {
  const std::int64_t voxels = scan.geometry.voxel_count(),
                     measurements = scan.trajectory.sample_count() * scan.kspace.coil_count();
  if (!scan.sensitivity_maps && scan.kspace.coil_count() > 1)
    context.log.note(
        "transform",
        "no sensitivity maps are used: each coil is reconstructed on its own, the image is their root of the "
        "sum of squares");
  if (const auto* method = least_squares(context.settings); method && measurements < voxels)
    context.log.note(
        "transform",
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
void take_model(Measurements<T>& data, std::optional<FieldModel>& fields, TrajectoryOperators<T>& operators,
                const std::shared_ptr<const Preparation>& series, const Context& context, Cache<T>& cache) {
  if (cache.model && (!series || cache.model_of != series)) cache.model.reset();
  const std::int64_t coils_at_once =
      cache.model ? 0 : planned_coils_at_once(data.scan, operators.settings(), fields, context);
  copy_to_device(data.samples, context);
  if (cache.model) return;
  const std::int64_t volumes = series && coils_at_once == 0 ? series->volumes_at_once : 1;
  cache.model = make_model(data.scan, fields, coils_at_once, volumes, operators, context);
  cache.model_of = series;
  auto& largest = cache.model->largest_eigenvalue;
  if (series && !(largest > 0))  // of the operators alone: the same whichever volumes come first
    context.log.stage("largest eigenvalue",
                      [&] { largest = largest_eigenvalue(*cache.model->problem.normal); });
  if (fields) fields->factors.weights = fields->differences.weights = {};
  if (!fields && least_squares(context.settings)->normal == NormalKind::toeplitz)
    context.log.diagnostic_images.point_spread = central_plane(operators.point_spread(context.log));
}

/// Combines the images of two sets of maps [set]: the root of the sum of squares, with the phase of the first.
Image combined_sets(const std::vector<Image>& images) {
  Image result = images.front();
  const auto combine = [&](auto& values, auto member) {
    for (std::int64_t p = 0; p < values.size(); ++p) {
      double square = 0;
      for (const auto& image : images) square += norm(Complex<double>((image.*member).data()[p]));
      const double first = abs(Complex<double>(values.data()[p]));
      using Value = std::decay_t<decltype(values.data()[p])>;
      const double factor = first > 0 ? std::sqrt(square) / first : 0;
      values.data()[p] = first > 0 ? Value(factor * Complex<double>(values.data()[p]))
                                   : Value(Complex<double>(std::sqrt(square)));
    }
  };
  combine(result.values, &Image::values);
  if (!result.in_double.empty()) combine(result.in_double, &Image::in_double);
  return result;
}

/// Returns DiagnosticImages::set_images.
Array<Complex<float>> stacked(const std::vector<Image>& images) {
  const Shape image = images.front().values.shape();
  Array<Complex<float>> all({static_cast<std::int64_t>(images.size()), image[0], image[1], image[2]});
  for (std::size_t i = 0; i < images.size(); ++i)
    std::copy_n(images[i].values.data(), image.size(),
                all.data() + static_cast<std::int64_t>(i) * image.size());
  return all;
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
  TransformSettings transform = decided_transform(scan, context);
  auto fields = field_model_of(scan, transform, context);
  describe_settings(transform, context);
  Measurements<T> data = measurements_of<T>(scan, std::move(volumes), context);
  note_openness(scan, context);
  if (scan.sensitivity_maps)
    log.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  auto& operators = operators_of(scan, transform, context, cache);
  Images result;
  if (least_squares(context.settings) == nullptr) {
    result.images = conventional_images(data, fields, operators, context);
  } else {
    take_model(data, fields, operators, series, context, cache);
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
                     const std::shared_ptr<const Preparation>& series, const Context& context,
                     Cache<T>& cache) {
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
                                     const std::shared_ptr<const Preparation>&, const Context&,
                                     Cache<float>&);
template Images volume_images<double>(const Scan&, std::vector<const KSpace*>,
                                      const std::shared_ptr<const Preparation>&, const Context&,
                                      Cache<double>&);

}  // namespace fhd

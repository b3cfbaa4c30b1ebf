#include "recon/pipeline/conventional.hpp"

#include "recon/array/linear_operator.hpp"
#include "recon/encoding/functors.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/solve.hpp"
#include "recon/pipeline/volumes.hpp"
#include "recon/solve/stack.hpp"
#include "recon/transform/cartesian.hpp"

namespace fhd {

template <class T>
Array<Complex<T>> combined(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                           bool divides) {
  const Shape image_shape{coil_images.extent(1), coil_images.extent(2), coil_images.extent(3)};
  if (maps.empty())
    return coil_images.extent(0) == 1 ? Array<Complex<T>>(coil_images).reshaped(image_shape)
                                      : root_sum_of_squares(coil_images);
  Array<Complex<T>> image(image_shape, coil_images.device());
  combine_coils(coil_images, maps, image);
  if (divides) divide_by_squares(maps, image);
  return image;
}

namespace {

/// Multiplies the samples, in host memory, by the density compensation.
template <class T>
void compensate_density(Measurements<T>& data, TrajectoryOperators<T>& operators, const Context& context) {
  const Array<double>& weights = operators.density(context.log);
  const std::int64_t coils = data.samples.extent(0), sample_count = data.samples.extent(1);  // of all volumes
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    for (std::int64_t m = 0; m < sample_count; ++m)
      data.samples.data()[coil * sample_count + m] *= static_cast<T>(weights.data()[m]);
}

}  // namespace

template <class T>
std::vector<Image> conventional_images(Measurements<T>& data, const std::optional<FieldModel>& fields,
                                       TrajectoryOperators<T>& operators, const Context& context) {
  RunLog& log = context.log;
  const bool gridded = is_method<ConventionalGridding>(context.settings),
             adjoint = is_method<PlainAdjoint>(context.settings);
  planned_coils_at_once(data.scan, operators.settings(), fields, context);
  if (gridded) compensate_density(data, operators, context);
  copy_to_device(data.samples, context);
  const ScaledMaps<T> maps = maps_of<T>(data.scan, context);

  Array<Complex<T>> images;  // [volume and coil][z][y][x]
  Array<double> of_positions;
  const Array<double>* weights = nullptr;  // w of F^H (w d), [sample]
  if (gridded || adjoint) {
    auto transform = operators.transform();
    if (fields)
      transform = transform_in_fields<T>(*fields, factors_on<T>(context.device(), *fields), transform);
    images = Array<Complex<T>>(transform->images_shape(data.samples.extent(0)), context.device());
    log.stage(gridded ? "gridded adjoint" : "FhD", [&] { transform->adjoint(data.samples, images); });
  } else {
    const Trajectory& trajectory = operators.trajectory();
    const auto& matrix_size = operators.matrix_size();
    log.stage("inverse FFT", [&] { images = inverse_fft_images(trajectory, matrix_size, data.samples); });
    if (context.services.verifier) of_positions = cartesian_weights(trajectory, matrix_size);
    weights = &of_positions;
  }
  const bool is_last = data.volume_count() == 1;           // further volumes will ask for the transform again
  if (gridded && is_last) operators.release_transforms();  // density compensation is what is worth keeping
  if (gridded) weights = &operators.density(log);
  const double promised =
      std::max(operators.promised_accuracy(),
               fields && !fields->is_exact() ? field_accuracy(transform_settings(context.settings)) : 0.0);
  verify_first_image(images, data, weights, fields.has_value(), promised, context);

  const Shape coil_images{data.scan.kspace.coil_count(), images.extent(1), images.extent(2),
                          images.extent(3)};
  std::vector<Image> result;
  for (std::int64_t v = 0; v < data.volume_count(); ++v) {
    auto image = combined(one_of(images, coil_images, v), maps.values, !adjoint);
    const double unit = adjoint ? data.unit(v) * maps.unit : data.unit(v) / maps.unit;
    result.push_back(finished_image(std::move(image), unit, data.scan, context));
  }
  return result;
}

template <class T>
std::vector<Image> gridded_images(const Model<T>& model, const Measurements<T>& data,
                                  TrajectoryOperators<T>& operators, const Context& context) {
  if (!context.services.gridded_accuracy || context.processes().is_shared() ||
      (!model.has_maps && data.scan.kspace.coil_count() > 1))
    return {};
  TransformSettings transform = operators.settings();
  if (transform.kind != TransformKind::gridded)  // the one that predicted the samples will do
    transform = {TransformKind::gridded, predicts_by_gridding(context.settings, transform.kind)
                                             ? prediction_accuracy
                                             : *context.services.gridded_accuracy};
  const Shape image = model.encoding->image();  // of two sets of maps the first
  Array<Complex<T>> images(stack_of(model.encoding->domain(), data.volume_count()), context.device());
  RunLog inner(context.device(), {});  // the parts of one stage
  context.log.stage("gridded image", [&] {
    const auto& density = operators.density(inner);
    const auto weights = converted<Complex<T>>(density).to(context.device());
    Array<Complex<T>> weighted(data.samples.shape(), context.device());
    for_each_with_coils(context.device(), weights.size(),
                        MultiplyEach<T, false, false>{weights.data(), data.samples.data(), weighted.size(),
                                                      weights.size(), weighted.data()});
    model.encoding->combine(*operators.transform_of(transform), weighted, images);
    for (std::int64_t v = 0; v < data.volume_count(); ++v) {
      auto one = one_of(images, image, v);
      divide_by_squares(model.maps(), one);
    }
    images = images.to(Device::cpu());
  });
  context.log.report.trajectory_hits += inner.report.trajectory_hits;
  std::vector<Image> result;
  for (std::int64_t v = 0; v < data.volume_count(); ++v)
    result.push_back(finished_image(one_of(images, image, v).to(Device::cpu()), data.unit(v) / model.map_unit,
                                    data.scan, context));
  return result;
}

#define FHD_INSTANTIATE(T)                                                                               \
  template Array<Complex<T>> combined<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, bool);      \
  template std::vector<Image> gridded_images<T>(const Model<T>&, const Measurements<T>&,                 \
                                                TrajectoryOperators<T>&, const Context&);                \
  template std::vector<Image> conventional_images<T>(Measurements<T>&, const std::optional<FieldModel>&, \
                                                     TrajectoryOperators<T>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

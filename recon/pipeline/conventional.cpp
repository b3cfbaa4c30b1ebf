#include "recon/pipeline/steps.hpp"
#include "recon/transform/cartesian.hpp"

namespace fhd {

template <class T>
Array<Complex<T>> combined(Array<Complex<T>> coil_images, const Array<Complex<T>>& maps) {
  const Shape image_shape{coil_images.extent(1), coil_images.extent(2), coil_images.extent(3)};
  if (maps.empty())
    return coil_images.extent(0) == 1 ? std::move(coil_images).reshaped(image_shape)
                                      : root_sum_of_squares(coil_images);
  Array<Complex<T>> image(image_shape, coil_images.device());
  combine_coils_normalized(coil_images, maps, image);
  return image;
}

namespace {

/// Multiplies the samples, in host memory, by the density compensation.
template <class T>
void compensate_density(Measurements<T>& data, TrajectoryOperators<T>& operators, const Context& context) {
  const Array<double>& weights = operators.density(context.journal);
  const std::int64_t coils = data.samples.extent(0), sample_count = data.samples.extent(1);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    for (std::int64_t m = 0; m < sample_count; ++m)
      data.samples.data()[coil * sample_count + m] *= static_cast<T>(weights.data()[m]);
}

}  // namespace

template <class T>
Image conventional_image(Measurements<T>& data, TrajectoryOperators<T>& operators, const Context& context) {
  Journal& journal = context.journal;
  const bool gridded = is_method<ConventionalGridding>(context.settings),
             adjoint = is_method<PlainAdjoint>(context.settings);
  planned_coils_at_once(data.scan, operators.settings(), {}, context);
  if (gridded) compensate_density(data, operators, context);
  copy_to_device(data.samples, context);
  const ScaledMaps<T> maps = maps_of<T>(data.scan, context);

  Array<Complex<T>> images;
  Array<double> of_positions;
  const Array<double>* weights = nullptr;  // w of F^H (w d), [sample]
  if (gridded || adjoint) {
    const auto& transform = operators.transform();
    images = Array<Complex<T>>(transform->images_shape(data.samples.extent(0)), context.device());
    journal.stage(gridded ? "gridded adjoint" : "FhD", [&] { transform->adjoint(data.samples, images); });
  } else {
    const Trajectory& trajectory = operators.trajectory();
    const auto& matrix_size = operators.matrix_size();
    journal.stage("inverse FFT", [&] { images = inverse_fft_images(trajectory, matrix_size, data.samples); });
    if (context.services.verifier) of_positions = cartesian_weights(trajectory, matrix_size);
    weights = &of_positions;
  }
  if (gridded) {
    operators.release_transforms();  // density compensation is what is worth keeping
    weights = &operators.density(journal);
  }
  verify_first_image(images, data, weights, operators.promised_accuracy(), context);

  const double unit = data.unit == 0 ? 1 : data.unit;
  if (!adjoint || maps.values.empty())
    return finished_image(combined(std::move(images), maps.values), unit / maps.unit, data.scan, context);
  Array<Complex<T>> image(Shape{images.extent(1), images.extent(2), images.extent(3)}, context.device());
  combine_coils(images, maps.values, image);
  return finished_image(std::move(image), unit * maps.unit, data.scan, context);
}

#define FHD_INSTANTIATE(T)                                                             \
  template Array<Complex<T>> combined<T>(Array<Complex<T>>, const Array<Complex<T>>&); \
  template Image conventional_image<T>(Measurements<T>&, TrajectoryOperators<T>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

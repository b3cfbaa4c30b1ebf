#include "recon/pipeline/conventional.hpp"

#include "recon/encoding/sense.hpp"
#include "recon/pipeline/verify.hpp"
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

template <class T>
void compensate_density(Measurements<T>& data, TrajectoryOperators<T>& operators, const Context& context) {
  const Array<double>& weights = operators.density(context.journal);
  const std::int64_t coils = data.samples.extent(0), sample_count = data.samples.extent(1);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    for (std::int64_t m = 0; m < sample_count; ++m)
      data.samples.data()[coil * sample_count + m] *= static_cast<T>(weights.data()[m]);
}

template <class T>
Array<Complex<T>> gridded_image(const Measurements<T>& data, const Array<Complex<T>>& maps,
                                TrajectoryOperators<T>& operators, const Context& context) {
  const auto& transform = operators.transform();
  Array<Complex<T>> images(transform->images_shape(data.samples.extent(0)), context.device());
  context.journal.stage("gridded adjoint", [&] { transform->adjoint(data.samples, images); });
  operators.release_transforms();  // density compensation is what is worth keeping
  verify_first_image(images, data, &operators.density(context.journal), operators.promised_accuracy(),
                     context);
  return combined(std::move(images), maps);
}

template <class T>
Array<Complex<T>> fft_image(const Measurements<T>& data, const Array<Complex<T>>& maps,
                            TrajectoryOperators<T>& operators, const Context& context) {
  const auto& matrix_size = operators.matrix_size();
  Array<Complex<T>> images;
  context.journal.stage(
      "inverse FFT", [&] { images = inverse_fft_images(operators.trajectory(), matrix_size, data.samples); });
  if (context.services.verifier) {
    const Array<double> weights = cartesian_weights(operators.trajectory(), matrix_size);
    verify_first_image(images, data, &weights, operators.promised_accuracy(), context);
  }
  return combined(std::move(images), maps);
}

template <class T>
Array<Complex<T>> adjoint_image(const Measurements<T>& data, const Array<Complex<T>>& maps,
                                TrajectoryOperators<T>& operators, const Context& context) {
  const auto& transform = operators.transform();
  Array<Complex<T>> images(transform->images_shape(data.samples.extent(0)), context.device());
  context.journal.stage("FhD", [&] { transform->adjoint(data.samples, images); });
  verify_first_image(images, data, nullptr, operators.promised_accuracy(), context);
  if (maps.empty()) return combined(std::move(images), {});
  Array<Complex<T>> image(Shape{images.extent(1), images.extent(2), images.extent(3)}, context.device());
  combine_coils(images, maps, image);
  return image;
}

#define FHD_INSTANTIATE(T)                                                                        \
  template Array<Complex<T>> combined<T>(Array<Complex<T>>, const Array<Complex<T>>&);            \
  template void compensate_density<T>(Measurements<T>&, TrajectoryOperators<T>&, const Context&); \
  template Array<Complex<T>> gridded_image<T>(const Measurements<T>&, const Array<Complex<T>>&,   \
                                              TrajectoryOperators<T>&, const Context&);           \
  template Array<Complex<T>> fft_image<T>(const Measurements<T>&, const Array<Complex<T>>&,       \
                                          TrajectoryOperators<T>&, const Context&);               \
  template Array<Complex<T>> adjoint_image<T>(const Measurements<T>&, const Array<Complex<T>>&,   \
                                              TrajectoryOperators<T>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

#include "recon/encoding/sense.hpp"

#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/encoding/sense_cuda.hpp"

namespace fhd {
namespace {

template <class T>
void require_coil_images(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                         const Array<Complex<T>>& coil_images) {
  if (maps.shape().rank() != 4) throw Error("sensitivity maps", "[coil][z][y][x]", maps.shape().text());
  require_shape(coil_images, maps.shape(), "coil images");
  require_shape(image, {maps.extent(1), maps.extent(2), maps.extent(3)}, "image");
  if (image.device() != maps.device() || coil_images.device() != maps.device())
    throw Error("sensitivity maps", "arrays on one device", "arrays on two");
}

}  // namespace

template <class T>
void apply_maps(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                Array<Complex<T>>& coil_images) {
  require_coil_images(image, maps, coil_images);
  if (image.device().is_cuda()) return device::apply_maps(image, maps, coil_images);
  const std::int64_t coils = maps.extent(0), voxels = image.size();
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    for (std::int64_t p = 0; p < voxels; ++p)
      coil_images.data()[coil * voxels + p] = maps.data()[coil * voxels + p] * image.data()[p];
}

template <class T>
void combine_coils(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                   Array<Complex<T>>& image) {
  require_coil_images(image, maps, coil_images);
  if (image.device().is_cuda()) return device::combine_coils(coil_images, maps, image);
  const std::int64_t coils = maps.extent(0), voxels = image.size();
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < voxels; ++p) {
    Complex<T> sum;
    for (std::int64_t coil = 0; coil < coils; ++coil)
      sum += conj(maps.data()[coil * voxels + p]) * coil_images.data()[coil * voxels + p];
    image.data()[p] = sum;
  }
}

template <class T>
void combine_coils_normalized(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                              Array<Complex<T>>& image) {
  require_coil_images(image, maps, coil_images);
  if (image.device().is_cuda()) return device::combine_coils_normalized(coil_images, maps, image);
  const std::int64_t coils = maps.extent(0), voxels = image.size();
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < voxels; ++p)
    image.data()[p] = normalized_sum(coil_images.data(), maps.data(), coils, voxels, p);
}

template <class T>
Array<Complex<T>> root_sum_of_squares(const Array<Complex<T>>& coil_images) {
  if (coil_images.shape().rank() != 4)
    throw Error("coil images", "[coil][z][y][x]", coil_images.shape().text());
  Array<Complex<T>> image(Shape{coil_images.extent(1), coil_images.extent(2), coil_images.extent(3)},
                          coil_images.device());
  if (image.device().is_cuda()) {
    device::root_sum_of_squares(coil_images, image);
    return image;
  }
  const std::int64_t coils = coil_images.extent(0), voxels = image.size();
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < voxels; ++p) {
    T sum = 0;
    for (std::int64_t coil = 0; coil < coils; ++coil) sum += norm(coil_images[coil * voxels + p]);
    image[p] = std::sqrt(sum);
  }
  return image;
}

template <class T>
SenseEncoding<T>::SenseEncoding(std::shared_ptr<const FourierTransform<T>> transform, Array<Complex<T>> maps,
                                std::int64_t coils_at_once)
    : transform_(std::move(transform)), maps_(std::move(maps)), coils_at_once_(coils_at_once) {
  if (maps_.shape().rank() != 4) throw Error("sensitivity maps", "[coil][z][y][x]", maps_.shape().text());
  const std::int64_t coils = maps_.extent(0);
  require_shape(maps_, transform_->images_shape(coils), "sensitivity maps");
  if (coils_at_once_ == 0) coils_at_once_ = coils;
  if (coils_at_once_ < 0 || coils % coils_at_once_ != 0)
    throw Error("coils at once", "a divisor of " + std::to_string(coils), std::to_string(coils_at_once_));
  const Device device = transform_->device();
  coil_images_ = Array<Complex<T>>(transform_->images_shape(coils_at_once_), device);
  if (coils_at_once_ == coils) return;
  part_maps_ = Array<Complex<T>>(coil_images_.shape(), device);
  part_samples_ = Array<Complex<T>>(transform_->samples_shape(coils_at_once_), device);
  part_image_ = Array<Complex<T>>(domain(), device);
}
template <class T>
void SenseEncoding<T>::forward_through(const FourierTransform<T>& transform, const Array<Complex<T>>& image,
                                       Array<Complex<T>>& samples) const {
  if (part_maps_.empty()) {
    apply_maps(image, maps_, coil_images_);
    return transform.forward(coil_images_, samples);
  }
  require_shape(samples, range(), "samples");
  for (std::int64_t coil = 0; coil < maps_.extent(0); coil += coils_at_once_) {
    copy_range(maps_, coil * image.size(), part_maps_, 0, part_maps_.size());
    apply_maps(image, part_maps_, coil_images_);
    transform.forward(coil_images_, part_samples_);
    copy_range(part_samples_, 0, samples, coil * transform.sample_count(), part_samples_.size());
  }
}
template <class T>
void SenseEncoding<T>::adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& image) const {
  if (part_maps_.empty()) {
    transform_->adjoint(samples, coil_images_);
    return combine_coils(coil_images_, maps_, image);
  }
  require_shape(samples, range(), "samples");
  for (std::int64_t coil = 0; coil < maps_.extent(0); coil += coils_at_once_) {
    copy_range(samples, coil * transform_->sample_count(), part_samples_, 0, part_samples_.size());
    transform_->adjoint(part_samples_, coil_images_);
    copy_range(maps_, coil * image.size(), part_maps_, 0, part_maps_.size());
    combine_coils(coil_images_, part_maps_, coil == 0 ? image : part_image_);
    if (coil > 0) add_scaled(image, T(1), part_image_);
  }
}

template <class T>
ExplicitNormal<T>::ExplicitNormal(std::shared_ptr<const LinearOperator<T>> encoding)
    : encoding_(std::move(encoding)), samples_(encoding_->range(), encoding_->device()) {}
template <class T>
void ExplicitNormal<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  encoding_->forward(in, samples_);
  encoding_->adjoint(samples_, out);
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void apply_maps<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&);    \
  template void combine_coils<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&); \
  template void combine_coils_normalized<T>(const Array<Complex<T>>&, const Array<Complex<T>>&,           \
                                            Array<Complex<T>>&);                                          \
  template Array<Complex<T>> root_sum_of_squares<T>(const Array<Complex<T>>&);                            \
  template class SenseEncoding<T>;                                                                        \
  template class ExplicitNormal<T>;
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

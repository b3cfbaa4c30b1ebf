#include "recon/coils/sense.hpp"

#include <cmath>

#include "recon/coils/sense_cuda.hpp"

namespace fhd {
namespace {

template <class T>
void require_coil_images(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                         const Array<Complex<T>>& coil_images) {
  if (maps.shape().rank() != 4) throw Error("sensitivity maps", "[coil][z][y][x]", maps.shape().text());
  require_shape(coil_images, maps.shape(), "coil images");
  require_shape(image, {maps.extent(1), maps.extent(2), maps.extent(3)}, "image");
  if (image.backend() != maps.backend() || coil_images.backend() != maps.backend())
    throw Error("sensitivity maps", "arrays on one backend", "arrays on two");
}

}  // namespace

template <class T>
void apply_maps(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                Array<Complex<T>>& coil_images) {
  require_coil_images(image, maps, coil_images);
  if (image.backend() == Backend::cuda) return device::apply_maps(image, maps, coil_images);
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
  if (image.backend() == Backend::cuda) return device::combine_coils(coil_images, maps, image);
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
Array<Complex<T>> root_sum_of_squares(const Array<Complex<T>>& coil_images) {
  if (coil_images.shape().rank() != 4)
    throw Error("coil images", "[coil][z][y][x]", coil_images.shape().text());
  Array<Complex<T>> image(Shape{coil_images.extent(1), coil_images.extent(2), coil_images.extent(3)});
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
SenseEncoding<T>::SenseEncoding(std::shared_ptr<const FourierTransform<T>> transform, Array<Complex<T>> maps)
    : transform_(std::move(transform)), maps_(std::move(maps)) {
  if (maps_.shape().rank() != 4) throw Error("sensitivity maps", "[coil][z][y][x]", maps_.shape().text());
  require_shape(maps_, transform_->images_shape(maps_.extent(0)), "sensitivity maps");
  coil_images_ = Array<Complex<T>>(maps_.shape(), transform_->backend());
}
template <class T>
void SenseEncoding<T>::forward(const Array<Complex<T>>& image, Array<Complex<T>>& samples) const {
  apply_maps(image, maps_, coil_images_);
  transform_->forward(coil_images_, samples);
}
template <class T>
void SenseEncoding<T>::adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& image) const {
  transform_->adjoint(samples, coil_images_);
  combine_coils(coil_images_, maps_, image);
}

template <class T>
ExplicitNormal<T>::ExplicitNormal(std::shared_ptr<const LinearOperator<T>> encoding)
    : encoding_(std::move(encoding)), samples_(encoding_->range(), encoding_->backend()) {}
template <class T>
void ExplicitNormal<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  encoding_->forward(in, samples_);
  encoding_->adjoint(samples_, out);
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void apply_maps<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&);    \
  template void combine_coils<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&); \
  template Array<Complex<T>> root_sum_of_squares<T>(const Array<Complex<T>>&);                            \
  template class SenseEncoding<T>;                                                                        \
  template class ExplicitNormal<T>;
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

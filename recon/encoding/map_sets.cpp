#include "recon/encoding/map_sets.hpp"

#include <algorithm>

#include "recon/array/trace.hpp"
#include "recon/encoding/functors.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// Coils [first, first + count) of [coil][anything]: a view.
template <class T>
Array<Complex<T>> coils_of(const Array<Complex<T>>& values, std::int64_t first, std::int64_t count) {
  const Shape& all = values.shape();
  const std::int64_t of_coil = values.size() / all[0];
  const Shape some = all.rank() == 2 ? Shape{count, all[1]} : Shape{count, all[1], all[2], all[3]};
  return Array<Complex<T>>::view(const_cast<Complex<T>*>(values.data()) + first * of_coil, some,
                                 values.device());
}

}  // namespace

template <class T>
MapSetsEncoding<T>::MapSetsEncoding(SetsOfMaps<T> sets, std::int64_t coils_at_once)
    : sets_(std::move(sets)), coils_at_once_(coils_at_once) {
  if (sets_.empty()) throw Error("sets of maps", "at least one", "none");
  const Shape& maps = first().maps().shape();
  for (const auto& set : sets_) {
    require_shape(set->maps(), maps, "maps of a set");
    if (&set->transform() != &transform()) throw Error("sets of maps", "one transform", "two");
  }
  if (coils_at_once_ == 0) coils_at_once_ = maps[0];
  coil_images_ = Array<Complex<T>>(Shape{coils_at_once_, maps[1], maps[2], maps[3]}, device());
}

template <class T>
Shape MapSetsEncoding<T>::domain() const {
  const Shape image = first().domain();
  return {static_cast<std::int64_t>(sets_.size()) * image[0], image[1], image[2]};
}

template <class T>
void MapSetsEncoding<T>::apply(const Array<Complex<T>>& image, std::int64_t first_coil,
                               Array<Complex<T>>& coil_images) const {
  const std::int64_t voxels = first().domain().size();
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    const MapValues<T> s{sets_[set]->maps().data() + first_coil * voxels, nullptr, coil_images.size(),
                         voxels};
    for_each_with_coils(
        device(), voxels,
        ApplyMaps<T>{s, image.data() + static_cast<std::int64_t>(set) * voxels, coil_images.data(), set > 0});
  }
}

template <class T>
void MapSetsEncoding<T>::combine(const Array<Complex<T>>& coil_images, std::int64_t first_coil,
                                 Array<Complex<T>>& image) const {
  const std::int64_t voxels = first().domain().size();
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    const MapValues<T> s{sets_[set]->maps().data() + first_coil * voxels, nullptr, coil_images.size(),
                         voxels};
    for_each_with_coils(
        device(), voxels,
        CombineCoils<T>{s, coil_images.data(), image.data() + static_cast<std::int64_t>(set) * voxels,
                        first_coil > 0});
  }
}

template <class T>
void MapSetsEncoding<T>::forward_through(const FourierTransform<T>& transform, const Array<Complex<T>>& image,
                                         Array<Complex<T>>& samples) const {
  require_shape(image, domain(), "images of the sets of maps");
  require_shape(samples, range(), "samples");
  const trace::Span span("E", "operator");
  const std::int64_t coils = range()[0];
  for (std::int64_t coil = 0; coil < coils; coil += coils_at_once_) {
    const std::int64_t count = std::min(coils_at_once_, coils - coil);
    auto images = coils_of(coil_images_, 0, count);
    apply(image, coil, images);
    auto part = coils_of(samples, coil, count);
    transform.forward(images, part);
  }
}

template <class T>
void MapSetsEncoding<T>::adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& image) const {
  require_shape(image, domain(), "images of the sets of maps");
  require_shape(samples, range(), "samples");
  const trace::Span span("E^H", "operator");
  const std::int64_t coils = range()[0];
  for (std::int64_t coil = 0; coil < coils; coil += coils_at_once_) {
    const std::int64_t count = std::min(coils_at_once_, coils - coil);
    auto images = coils_of(coil_images_, 0, count);
    transform().adjoint(coils_of(samples, coil, count), images);
    combine(images, coil, image);
  }
}

template <class T>
MapSetsNormal<T>::MapSetsNormal(std::shared_ptr<const MapSetsEncoding<T>> encoding,
                                const Array<Complex<T>>& point_spread)
    : encoding_(std::move(encoding)) {
  const Shape image = encoding_->sets().front()->domain();
  const std::int64_t coils = encoding_->coils_at_once();
  Array<Complex<T>> ones(Shape{1, image[0], image[1], image[2]});
  std::fill(ones.begin(), ones.end(), Complex<T>(1));
  of_coil_ = make_toeplitz_normal(point_spread, ones.to(device()), 0, coils);
  coil_images_ = Array<Complex<T>>(Shape{coils, image[0], image[1], image[2]}, device());
  products_ = Array<Complex<T>>(coil_images_.shape(), device());
}

template <class T>
void MapSetsNormal<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  const std::int64_t coils = encoding_->range()[0], together = coil_images_.extent(0);
  for (std::int64_t coil = 0; coil < coils; coil += together) {
    const std::int64_t count = std::min(together, coils - coil);
    auto images = coils_of(coil_images_, 0, count), products = coils_of(products_, 0, count);
    encoding_->apply(in, coil, images);
    of_coil_->forward_each(images, products);
    encoding_->combine(products, coil, out);
  }
}

#define FHD_INSTANTIATE(T)           \
  template class MapSetsEncoding<T>; \
  template class MapSetsNormal<T>;
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

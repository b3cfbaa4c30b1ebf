#include "recon/encoding/sense.hpp"

#include <algorithm>

#include "recon/array/trace.hpp"
#include "recon/encoding/field_phase.hpp"
#include "recon/encoding/functors.hpp"
#include "recon/transform/direct/direct.hpp"

namespace fhd {
namespace {

/// The samples of coils from `coil` on.
template <class T>
Array<Complex<T>> part_of(const Array<Complex<T>>& samples, std::int64_t coil, std::int64_t count) {
  const std::int64_t of_coil = samples.extent(1);
  return Array<Complex<T>>::view(const_cast<Complex<T>*>(samples.data()) + coil * of_coil, {count, of_coil},
                                 samples.device());
}

/// S_c rho, [coil][z][y][x].
template <class T>
Array<Complex<T>> coil_images_of(const Array<Complex<T>>& image, const Scan& scan) {
  if (!scan.sensitivity_maps)
    return Array<Complex<T>>(image).reshaped({1, image.extent(0), image.extent(1), image.extent(2)});
  const auto maps = values_of<T>(*scan.sensitivity_maps);
  Array<Complex<T>> coil_images(maps.shape());
  apply_maps(image, maps, coil_images);
  return coil_images;
}

}  // namespace

double image_bytes(const TransformSizes& sizes) {
  auto bytes = static_cast<double>(bytes_of_complex(sizes.precision));
  for (const double n : sizes.matrix_size) bytes *= n;
  return bytes;
}

template <class T>
void apply_maps(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                Array<Complex<T>>& coil_images) {
  const MapValues<T> s{maps.data(), maps.size(), image.size()};
  for_each_with_coils(image.device(), s.voxels, ApplyMaps<T>{s, image.data(), coil_images.data()});
}

template <class T>
void combine_coils(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                   Array<Complex<T>>& image) {
  const MapValues<T> s{maps.data(), maps.size(), image.size()};
  for_each_with_coils(image.device(), s.voxels, CombineCoils<T>{s, coil_images.data(), image.data(), false});
}

template <class T>
void divide_by_squares(const Array<Complex<T>>& maps, Array<Complex<T>>& image) {
  for_each_with_coils(image.device(), image.size(),
                      DivideBySquares<T>{maps.data(), maps.size(), image.size(), image.data()});
}

template <class T>
Array<Complex<T>> root_sum_of_squares(const Array<Complex<T>>& coil_images) {
  Array<Complex<T>> image(Shape{coil_images.extent(1), coil_images.extent(2), coil_images.extent(3)},
                          coil_images.device());
  for_each_with_coils(
      image.device(), image.size(),
      RootSumOfSquares<T>{coil_images.data(), coil_images.size(), image.size(), image.data()});
  return image;
}

template <class T>
SenseEncoding<T>::SenseEncoding(std::shared_ptr<const FourierTransform<T>> transform, Array<Complex<T>> maps,
                                std::int64_t coils_at_once, std::int64_t images_at_once,
                                Array<Complex<T>> second_maps, std::shared_ptr<const ProcessGroup> group)
    : transform_(std::move(transform)),
      maps_(std::move(maps)),
      second_maps_(std::move(second_maps)),
      coils_at_once_(coils_at_once),
      images_at_once_(images_at_once),
      group_(std::move(group)) {
  if (maps_.shape().rank() != 4) throw Error("sensitivity maps", "[coil][z][y][x]", maps_.shape().text());
  const std::int64_t coils = maps_.extent(0);
  require_shape(maps_, transform_->images_shape(coils), "sensitivity maps");
  if (sets() > 1) require_shape(second_maps_, maps_.shape(), "second set of maps");
  if (maps_.device() != transform_->device())
    throw Error("sensitivity maps", "maps on the device of the transform", "maps on another");
  if (coils_at_once_ == 0) coils_at_once_ = coils;
  if (coils_at_once_ < 0 || coils % coils_at_once_ != 0)
    throw Error("coils at once", "a divisor of " + std::to_string(coils), std::to_string(coils_at_once_));
  if (images_at_once_ < 1 || (images_at_once_ > 1 && coils_at_once_ != coils))
    throw Error("images at once", "1, or more with all coils at once", std::to_string(images_at_once_));
  coil_images_ = Array<Complex<T>>(transform_->images_shape(coils_at_once_ * images_at_once_), device());
}

template <class T>
void SenseEncoding<T>::to_coils(const Complex<T>* image, std::int64_t first, std::int64_t count,
                                Complex<T>* coil_images) const {
  const std::int64_t voxels = this->image().size();
  for (std::int64_t set = 0; set < sets(); ++set) {
    const MapValues<T> s{maps(set).data() + first * voxels, count * voxels, voxels};
    for_each_with_coils(device(), voxels, ApplyMaps<T>{s, image + set * voxels, coil_images, set > 0});
  }
}

template <class T>
void SenseEncoding<T>::from_coils(const Complex<T>* coil_images, std::int64_t first, std::int64_t count,
                                  bool adds, Complex<T>* image) const {
  const std::int64_t voxels = this->image().size();
  for (std::int64_t set = 0; set < sets(); ++set) {
    const MapValues<T> s{maps(set).data() + first * voxels, count * voxels, voxels};
    for_each_with_coils(device(), voxels, CombineCoils<T>{s, coil_images, image + set * voxels, adds});
  }
}

template <class T>
void SenseEncoding<T>::encode(const FourierTransform<T>& transform, const Array<Complex<T>>& images,
                              Array<Complex<T>>& samples) const {
  const trace::Span span("E", "operator");
  const std::int64_t coils = maps_.extent(0), of_part = coils_at_once_ * image().size(),
                     all = images.size() / domain().size();
  for (std::int64_t first = 0; first < all; first += images_at_once_)
    for (std::int64_t coil = 0; coil < coils; coil += coils_at_once_) {
      const std::int64_t count = std::min(images_at_once_, all - first);
      for (std::int64_t i = 0; i < count; ++i)
        to_coils(images.data() + (first + i) * domain().size(), coil, coils_at_once_,
                 coil_images_.data() + i * of_part);
      auto part = part_of(samples, first * coils + coil, count * coils_at_once_);
      transform.forward(together(count * coils_at_once_), part);
    }
}

template <class T>
void SenseEncoding<T>::combine(const FourierTransform<T>& transform, const Array<Complex<T>>& samples,
                               Array<Complex<T>>& images) const {
  const trace::Span span("E^H", "operator");
  const std::int64_t coils = maps_.extent(0), of_part = coils_at_once_ * image().size(),
                     all = images.size() / domain().size();
  for (std::int64_t first = 0; first < all; first += images_at_once_)
    for (std::int64_t coil = 0; coil < coils; coil += coils_at_once_) {
      const std::int64_t count = std::min(images_at_once_, all - first);
      auto coil_images = together(count * coils_at_once_);
      transform.adjoint(part_of(samples, first * coils + coil, count * coils_at_once_), coil_images);
      for (std::int64_t i = 0; i < count; ++i)
        from_coils(coil_images_.data() + i * of_part, coil, coils_at_once_, coil > 0,
                   images.data() + (first + i) * domain().size());
    }
}

template <class T>
std::vector<bool> voxels_with_values(const Array<Complex<T>>& maps) {
  const std::int64_t voxels = maps.size() / maps.extent(0);
  std::vector<bool> has_value(static_cast<std::size_t>(voxels));
  for (std::int64_t i = 0; i < maps.size(); ++i)
    if (const auto& value = maps.data()[i]; value.re != 0 || value.im != 0)  // NaN is a value, too
      has_value[static_cast<std::size_t>(i % voxels)] = true;
  return has_value;
}

std::vector<std::int64_t> numbers_of(const std::vector<bool>& values) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) numbers.push_back(static_cast<std::int64_t>(i));
  return numbers.size() == values.size() ? std::vector<std::int64_t>() : numbers;
}

template <class T>
Array<Complex<T>> exact_samples(const Array<Complex<T>>& image, const Scan& scan, Device device) {
  require_shape(image, scan.geometry.image_shape(), "image");
  auto coil_images = coil_images_of(image, scan);
  const std::int64_t coils = coil_images.extent(0);
  const auto& n = scan.geometry.matrix_size;
  PhaseTerms terms;
  if (has_off_resonance(scan) || has_fields(scan)) {
    terms = all_terms(scan);
    terms.summed_voxels = numbers_of(voxels_with_values(coil_images));
  }
  const std::unique_ptr<FourierTransform<T>> transform =
      !terms.basis.empty()
          ? make_phase_transform<T>(terms, n, device)
          : make_direct_transform<T>(scan.trajectory, n, device, {GpuSums::accurate});
  Array<Complex<T>> samples(transform->samples_shape(coils), device);
  transform->forward(coil_images.to(device), samples);
  return samples.to(Device::cpu());
}

OperatorCost sense_cost(const TransformCost& transform, const TransformSizes& sizes, std::int64_t coils,
                        std::int64_t coils_at_once, std::int64_t images_at_once) {
  const std::int64_t together = coils_at_once == 0 ? coils : std::min(coils, coils_at_once);
  const double parts = static_cast<double>(coils / together),
               images = image_bytes(sizes) * static_cast<double>(together);
  OperatorCost cost;
  cost.making = Work(WorkUnit::byte, images);
  cost.forward = parts * (written_pass(images) + transform.forward(together));
  cost.adjoint = parts * (transform.adjoint(together) + written_pass(images));
  cost.bytes = whole_bytes(images * static_cast<double>(images_at_once));
  cost.scratch_bytes = transform.scratch_bytes(together * images_at_once);
  return cost;
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void apply_maps<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&);    \
  template void combine_coils<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&); \
  template void divide_by_squares<T>(const Array<Complex<T>>&, Array<Complex<T>>&);                       \
  template Array<Complex<T>> root_sum_of_squares<T>(const Array<Complex<T>>&);                            \
  template std::vector<bool> voxels_with_values<T>(const Array<Complex<T>>&);                             \
  template Array<Complex<T>> exact_samples<T>(const Array<Complex<T>>&, const Scan&, Device);             \
  template class SenseEncoding<T>;
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

#include "recon/encoding/sense_normal.hpp"

#include <algorithm>

#include "recon/array/vector_math.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// Returns E^H E of several sets of maps.
template <class T>
std::shared_ptr<const HermitianOperator<T>> map_sets_normal(std::shared_ptr<const SenseEncoding<T>> sense,
                                                            const Array<Complex<T>>& point_spread) {
  const Shape image = sense->image(), images = sense->domain();
  const Device device = sense->device();
  const std::int64_t together = sense->coils_at_once();
  Array<Complex<T>> ones(Shape{1, image[0], image[1], image[2]}),
      coil_images(Shape{together, image[0], image[1], image[2]}, device),
      products(coil_images.shape(), device);
  std::fill(ones.begin(), ones.end(), Complex<T>(1));
  return hermitian_operator<T>(
      images, device,
      [sense = std::move(sense), of_coil = make_toeplitz_normal(point_spread, ones.to(device), 0, together),
       coil_images = std::move(coil_images), products = std::move(products),
       together](const auto& in, auto& out) mutable {
        for (std::int64_t coil = 0; coil < sense->range()[0]; coil += together) {
          sense->to_coils(in.data(), coil, together, coil_images.data());
          of_coil->forward_each(coil_images, products);
          sense->from_coils(products.data(), coil, together, coil > 0, out.data());
        }
      });
}

}  // namespace

template <class T>
std::shared_ptr<const HermitianOperator<T>> shared_sum(std::shared_ptr<const HermitianOperator<T>> part,
                                                       const Shape& domain, Device device,
                                                       std::shared_ptr<const ProcessGroup> group) {
  if (!group->is_shared()) return part;
  return hermitian_operator<T>(domain, device,
                               [part = std::move(part), group = std::move(group)](const auto& in, auto& out) {
                                 if (part)
                                   part->forward(in, out);
                                 else
                                   out.fill_zero();
                                 sum_over(*group, out);
                               });
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> make_sense_normal(std::shared_ptr<const SenseEncoding<T>> sense,
                                                              const Array<Complex<T>>& point_spread,
                                                              std::int64_t coils_at_once) {
  if (sense->sets() > 1) return map_sets_normal(std::move(sense), point_spread);
  const auto& maps = sense->maps();
  const auto& group = sense->group();
  if (!group->is_shared())
    return make_toeplitz_normal(point_spread, maps, coils_at_once, sense->images_at_once());
  const Share share = share_of(maps.extent(0), *group);
  const Shape image = sense->image();
  std::shared_ptr<const HermitianOperator<T>> part;
  if (share.size() > 0) {
    Array<Complex<T>> mine(Shape{share.size(), image[0], image[1], image[2]}, maps.device());
    copy_range(maps, share.first * image.size(), mine, 0, mine.size());
    part = make_toeplitz_normal(point_spread, mine, std::min(coils_at_once, share.size()));
  }
  return shared_sum(std::move(part), image, maps.device(), group);
}

#define FHD_INSTANTIATE(T)                                                   \
  template std::shared_ptr<const HermitianOperator<T>> shared_sum<T>(        \
      std::shared_ptr<const HermitianOperator<T>>, const Shape&, Device,     \
      std::shared_ptr<const ProcessGroup>);                                  \
  template std::shared_ptr<const HermitianOperator<T>> make_sense_normal<T>( \
      std::shared_ptr<const SenseEncoding<T>>, const Array<Complex<T>>&, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

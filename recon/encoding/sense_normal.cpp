#include "recon/encoding/sense_normal.hpp"

#include <algorithm>

#include "recon/array/vector_math.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// The sum of Hermitian operators of which each process has one, or none (null).
template <class T>
class SharedNormal final : public HermitianOperator<T> {
 public:
  SharedNormal(std::shared_ptr<const HermitianOperator<T>> part, Shape domain, Device device,
               std::shared_ptr<const ProcessGroup> group)
      : part_(std::move(part)), domain_(domain), device_(device), group_(std::move(group)) {}
  Shape domain() const override { return domain_; }
  Device device() const override { return device_; }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    if (part_)
      part_->forward(in, out);
    else
      out.fill_zero();
    sum_over(*group_, out);
  }

 private:
  std::shared_ptr<const HermitianOperator<T>> part_;
  Shape domain_;
  Device device_;
  std::shared_ptr<const ProcessGroup> group_;
};

/// E^H E of several sets of maps.
template <class T>
class MapSetsNormal final : public HermitianOperator<T> {
 public:
  MapSetsNormal(std::shared_ptr<const SenseEncoding<T>> encoding, const Array<Complex<T>>& point_spread)
      : encoding_(std::move(encoding)) {
    const Shape image = encoding_->image();
    const std::int64_t together = encoding_->coils_at_once();
    Array<Complex<T>> ones(Shape{1, image[0], image[1], image[2]});
    std::fill(ones.begin(), ones.end(), Complex<T>(1));
    of_coil_ = make_toeplitz_normal(point_spread, ones.to(device()), 0, together);
    coil_images_ = Array<Complex<T>>(Shape{together, image[0], image[1], image[2]}, device());
    products_ = Array<Complex<T>>(coil_images_.shape(), device());
  }
  Shape domain() const override { return encoding_->domain(); }
  Device device() const override { return encoding_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    const std::int64_t together = encoding_->coils_at_once();
    for (std::int64_t coil = 0; coil < encoding_->range()[0]; coil += together) {
      encoding_->to_coils(in.data(), nullptr, coil, together, coil_images_.data());
      of_coil_->forward_each(coil_images_, products_);
      encoding_->from_coils(products_.data(), nullptr, coil, together, coil > 0, out.data());
    }
  }

 private:
  std::shared_ptr<const SenseEncoding<T>> encoding_;
  std::shared_ptr<const HermitianOperator<T>> of_coil_;  ///< T
  mutable Array<Complex<T>> coil_images_, products_;     ///< of the coils that are taken together
};

}  // namespace

template <class T>
std::shared_ptr<const HermitianOperator<T>> shared_sum(std::shared_ptr<const HermitianOperator<T>> part,
                                                       const Shape& domain, Device device,
                                                       std::shared_ptr<const ProcessGroup> group) {
  if (!group->is_shared()) return part;
  return std::make_shared<SharedNormal<T>>(std::move(part), domain, device, std::move(group));
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> make_sense_normal(std::shared_ptr<const SenseEncoding<T>> sense,
                                                              const Array<Complex<T>>& point_spread,
                                                              std::int64_t coils_at_once) {
  if (sense->sets() > 1) return std::make_shared<MapSetsNormal<T>>(std::move(sense), point_spread);
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

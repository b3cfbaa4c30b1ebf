#include "recon/encoding/map_sets.hpp"

#include <algorithm>

#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

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
std::shared_ptr<const HermitianOperator<T>> make_map_sets_normal(
    std::shared_ptr<const SenseEncoding<T>> encoding, const Array<Complex<T>>& point_spread) {
  return std::make_shared<MapSetsNormal<T>>(std::move(encoding), point_spread);
}

#define FHD_INSTANTIATE(T)                                                      \
  template std::shared_ptr<const HermitianOperator<T>> make_map_sets_normal<T>( \
      std::shared_ptr<const SenseEncoding<T>>, const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

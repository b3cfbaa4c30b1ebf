#include "recon/encoding/shared.hpp"

#include <algorithm>

#include "recon/array/vector_math.hpp"

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

}  // namespace

template <class T>
std::shared_ptr<const HermitianOperator<T>> shared_sum(std::shared_ptr<const HermitianOperator<T>> part,
                                                       const Shape& domain, Device device,
                                                       std::shared_ptr<const ProcessGroup> group) {
  if (!group->is_shared()) return part;
  return std::make_shared<SharedNormal<T>>(std::move(part), domain, device, std::move(group));
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> shared_toeplitz_normal(
    const Array<Complex<T>>& point_spread, const Array<Complex<T>>& maps, std::int64_t coils_at_once,
    std::int64_t images_at_once, std::shared_ptr<const ProcessGroup> group) {
  if (!group->is_shared()) return make_toeplitz_normal(point_spread, maps, coils_at_once, images_at_once);
  const Share share = share_of(maps.extent(0), *group);
  const Shape image{maps.extent(1), maps.extent(2), maps.extent(3)};
  std::shared_ptr<const HermitianOperator<T>> part;
  if (share.size() > 0) {
    Array<Complex<T>> mine(Shape{share.size(), image[0], image[1], image[2]}, maps.device());
    copy_range(maps, share.first * image.size(), mine, 0, mine.size());
    part = make_toeplitz_normal(point_spread, mine, std::min(coils_at_once, share.size()));
  }
  return shared_sum(std::move(part), image, maps.device(), std::move(group));
}

#define FHD_INSTANTIATE(T)                                                            \
  template std::shared_ptr<const HermitianOperator<T>> shared_sum<T>(                 \
      std::shared_ptr<const HermitianOperator<T>>, const Shape&, Device,              \
      std::shared_ptr<const ProcessGroup>);                                           \
  template std::shared_ptr<const HermitianOperator<T>> shared_toeplitz_normal<T>(     \
      const Array<Complex<T>>&, const Array<Complex<T>>&, std::int64_t, std::int64_t, \
      std::shared_ptr<const ProcessGroup>);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

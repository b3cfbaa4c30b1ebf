#include "recon/solve/terms/regularizer.hpp"

#include "recon/array/vector_math.hpp"
#include "recon/solve/terms/roughness_at.hpp"

namespace fhd {

template <class T>
void IdentityRegularized<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  a_->forward(in, out);
  if (lambda_ != 0) add_scaled(out, static_cast<T>(lambda_), in);
}

template <class T>
RoughnessRegularized<T>::RoughnessRegularized(std::shared_ptr<const HermitianOperator<T>> a, double lambda,
                                              Array<T> weights)
    : a_(std::move(a)), lambda_(lambda), weights_(std::move(weights)) {
  const Shape image = a_->domain();
  if (!weights_.empty()) require_shape(weights_, {3, image[0], image[1], image[2]}, "roughness weights");
}
template <class T>
void RoughnessRegularized<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  a_->forward(in, out);
  if (lambda_ != 0) add_roughness(in, static_cast<T>(lambda_), weights_, out);
}

template <class T>
void add_roughness(const Array<Complex<T>>& in, T factor, const Array<T>& weights, Array<Complex<T>>& out) {
  if (in.shape().rank() != 3) throw Error("image", "[z][y][x]", in.shape().text());
  require_shape(out, in.shape(), "image");
  if (out.device() != in.device() || (!weights.empty() && weights.device() != in.device()))
    throw Error("regularizer", "arrays on one device", "arrays on two");
  constexpr std::int64_t worth_threads = 1024;
  for_each_index(in.device(), in.size(),
                 AddRoughness<T>{in.data(),
                                 factor,
                                 weights.empty() ? nullptr : weights.data(),
                                 {in.extent(2), in.extent(1), in.extent(0)},
                                 out.data()},
                 worth_threads);
}

#define FHD_INSTANTIATE(T)                \
  template class IdentityRegularized<T>;  \
  template class RoughnessRegularized<T>; \
  template void add_roughness<T>(const Array<Complex<T>>&, T, const Array<T>&, Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

#include "recon/solve/terms/terms.hpp"

#include "recon/array/vector_math.hpp"
#include "recon/solve/terms/roughness_functor.hpp"

namespace fhd {
namespace {

template <class T>
class IdentityTerm final : public QuadraticTerm<T> {
 public:
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    add_scaled(out, factor, in);
  }
};

template <class T>
class RoughnessTerm final : public QuadraticTerm<T> {
 public:
  explicit RoughnessTerm(Array<T> weights) : weights_(std::move(weights)) {}
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    if (in.shape().rank() != 3) throw Error("image", "[z][y][x]", in.shape().text());
    require_shape(out, in.shape(), "image");
    if (!weights_.empty())
      require_shape(weights_, {3, in.extent(0), in.extent(1), in.extent(2)}, "roughness weights");
    if (out.device() != in.device() || (!weights_.empty() && weights_.device() != in.device()))
      throw Error("regularizer", "arrays on one device", "arrays on two");
    for_each_index(in.device(), in.size(),
                   AddRoughness<T>{in.data(),
                                   factor,
                                   weights_.empty() ? nullptr : weights_.data(),
                                   {in.extent(2), in.extent(1), in.extent(0)},
                                   out.data()},
                   1);
  }

 private:
  Array<T> weights_;
};

}  // namespace

template <class T>
std::shared_ptr<const QuadraticTerm<T>> identity_term() {
  return std::make_shared<IdentityTerm<T>>();
}
template <class T>
std::shared_ptr<const QuadraticTerm<T>> roughness_term(Array<T> weights) {
  return std::make_shared<RoughnessTerm<T>>(std::move(weights));
}

template std::shared_ptr<const QuadraticTerm<float>> identity_term<float>();
template std::shared_ptr<const QuadraticTerm<double>> identity_term<double>();
template std::shared_ptr<const QuadraticTerm<float>> roughness_term<float>(Array<float>);
template std::shared_ptr<const QuadraticTerm<double>> roughness_term<double>(Array<double>);

}  // namespace fhd

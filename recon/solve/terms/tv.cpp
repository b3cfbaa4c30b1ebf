#include "recon/solve/terms/roughness_functor.hpp"
#include "recon/solve/terms/vectors_of_voxels.hpp"

namespace fhd {
namespace {

template <class T>
class TvTerm final : public SparseTerm<T> {
 public:
  explicit TvTerm(const Shape& image) : image_(image), axes_(difference_axes(image)) {}

  int planes() const override { return axes_.count; }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    for_each_index(unknowns.device(), axes_.voxels,
                   TakeGradient<T>{axes_, unknowns.data(), nullptr, coefficients.data()});
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    for_each_index(unknowns.device(), axes_.voxels,
                   AddGradientTransposed<T>{axes_, factor, coefficients.data(), unknowns.data(), nullptr});
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    for_each_index(
        in.device(), axes_.voxels,
        AddRoughness<T>{in.data(), factor, nullptr, {image_[2], image_[1], image_[0]}, out.data()});
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    shrink_vectors(0, planes(), threshold, axes_.voxels, coefficients);
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    return sum_of_lengths(0, planes(), axes_.voxels, coefficients,
                          memory_for(roots_, axes_.voxels, coefficients.device()));
  }
  double circulant(const std::array<double, 3>& angles) const override { return laplacian(angles); }

 private:
  Shape image_;
  DifferenceAxes axes_;
  mutable Array<Complex<T>> roots_;  ///< scratch
};

}  // namespace

template <class T>
std::shared_ptr<const SparseTerm<T>> tv_term(const Shape& image) {
  return std::make_shared<TvTerm<T>>(image);
}

template std::shared_ptr<const SparseTerm<float>> tv_term<float>(const Shape&);
template std::shared_ptr<const SparseTerm<double>> tv_term<double>(const Shape&);

}  // namespace fhd

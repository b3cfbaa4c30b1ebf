#include "recon/solve/terms/vectors_of_voxels.hpp"

namespace fhd {
namespace {

/// Unknowns: the image, then its slopes v along every axis. Coefficients: D rho - v, then E v, which counts twice.
template <class T>
class TgvTerm final : public SparseTerm<T> {
 public:
  explicit TgvTerm(const Shape& image) : axes_(difference_axes(image)) {}

  int auxiliary() const override { return axes_.count; }
  int planes() const override { return axes_.count + matrix_planes(); }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    const Complex<T>* slopes = unknowns.data() + axes_.voxels;
    for_each_index(unknowns.device(), axes_.voxels,
                   TakeGradient<T>{axes_, unknowns.data(), slopes, coefficients.data()});
    for_each_index(unknowns.device(), axes_.voxels,
                   TakeSymmetricGradient<T>{axes_, slopes, coefficients.data() + axes_.count * axes_.voxels});
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    Complex<T>* slopes = unknowns.data() + axes_.voxels;
    for_each_index(unknowns.device(), axes_.voxels,
                   AddGradientTransposed<T>{axes_, factor, coefficients.data(), unknowns.data(), slopes});
    for_each_index(unknowns.device(), axes_.voxels,
                   AddSymmetricGradientTransposed<T>{
                       axes_, factor, coefficients.data() + axes_.count * axes_.voxels, slopes});
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    auto coefficients =
        Array<Complex<T>>::view(scratch(in.device()), Shape{planes() * axes_.voxels}, in.device());
    analyze(in, coefficients);
    add_adjoint(coefficients, factor, out);
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    shrink_vectors(0, axes_.count, threshold, axes_.voxels, coefficients);
    shrink_vectors(axes_.count, matrix_planes(), ratio * threshold, axes_.voxels, coefficients);
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    Complex<T>* const roots = scratch(coefficients.device());
    return sum_of_lengths(0, axes_.count, axes_.voxels, coefficients, roots) +
           ratio * sum_of_lengths(axes_.count, matrix_planes(), axes_.voxels, coefficients, roots);
  }
  double circulant(const std::array<double, 3>& angles) const override { return laplacian(angles); }
  /// 1 of -v, 2 of D'_a v_a, and 1 of each other D'_b v_a.
  double auxiliary_curvature() const override { return 2 + axes_.count; }

 private:
  static constexpr T ratio = 2;
  int matrix_planes() const { return axes_.count + axes_.pairs(); }
  Complex<T>* scratch(Device device) const { return memory_for(work_, planes() * axes_.voxels, device); }

  DifferenceAxes axes_;
  mutable Array<Complex<T>> work_;  ///< [planes][z][y][x]
};

}  // namespace

template <class T>
std::shared_ptr<const SparseTerm<T>> tgv_term(const Shape& image) {
  return std::make_shared<TgvTerm<T>>(image);
}

template std::shared_ptr<const SparseTerm<float>> tgv_term<float>(const Shape&);
template std::shared_ptr<const SparseTerm<double>> tgv_term<double>(const Shape&);

}  // namespace fhd

#pragma once
// The problem that a solver solves: the normal operator of an encoding, data, and terms,
//
//     rho = argmin |E rho - d|^2 + sum_i weight_i |W_i rho|^2 + 2 sum_j weight_j g_j(A_j rho).
//
// Where rho is to be real, the minimum among real images solves Re(E^H E + sum_i weight_i W_i^H W_i) rho = Re E^H d
// (derivatives by real unknowns); Re A is symmetric among real vectors where A is Hermitian, so that conjugate gradient
// does not change.
//
// A quadratic term says what it adds to the normal operator E^H E; those without squares are SparseTerms.
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "recon/array/linear_operator.hpp"
#include "recon/array/vector_math.hpp"

namespace fhd {

template <class T>
struct Term {
  /// out += factor W^H W in; images [z][y][x] on one device.
  std::function<void(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out)> add_normal;
  /// Returns the eigenvalue, at these angles (rad from voxel to voxel along z, y, x), of a circulant that is near W^H W.
  std::function<double(const std::array<double, 3>& angles)> circulant;
  /// |W image|^2 = Re <image, W^H W image>.
  double value(const Array<Complex<T>>& image) const {
    Array<Complex<T>> product(image.shape(), image.device());
    add_normal(image, T(1), product);
    return real_dot(image, product);
  }
};

/// A term whose value is a sum of magnitudes, which makes differences or wavelet coefficients zero rather than small:
///
///     g(A u),   g(c) = sum over groups of |c_group|,
///
/// A linear, from unknowns u to coefficients c. The unknowns are [1 + auxiliary][z][y][x]: the image, and behind it those
/// that the term minimises over by itself (the slopes of tgv).
template <class T>
class SparseTerm {
 public:
  virtual ~SparseTerm() = default;
  /// Images of unknowns behind the image. Terms without look at the image alone.
  virtual int auxiliary() const { return 0; }
  /// Images of coefficients: c is [planes][z][y][x].
  virtual int planes() const = 0;
  /// c = A u
  virtual void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const = 0;
  /// u += factor A^H c
  virtual void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                           Array<Complex<T>>& unknowns) const = 0;
  /// out += factor A^H A in
  virtual void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const = 0;
  /// c = argmin over c' of threshold g(c') + |c' - c|^2 / 2, the prox of g: every group is shortened by the threshold.
  virtual void shrink(T threshold, Array<Complex<T>>& coefficients) const = 0;
  /// g(c)
  virtual double value(const Array<Complex<T>>& coefficients) const = 0;
  /// The eigenvalue of a circulant near A^H A of the image, at these angles (Term::circulant).
  virtual double circulant(const std::array<double, 3>& angles) const = 0;
  /// The mean eigenvalue of A^H A of the auxiliary unknowns.
  virtual double auxiliary_curvature() const { return 0; }
};

/// The image among unknowns [1 + auxiliary][z][y][x] of `image` voxels: a view.
template <class T>
Array<Complex<T>> image_of(const Array<Complex<T>>& unknowns, const Shape& image) {
  return one_of(unknowns, image, 0);
}

template <class T>
struct WeightedTerm {
  std::shared_ptr<const Term<T>> term;
  double weight = 0;
};

template <class T>
struct WeightedSparseTerm {
  std::shared_ptr<const SparseTerm<T>> term;
  double weight = 0;
};

/// A + sum_i weight_i W_i^H W_i: the operator of the normal equations; its real part where images are real.
template <class T>
class RegularizedNormal final : public HermitianOperator<T> {
 public:
  RegularizedNormal(std::shared_ptr<const HermitianOperator<T>> normal, std::vector<WeightedTerm<T>> terms,
                    bool is_real = false)
      : normal_(std::move(normal)), terms_(std::move(terms)), is_real_(is_real) {}
  Shape domain() const override { return normal_->domain(); }
  Device device() const override { return normal_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override { forward_each(in, out); }
  void forward_each(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    normal_->forward_each(in, out);
    for (std::int64_t i = 0; i < in.size() / domain().size(); ++i) {
      auto result = one_of(out, domain(), i);
      for (const auto& [term, weight] : terms_)
        if (weight != 0) term->add_normal(one_of(in, domain(), i), static_cast<T>(weight), result);
    }
    if (is_real_) keep_real_part(out);
  }

 private:
  std::shared_ptr<const HermitianOperator<T>> normal_;
  std::vector<WeightedTerm<T>> terms_;
  bool is_real_;
};

template <class T>
struct Problem {
  std::shared_ptr<const HermitianOperator<T>> normal;  ///< E^H E
  std::vector<WeightedTerm<T>> terms;
  std::vector<WeightedSparseTerm<T>> sparse{};
  bool is_real = false;  ///< rho is sought among real images, from Re E^H d; without sparse terms

  /// Returns the system of the quadratic part.
  RegularizedNormal<T> system() const { return {normal, terms, is_real}; }
};

}  // namespace fhd

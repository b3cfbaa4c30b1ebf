#pragma once
// What a solver solves: the normal operator of an encoding, data, and terms,
//
//     rho = argmin |E rho - d|^2 + sum_i weight_i R_i(rho).
//
// A quadratic term R(rho) = |W rho|^2 says what it adds to the normal operator E^H E.
#include <memory>
#include <vector>

#include "recon/array/linear_operator.hpp"

namespace fhd {

template <class T>
class Term {
 public:
  virtual ~Term() = default;
  /// R(image).
  virtual double value(const Array<Complex<T>>& image) const = 0;
};

template <class T>
class QuadraticTerm : public Term<T> {
 public:
  /// |W image|^2 = Re <image, W^H W image>.
  double value(const Array<Complex<T>>& image) const final;
  /// out += factor W^H W in; images [z][y][x] on one device.
  virtual void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const = 0;
};

template <class T>
struct WeightedTerm {
  std::shared_ptr<const QuadraticTerm<T>> term;
  double weight = 0;
};

/// A + sum_i weight_i W_i^H W_i: the operator of the normal equations.
template <class T>
class RegularizedNormal final : public HermitianOperator<T> {
 public:
  RegularizedNormal(std::shared_ptr<const HermitianOperator<T>> normal, std::vector<WeightedTerm<T>> terms)
      : normal_(std::move(normal)), terms_(std::move(terms)) {}
  Shape domain() const override { return normal_->domain(); }
  Device device() const override { return normal_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override;

 private:
  std::shared_ptr<const HermitianOperator<T>> normal_;
  std::vector<WeightedTerm<T>> terms_;
};

template <class T>
struct Problem {
  std::shared_ptr<const HermitianOperator<T>> normal;  ///< E^H E
  std::vector<WeightedTerm<T>> terms;

  RegularizedNormal<T> system() const { return {normal, terms}; }
};

}  // namespace fhd

#pragma once
// The interface of the solver to operators: vectors and vector math, nothing of MRI.
#include <memory>
#include <utility>

#include "recon/array/array.hpp"

namespace fhd {

/// A linear map between arrays of Complex<T> on one device. Buffers and plans are made in constructors.
///
/// Threads: products use these buffers, although they are const. Two threads must not call one operator at the same time,
/// nor two that share a transform or another operator.
template <class T>
class LinearOperator {
 public:
  LinearOperator() = default;
  LinearOperator(const LinearOperator&) = delete;
  LinearOperator& operator=(const LinearOperator&) = delete;
  virtual ~LinearOperator() = default;

  virtual Shape domain() const = 0;
  virtual Shape range() const = 0;
  virtual Device device() const = 0;
  /// out = A in, overwritten. `in` has the shape of the domain, `out` of the range.
  virtual void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const = 0;
  /// out = A^H in, overwritten.
  virtual void adjoint(const Array<Complex<T>>& in, Array<Complex<T>>& out) const = 0;
};

/// Vector `index` of a stack of vectors of `shape`, one after the other: a view of it.
template <class T>
Array<T> one_of(const Array<T>& stack, const Shape& shape, std::int64_t index) {
  return Array<T>::view(const_cast<T*>(stack.data()) + index * shape.size(), shape, stack.device());
}

/// An operator that equals its own adjoint, such as F^H F + lambda W^H W.
template <class T>
class HermitianOperator : public LinearOperator<T> {
 public:
  Shape range() const final { return this->domain(); }
  void adjoint(const Array<Complex<T>>& in, Array<Complex<T>>& out) const final { this->forward(in, out); }
  /// out = A in, of every vector of a stack.
  virtual void forward_each(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
    const Shape shape = this->domain();
    for (std::int64_t i = 0; i < in.size() / shape.size(); ++i) {
      auto result = one_of(out, shape, i);
      this->forward(one_of(in, shape, i), result);
    }
  }
};

/// An operator that is apply(in, out), for arrays of the domain. What `apply` holds is its scratch, too.
template <class T, class Apply>
class HermitianFunction final : public HermitianOperator<T> {
 public:
  HermitianFunction(const Shape& domain, Device device, Apply apply)
      : domain_(domain), device_(device), apply_(std::move(apply)) {}
  Shape domain() const override { return domain_; }
  Device device() const override { return device_; }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override { apply_(in, out); }

 private:
  Shape domain_;
  Device device_;
  mutable Apply apply_;
};

/// Makes one.
template <class T, class Apply>
std::shared_ptr<const HermitianOperator<T>> hermitian_operator(const Shape& domain, Device device,
                                                               Apply apply) {
  return std::make_shared<HermitianFunction<T, Apply>>(domain, device, std::move(apply));
}

}  // namespace fhd

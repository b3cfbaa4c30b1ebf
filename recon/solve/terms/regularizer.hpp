#pragma once
// The penalty lambda |W rho|^2.
#include <memory>
#include <optional>

#include "recon/array/linear_operator.hpp"

namespace fhd {

/// A + lambda W^H W, W = identity.
template <class T>
class IdentityRegularized final : public HermitianOperator<T> {
 public:
  IdentityRegularized(std::shared_ptr<const HermitianOperator<T>> a, double lambda)
      : a_(std::move(a)), lambda_(lambda) {}
  Shape domain() const override { return a_->domain(); }
  Device device() const override { return a_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override;

 private:
  std::shared_ptr<const HermitianOperator<T>> a_;
  double lambda_;
};

/// A + lambda W^H W, W = finite differences between neighbours along every axis with more than one voxel,
/// free ends:
///
///     |W rho|^2 = sum over axes and voxels p of w_axis(p) |rho(p + 1) - rho(p)|^2
///
/// `weights` is [axis x, y, z][z][y][x] (w of the pair p, p + 1; Haldar et al., MRM 59:810 (2008)), or empty
/// for w = 1.
template <class T>
class RoughnessRegularized final : public HermitianOperator<T> {
 public:
  RoughnessRegularized(std::shared_ptr<const HermitianOperator<T>> a, double lambda, Array<T> weights = {});
  Shape domain() const override { return a_->domain(); }
  Device device() const override { return a_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override;

 private:
  std::shared_ptr<const HermitianOperator<T>> a_;
  double lambda_;
  Array<T> weights_;
};

/// out += factor W^H W in for the finite differences above; weights may be empty. Any device.
template <class T>
void add_roughness(const Array<Complex<T>>& in, T factor, const Array<T>& weights, Array<Complex<T>>& out);

}  // namespace fhd

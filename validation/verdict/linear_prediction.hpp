#pragma once
// Predicts samples of a readout from the two before them.
#include <complex>
#include <vector>

#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Predicts d_n ~ near d_{n-1} + far d_{n-2} along the readouts of one coil, by least squares. `Sample`: index ->
/// complex double.
template <class Sample>
class LinearPrediction {
 public:
  using Value = std::complex<double>;

  LinearPrediction(const std::vector<Index>& starts, Sample sample)
      : starts_(starts), sample_(std::move(sample)) {
    double far_far = 0, near_near = 0;
    Value far_near, far_now, near_now;
    for_each_triple([&](Value a, Value b, Value c) {
      far_far += std::norm(a), near_near += std::norm(b);
      far_near += std::conj(a) * b, far_now += std::conj(a) * c, near_now += std::conj(b) * c;
    });
    constexpr double regular = 1e-9;
    const double determinant = far_far * near_near * (1 + regular) - std::norm(far_near);
    if (!(determinant > 0)) return;
    near_ = (far_far * near_now - std::conj(far_near) * far_now) / determinant;
    far_ = (near_near * far_now - far_near * near_now) / determinant;
  }

  /// Calls use(d_n minus its prediction, d_{n-2}, d_{n-1}, d_n) for the samples from the third of each readout on.
  template <class Use>
  void for_each_miss(const Use& use) const {
    for_each_triple([&](Value a, Value b, Value c) { use(c - near_ * b - far_ * a, a, b, c); });
  }

 private:
  template <class Use>
  void for_each_triple(const Use& use) const {
    for (std::size_t j = 0; j + 1 < starts_.size(); ++j)
      for (Index m = starts_[j] + 2; m < starts_[j + 1]; ++m) use(sample_(m - 2), sample_(m - 1), sample_(m));
  }

  const std::vector<Index>& starts_;
  Sample sample_;
  Value near_{}, far_{};
};

}  // namespace fhd::validation

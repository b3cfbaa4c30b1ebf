#include "validation/verdict/arm_tests.hpp"

#include <algorithm>

namespace fhd::validation {
namespace {

using Index = std::int64_t;
using Matrix = Array<Complex<double>>;

/// Returns the data divided by factors of the arms; very small ones are not raised.
Matrix data_over(const ArmSamples& arms, const std::vector<Complex<double>>& factors) {
  Matrix data(arms.data);
  const Index each = arms.places * arms.coils;
  for (Index i = 0; i < data.size(); ++i) {
    const auto& g = factors[static_cast<std::size_t>(i / each)];
    data[i] = 1 / std::max(norm(g), 0.01) * (data[i] * conj(g));
  }
  return data;
}

}  // namespace

template <class T>
std::optional<Finding> contradiction_of_arms(const VerifierInput<T>& input, const std::vector<Index>& starts,
                                             double noise_variance) {
  const bool is_3d = input.matrix_size[2] > 1;
  const double radius = is_3d ? 3 : 6;
  constexpr double noise_like = 2;  // of the energy of noise: its estimate is uncertain
  constexpr double of_no_account =
      1e-5;  // of |d|^2: no mistake that changes an image by 10 % leaves less over
  const auto arms = arms_of(input, starts, radius);
  if (arms.arms == 0 || arms.places == 0) return {};
  const ArmModel model(arms, radius);
  if (!model.is_tested()) return {};
  const auto significant = [&](double misfit, double freedom) {
    return misfit > noise_like * noise_variance * freedom * static_cast<double>(arms.coils);
  };
  const auto told = model.arranged(arms.data);
  const double as_told = model.misfit(told);
  if (!significant(as_told, model.freedom()) || as_told < of_no_account * energy(told)) return {};
  Matrix data(arms.data);
  double before = as_told;
  if (const auto factors = factors_of_arms(model); !factors.empty()) {
    const double freedom = model.freedom() - static_cast<double>(arms.arms) / static_cast<double>(arms.coils),
                 left = misfit_with(model, factors) * model.freedom() / std::max(1.0, freedom);
    if (left < most_left_of_energy * as_told) {
      if (auto finding = factors_in_words(model, factors)) return finding;
      data = data_over(arms, factors);
      before = model.misfit(model.arranged(data));
      if (before < of_no_account * energy(told)) return {};
    }
  }
  auto order = order_of_arms(model, data);
  auto motion = motion_of_arms(model, data, input.matrix_size);
  if (order && motion) return order->misfit < motion->misfit ? order->finding : motion->finding;
  if (order) return order->finding;
  if (motion) return motion->finding;
  return {};
}

template std::optional<Finding> contradiction_of_arms(const VerifierInput<float>&, const std::vector<Index>&,
                                                      double);
template std::optional<Finding> contradiction_of_arms(const VerifierInput<double>&, const std::vector<Index>&,
                                                      double);

}  // namespace fhd::validation

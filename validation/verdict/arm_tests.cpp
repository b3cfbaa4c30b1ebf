#include "validation/verdict/arm_tests.hpp"

#include <algorithm>
#include <limits>

#include "validation/verdict/energies.hpp"

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

/// Returns the variance of white noise by fourth differences along readouts, where it is least: at most what signal adds to noise.
template <class T>
double noise_by_differences(const VerifierInput<T>& e, const std::vector<Index>& starts) {
  constexpr Index parts = 8, some_readouts = 16;
  const Index readouts = static_cast<Index>(starts.size()) - 1, all = e.trajectory.sample_count();
  std::array<double, parts> sum{}, count{};
  for (Index j = 0; j < readouts; j += std::max<Index>(1, readouts / some_readouts)) {
    const Index first = starts[static_cast<std::size_t>(j)], last = starts[static_cast<std::size_t>(j) + 1];
    for (Index coil = 0; coil < e.coil_count; ++coil)
      for (Index m = first + 2; m + 2 < last; ++m) {
        const auto d = [&](Index by) { return sample_of(e, coil * all + m + by); };
        const auto part = static_cast<std::size_t>((m - first) * parts / (last - first));
        sum[part] += std::norm(d(-2) - 4. * d(-1) + 6. * d(0) - 4. * d(1) + d(2)) / 70, ++count[part];
      }
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t part = 0; part < parts; ++part)
    if (count[part] > 0) least = std::min(least, sum[part] / count[part]);
  return least;
}

template <class T>
class Comparison {
 public:
  Comparison(const VerifierInput<T>& e, const std::vector<Index>& starts, const ArmModel& model,
             double radius, double noise_variance)
      : e_(e), starts_(starts), model_(model), radius_(radius), noise_(noise_variance) {}

  ArmFindings operator()() const {
    const ArmSamples& arms = model_.arms();
    const double as_told = model_.misfit(model_.arranged(arms.data));
    if (!is_left(as_told)) return {};
    if (auto density = density_of_arms(model_, e_.matrix_size, as_told)) return {std::move(density), 1};
    const auto factors = factors_that_explain(as_told);
    if (factors.empty()) return moved(arms.data);
    auto finding = factors_in_words(model_, factors);
    const bool has_contrast = is_contrast(factors);
    if (finding && !has_contrast) return {std::move(finding), 1};
    auto found = moved(data_over(arms, factors));
    if (!found.cause) found.cause = std::move(finding), found.share = 1;
    if (has_contrast) found.numbers = arms.numbers, found.contrast = factors;
    return found;
  }

 private:
  double noise() const { return noise_ * model_.freedom() * static_cast<double>(model_.arms().coils); }
  /// Returns whether more is left over than noise, and than mistakes leave that change an image by 10 %.
  bool is_left(double misfit) const {
    constexpr double noise_like = 2;        // of the noise, whose estimate is uncertain
    constexpr double of_no_account = 1e-5;  // of |d|^2
    return misfit > noise_like * noise() &&
           misfit > of_no_account * energy(model_.arranged(model_.arms().data));
  }
  std::vector<Complex<double>> factors_that_explain(double as_told) const {
    auto factors = factors_of_arms(model_);
    if (factors.empty()) return factors;
    const double freedom =
        model_.freedom() - static_cast<double>(model_.arms().arms) / static_cast<double>(model_.arms().coils);
    const double left =
        misfit_with(model_, factors_of_rows(model_, factors)) * model_.freedom() / std::max(1.0, freedom);
    if (!(left < most_left_of_energy * as_told)) factors.clear();
    return factors;
  }
  /// Returns the order, the motion or the delays that leave least.
  ArmFindings moved(const Matrix& data) const {
    const double before = model_.misfit(model_.arranged(data));
    if (!is_left(before)) return {};
    std::optional<ArmCause> best;
    for (auto cause : {order_of_arms(model_, data), motion_of_arms(model_, data, e_.matrix_size),
                       delay_of_arms(e_, starts_, radius_, before)})
      if (cause && (!best || cause->misfit < best->misfit)) best = std::move(cause);
    if (!best) return {};
    const double beyond = before - std::min(noise(), before / 2);
    return {std::move(best->finding), std::min(1.0, (before - best->misfit) / beyond)};
  }

  const VerifierInput<T>& e_;
  const std::vector<Index>& starts_;
  const ArmModel& model_;
  double radius_, noise_;
};

}  // namespace

template <class T>
ArmFindings compare_arms(const VerifierInput<T>& input, const std::vector<Index>& starts,
                         double noise_variance) {
  const double radius = input.matrix_size[2] > 1 ? 3 : 6;
  const auto arms = arms_of(input, starts, radius);
  if (arms.arms == 0 || arms.places == 0) return {};
  const ArmModel model(arms, radius);
  if (!model.is_tested()) return {};
  return Comparison<T>(input, starts, model, radius,
                       std::min(noise_variance, noise_by_differences(input, starts)))();
}

template ArmFindings compare_arms(const VerifierInput<float>&, const std::vector<Index>&, double);
template ArmFindings compare_arms(const VerifierInput<double>&, const std::vector<Index>&, double);

}  // namespace fhd::validation

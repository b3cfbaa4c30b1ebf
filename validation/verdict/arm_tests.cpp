#include "validation/verdict/arm_tests.hpp"

#include <algorithm>
#include <limits>

#include "validation/verdict/energies.hpp"

namespace fhd::validation {
namespace {

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

/// Returns the variance of white noise by fourth differences along readouts, where it is least: at most what signal
/// adds to noise.
double noise_by_differences(const VerifierInput<float>& e, const std::vector<Index>& starts) {
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

/// Returns whether all arms come near k = 0. Planes of a stack do not meet: each has an image of its own, in any order.
bool all_meet(const ArmSamples& arms) {
  constexpr double near = 1;  // cycles/FOV
  for (Index arm = 0; arm < arms.arms; ++arm) {
    double least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < arms.places; ++i) least = std::min(least, arms.radius(arm, i));
    if (!(least <= near)) return false;
  }
  return true;
}

}  // namespace

ArmComparison::ArmComparison(const VerifierInput<float>& input, const std::vector<Index>& starts,
                             double noise_variance)
    : e_(input),
      starts_(starts),
      radius_(input.matrix_size[2] > 1 ? 2 : 4),
      noise_(std::min(noise_variance, noise_by_differences(input, starts))),
      arms_(arms_of(input, starts, radius_)) {
  if (arms_.places == 0 || !all_meet(arms_)) return;
  density_ = density_of_arms(arms_, e_.matrix_size, radius_);
  if (density_) return;
  const auto contradicts = [&](const ArmModel& model) {
    return model.is_tested() && is_left(model, model.misfit(model.arranged(arms_.data)));
  };
  if (!contradicts(ArmModel(arms_, radius_ / 2))) return;  // most scans are right, and need no more
  model_.emplace(arms_, radius_);
  if (!contradicts(*model_)) model_.reset();
  data_ = arms_.data;
}

ArmFindings ArmComparison::factors() {
  if (density_) return {density_, 1};
  if (!model_) return {};
  const double as_told = model_->misfit(model_->arranged(arms_.data));
  const auto factors = factors_that_explain(as_told);
  if (factors.empty()) return {};
  ArmFindings found{factors_in_words(factors), 1};
  data_ = data_over(arms_, factors), is_as_measured_ = false, has_contrast_ = is_contrast(factors);
  if (has_contrast_) found.numbers = arms_.numbers, found.contrast = factors;
  return found;
}

ArmFindings ArmComparison::search() const {
  if (!model_) return {};
  const double before = model_->misfit(model_->arranged(data_));
  // Contrast is no factor of a whole readout alone: so much of |d|^2 stays beside factors.
  constexpr double beside_factors = 1e-4;
  if (!is_left(*model_, before) ||
      (!is_as_measured_ && before < beside_factors * energy(model_->arranged(data_))))
    return {};
  if (has_contrast_) {
    auto cause = cause_beside_contrast(e_, starts_, noise_);
    if (!cause) return {};
    const double share = cause->finding.share;
    return {std::move(cause->finding), share};
  }
  auto best = order_of_readouts(noise(*model_));
  const auto consider = [&](std::optional<ArmCause> cause) {
    if (cause && (!best || cause->misfit < best->misfit)) best = std::move(cause);
  };
  consider(motion_of_arms(*model_, data_, e_.matrix_size, noise(*model_)));
  if (is_as_measured_) consider(delay_of_arms(e_, starts_, before));
  if (!best) return {};
  const double beyond = before - std::min(noise(*model_), before / 2),
               share = std::min(1.0, (before - best->misfit) / beyond);
  // A coil that changes, or maps, may explain as much as a delay: samples alone do not show it.
  constexpr double most_share = 0.99;
  if (!(best->finding.share > 0)) best->finding.share = std::min(most_share, share);
  return {std::move(best->finding), share};
}

/// Returns another order of the readouts; none where factors were taken off some, and the others are as they were.
std::optional<ArmCause> ArmComparison::order_of_readouts(double noise) const {
  if (arms_.stride == 1)
    return order_of_arms(
        *model_, [&](const std::vector<Index>& of) { return rows_of(data_, arms_.places * arms_.coils, of); },
        noise);
  if (!is_as_measured_) return {};
  return order_of_arms(
      *model_,
      [&](std::vector<Index> of) {
        for (Index& readout : of) readout = arms_.all[static_cast<std::size_t>(readout)];
        return samples_at_places(arms_, e_, starts_, of);
      },
      noise);
}

double ArmComparison::noise(const ArmModel& model) const {
  return noise_ * model.freedom() * static_cast<double>(arms_.coils);
}

/// Returns whether more is left over than noise and what small images cannot hold of an object, which is less than
/// mistakes leave that change an image by 10 %. Right scans at high SNR leave 0.8e-5 beside noise.
bool ArmComparison::is_left(const ArmModel& model, double misfit) const {
  constexpr double noise_like = 2;        // of the noise, whose estimate is uncertain
  constexpr double of_no_account = 1e-5;  // of |d|^2
  return misfit > noise_like * noise(model) + of_no_account * energy(model.arranged(arms_.data));
}

std::vector<Complex<double>> ArmComparison::factors_that_explain(double as_told) const {
  auto factors = factors_of_arms(*model_);
  if (factors.empty()) return factors;
  const double freedom =
      model_->freedom() - static_cast<double>(arms_.arms) / static_cast<double>(arms_.coils);
  const double left =
      misfit_with(*model_, factors_of_rows(*model_, factors)) * model_->freedom() / std::max(1.0, freedom);
  if (!(left < most_left_of_energy * as_told)) factors.clear();
  return factors;
}

}  // namespace fhd::validation

#include "validation/verdict/data_findings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "validation/verdict/data_tests.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/neighbours.hpp"
#include "validation/verdict/readout_order.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

std::vector<Finding> findings_in_data(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                      const Verdict& v) {
  constexpr Index enough = 50'000;
  constexpr double few_unknowns = 0.5;  // share of the signal where there are more values than unknowns
  const auto& times = input.sample_time_s;
  const double dwell_s = times && times->size() > 1 ? std::max(0.0, (*times)[1] - (*times)[0]) : 0;
  const bool is_unexplained = !(v.unexplained <= unexplained_limit);
  const auto whole = whole_readouts(input, starts, enough), thinned = thinned_readouts(input, starts, enough);
  const auto nearest = nearest_readouts(thinned);
  if (auto imaginary = imaginary_part(whole, is_unexplained)) return {std::move(*imaginary)};
  if (auto echo = unencoded_signal(thinned)) return {std::move(*echo)};
  const auto* signal = change_of(v, "signal");
  const bool varies = signal && signal->share > varying_limit;
  if (is_unexplained)
    if (auto order = order_by_neighbours(thinned, nearest, varies)) return {std::move(*order)};
  constexpr double nothing = 0.9;  // left over where the signal changes sign from readout to readout
  std::vector<Finding> found;
  if (v.unexplained <= nothing)
    if (auto moved = order_of_readouts(thinned)) found.push_back(std::move(*moved));
  const bool is_moved_in_stack = thinned.axes == 3 && !found.empty();  // to planes of another energy
  if (!is_moved_in_stack)
    if (auto odd = odd_energies(thinned, nearest, v.unexplained > nothing)) return {std::move(*odd)};
  if (is_unexplained)
    if (auto wrapped = wrapped_samples(input, starts)) return {std::move(*wrapped)};
  // Few readouts let a spike into every shell, where it passes for noise.
  constexpr double much_noise = 0.3;  // of the signal
  const bool hides_in_noise = !v.noise_is_measured && v.noise_share > much_noise;
  if (hides_in_noise || !(v.unexplained <= unexplained_limit / 2))
    if (auto spikes = spikes_in(input, starts)) found.push_back(std::move(*spikes));
  if (is_unexplained && found.empty())
    if (auto odd = odd_residuals(thinned)) found.push_back(std::move(*odd));
  if (is_unexplained)
    if (auto first = first_samples(whole)) found.push_back(std::move(*first));
  if (auto tone = tone_in(whole, dwell_s)) found.push_back(std::move(*tone));
  if (auto window = window_in(whole, v.tested >= few_unknowns && !is_unexplained))
    found.push_back(std::move(*window));
  return found;
}

const Finding* mistake_in_data(const Verdict& v) {
  constexpr std::array<std::string_view, 11> codes{"tone",         "window",  "order",    "exchange",
                                                   "spikes",       "offset",  "wrapped",  "imaginary",
                                                   "odd_readouts", "samples", "unencoded"};
  constexpr double least_change = 0.05, least_share = 1. / 3;
  const bool is_unexplained = !(v.unexplained <= unexplained_limit);
  const Finding* worst = nullptr;
  double most = 0;
  for (const auto& finding : v.changes) {
    if (std::find(codes.begin(), codes.end(), finding.code) == codes.end()) continue;
    const bool is_large = finding.image_change >= least_change;
    const bool explains =
        (is_unexplained && finding.share > least_share) || finding.share == shown_by_samples;
    const double size = std::max(finding.image_change, finding.share);
    if ((is_large || explains) && size > most) worst = &finding, most = size;
  }
  return worst;
}

}  // namespace fhd::validation

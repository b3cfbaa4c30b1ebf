#include "validation/verdict/line_causes.hpp"

#include <algorithm>

#include "validation/verdict/line_tests.hpp"

namespace fhd::validation {

LineTests::LineTests(const Lines& coils)
    : coils_(coils),
      combinations_(strongest_combinations(gram_of(coils), most_combinations)),
      model_(combined(coils, combinations_)),
      one_(at(coils.count), LineValue(1)) {
  if (model_.empty()) return;
  model_.learn(one_);
  if (model_.empty()) return;
  as_told_ = model_.cost(one_);
  for (Index j = 0; j < count(); ++j) energy_.push_back(told().energy(j));
  all_energy_ = std::accumulate(energy_.begin(), energy_.end(), 0.0);
}

std::optional<Finding> cause_in_lines(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                      double unexplained) {
  constexpr double little = 0.02;  // is left over of scans whose lines are in order
  constexpr double least_change = 0.05;
  const auto lines = cartesian_lines(input, starts);
  if (!lines) return {};
  const LineTests tests(*lines);
  if (tests.empty()) return {};
  auto found = undone_by_factors(tests);
  if (!(unexplained <= little))
    for (auto& undone : undone_by_changes(tests)) found.push_back(std::move(undone));
  const auto best = std::max_element(found.begin(), found.end(),
                                     [](const Undone& a, const Undone& b) { return a.nats < b.nats; });
  if (best == found.end() || best->nats < LineTests::sure_nats || best->finding.image_change < least_change)
    return {};
  return best->finding;
}

}  // namespace fhd::validation

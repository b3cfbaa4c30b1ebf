#include "recon/solve/discrepancy.hpp"

#include <cmath>

namespace fhd {

DiscrepancyResult find_lambda(const DiscrepancySearch& search,
                              const std::function<double(double)>& residual_at) {
  double below = 0, above = 0;  // lambdas with a residual below and above the noise; 0: not yet
  const auto try_lambda = [&](double lambda) {
    (residual_at(lambda) < search.noise_residual ? below : above) = lambda;
  };
  for (double next = search.start; next >= search.lowest && next <= search.highest;) {
    try_lambda(next);
    if (below > 0 && above > 0) break;
    next = below > 0 ? next * 10 : next / 10;
  }
  if (below == 0 || above == 0) return {std::nullopt, above > 0};
  while (above / below > 1.3) try_lambda(std::sqrt(below * above));
  return {std::sqrt(below * above), false};
}

}  // namespace fhd

#pragma once
// lambda by the discrepancy principle: the one whose data residual is the noise. Source: Morozov, Soviet Math.
// Dokl. 7:414 (1966).
#include <functional>
#include <optional>

namespace fhd {

struct DiscrepancySearch {
  double start = 1, lowest = 0, highest = 1;  ///< lambdas
  double noise_residual = 0;                  ///< what the data residual is to be
};
struct DiscrepancyResult {
  std::optional<double> lambda;  ///< empty when no lambda tried brackets the noise
  bool stays_above = false;      ///< then: the residual was above the noise for all of them, or below
};

/// `residual_at(lambda)` grows with lambda. The search goes from the start in factors of ten until it has the
/// noise between two lambdas, then halves their distance on a logarithmic axis, down to a factor of 1.3.
DiscrepancyResult find_lambda(const DiscrepancySearch& search,
                              const std::function<double(double)>& residual_at);

}  // namespace fhd

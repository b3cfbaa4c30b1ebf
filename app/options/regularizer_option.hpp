#pragma once
// --regularizer: one quadratic term, or a sum of terms with their strengths.
#include <optional>
#include <string>
#include <vector>

#include "recon/domain/settings.hpp"

namespace fhd::app {

struct RegularizerOption {
  /// "identity" or "roughness"; empty: there is no quadratic term.
  std::string quadratic;
  /// Strength of the quadratic term, over the mean eigenvalue; empty: --lambda says it.
  std::optional<double> quadratic_strength;
  std::vector<SparsePenalty> sparse;
};

/// Strength of the identity beside terms in time where no other term is given, over the mean eigenvalue.
inline constexpr double share_beside_terms_in_time = 0.01;

/// Reads "identity"; "wavelet:0.01,tv:0.02"; "identity:0.01,wavelet:0.005". Throws Error naming --regularizer.
RegularizerOption parse_regularizer(const std::string& text);

}  // namespace fhd::app

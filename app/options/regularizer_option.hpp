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
  /// Of the quadratic term, over the mean eigenvalue; empty: --lambda tells it.
  std::optional<double> quadratic_strength;
  std::vector<SparsePenalty> sparse;
};

/// Of the identity that stands beside terms in time where no other term does, over the mean eigenvalue.
inline constexpr double share_beside_terms_in_time = 0.01;

inline constexpr const char* regularizer_help =
    "identity or roughness (finite differences), the W of --lambda; or a sum of terms with strengths, such "
    "as "
    "wavelet:0.01 or identity:0.01,tv:0.02; terms: identity, roughness, wavelet, tv, tgv, the last three "
    "also "
    "with auto: the strength that the noise asks for; and of --frames temporal-tv, llr";
/// "identity"; "wavelet:0.01,tv:0.02"; "identity:0.01,wavelet:0.005". Throws Error naming --regularizer.
RegularizerOption parse_regularizer(const std::string& text);

}  // namespace fhd::app

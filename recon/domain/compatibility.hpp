#pragma once
// One table of the features of a request that do not go together. Requests are refused by it, and the documentation of
// limits is generated from it.
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>

#include "recon/domain/settings.hpp"

namespace fhd {

/// The features of a request that do not go together with every other one.
enum class Feature {
  other_method,     ///< than least squares
  explicit_normal,  ///< E^H E without the Toeplitz operator
  other_maps,       ///< than those that espirit finds
  map_sets,         ///< two sets of maps, or as many as the scan needs
  partial_fourier,
  lambda_from_noise,
  roughness,
  basis,      ///< a temporal subspace
  one_image,  ///< not frames
  frames,
  noise_map,
  exact_noise_map,
  field_map,          ///< or fields, or decay: phases that are not k . r alone
  several_processes,  ///< or GPUs, for one volume
  echo_field_map,     ///< a field map that is made of the echoes of the scan
  given_maps,         ///< sensitivity maps from a file of their own
  own_maps,           ///< sensitivity maps that are found in the scan, or none
  sparse              ///< the first term without squares; the others follow in the order of SparseKind
};
constexpr Feature feature_of(SparseKind kind) {
  return static_cast<Feature>(static_cast<int>(Feature::sparse) + static_cast<int>(kind));
}
inline constexpr std::size_t feature_count =
    static_cast<std::size_t>(Feature::sparse) + names_of(SparseKind{}).size();

class Features {
 public:
  bool has(Feature feature) const { return bits_[static_cast<std::size_t>(feature)]; }
  /// Returns these features and another one, if `condition` holds.
  Features with(Feature feature, bool condition = true) const {
    Features more(*this);
    if (condition) more.bits_.set(static_cast<std::size_t>(feature));
    return more;
  }

 private:
  std::bitset<feature_count> bits_;
};

struct Scan;
/// Returns whether a scan has phases beside k . r, or decay, that are part of its encoding.
bool goes_beyond_k(const Scan& scan);

/// Returns the features that the settings ask for.
Features features_of(const Settings& settings);

struct Conflict {
  Feature feature, other;
  std::string remedy;
};
/// Returns the first pair of features that do not go together; empty where all do.
std::optional<Conflict> conflict_among(const Features& features);
/// Returns a feature in the words of a user: "--partial-fourier phase", "frames".
std::string name_of(Feature feature);
/// Throws Error where two features do not go together.
void refuse_incompatible(const Features& features);

/// Returns the table in Markdown: "| feature | does not go together with |", ...
std::string limits_in_markdown();

}  // namespace fhd

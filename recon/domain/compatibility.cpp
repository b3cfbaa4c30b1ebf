#include "recon/domain/compatibility.hpp"

#include <vector>

#include "recon/domain/option_words.hpp"
#include "recon/domain/scan.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

/// A setting, with the value that is meant where one value matters; or a feature in words.
struct Name {
  const char* words;  ///< empty: the setting names the feature
  const char* field;  ///< the setting; empty: none
  const char* value = "";
};

// In the order of Feature, without the terms.
constexpr Name names[] = {{"a method other than cg", "method"},
                          {"", "normal", "explicit"},
                          {"", "coils", "other than espirit"},
                          {"", "map-sets", "2 or auto"},
                          {"", "partial-fourier", "phase"},
                          {"", "lambda", "auto"},
                          {"", "regularizer", "roughness"},
                          {"", "basis"},
                          {"one image", ""},
                          {"frames", ""},
                          {"", "noise-map"},
                          {"", "noise-map", "exact"},
                          {"a field map or fields or decay", ""},
                          {"several GPUs or processes for one volume", ""},
                          {"", "field-map", "auto"},
                          {"", "maps"},
                          {"", "coils", "none, espirit, adaptive or joint"}};

struct Row {
  Feature feature;
  std::vector<Feature> others;
  std::string remedy = "leave one of them out";
};

/// Returns `features`, and the terms for which `counts` holds.
std::vector<Feature> and_terms(std::vector<Feature> features, bool (*counts)(SparseKind)) {
  for (std::size_t i = 0; i < names_of(SparseKind{}).size(); ++i)
    if (const auto kind = static_cast<SparseKind>(i); counts(kind)) features.push_back(feature_of(kind));
  return features;
}
bool any(SparseKind) { return true; }

const std::vector<Row>& table() {
  using enum Feature;
  constexpr Feature tgv = feature_of(SparseKind::tgv);
  static const std::vector<Row> rows{
      {map_sets, and_terms({other_method, other_maps, partial_fourier, field_map, frames, noise_map,
                            several_processes, tgv},
                           is_temporal)},
      {partial_fourier, and_terms({lambda_from_noise, field_map, frames, noise_map, several_processes}, any)},
      {lambda_from_noise, and_terms({}, any),
       "give a number: the noise decides lambda of a quadratic regularizer alone"},
      {lambda_from_noise, {frames}, "give a number: the noise decides lambda of one image alone"},
      {one_image, and_terms({basis}, is_temporal),
       "leave it out, or reconstruct frames (" + option_words("frames") + ", " +
           option_words("spokes-per-frame") + ", " + option_words("gate") + ")"},
      {frames, {other_method, explicit_normal, noise_map, several_processes}},
      {frames, {tgv}, "use tv in its place"},
      {basis,
       {feature_of(SparseKind::temporal_tv)},
       "a subspace couples frames already; leave one of them out"},
      {exact_noise_map, and_terms({other_method, roughness}, any),
       "ask for a number of replicas, such as 100"},
      {several_processes, {other_method, explicit_normal, field_map}},
      {several_processes, {noise_map, echo_field_map}, "use one process"},
      {echo_field_map, {other_method}},
      {given_maps, {own_maps}}};
  return rows;
}

/// Returns the option of a feature; empty: none.
std::string field_of(Feature feature) {
  return feature < Feature::sparse ? names[static_cast<std::size_t>(feature)].field : "regularizer";
}

}  // namespace

std::string name_of(Feature feature) {
  if (feature < Feature::sparse) {
    const auto& [words, field, value] = names[static_cast<std::size_t>(feature)];
    return *words == '\0' ? option_words(field, value) : words;
  }
  const auto kind = static_cast<std::size_t>(feature) - static_cast<std::size_t>(Feature::sparse);
  return option_words("regularizer", names_of(SparseKind{})[kind]);
}

bool goes_beyond_k(const Scan& scan) {
  return scan.fields || ((scan.field_map || scan.decay_per_s) && scan.sample_time_s);
}

Features features_of(const Settings& settings) {
  using enum Feature;
  const auto& coils = settings.coils;
  const auto* method = least_squares(settings);
  Features features =
      Features()
          .with(other_method, method == nullptr)
          .with(other_maps, coils.maps != CoilMaps::automatic && coils.maps != CoilMaps::espirit)
          .with(map_sets, coils.map_sets != MapSetCount::one);
  if (method == nullptr) return features;
  features = features.with(explicit_normal, method->normal != NormalKind::toeplitz)
                 .with(partial_fourier, method->partial_fourier != PartialFourier::off)
                 .with(lambda_from_noise, std::holds_alternative<FromNoise>(method->lambda))
                 .with(roughness, !std::holds_alternative<IdentityPenalty>(method->regularizer))
                 .with(basis, method->basis.has_value());
  for (const auto& penalty : method->sparse) features = features.with(feature_of(penalty.kind));
  return features;
}

std::optional<Conflict> conflict_among(const Features& features) {
  for (const auto& [feature, others, remedy] : table())
    for (const Feature other : others)
      if (features.has(feature) && features.has(other)) return Conflict{feature, other, remedy};
  return {};
}

void refuse_incompatible(const Features& features) {
  const auto conflict = conflict_among(features);
  if (!conflict) return;
  const auto field = field_of(conflict->feature);
  throw Error({name_of(conflict->feature), "", "does not go together with " + name_of(conflict->other),
               conflict->remedy, field.empty() ? field_of(conflict->other) : field, ErrorKind::usage});
}

std::string limits_in_markdown() {
  std::string text = "| feature | does not go together with |\n|---|---|\n";
  for (std::size_t i = 0; i < feature_count; ++i) {
    std::string others;
    for (const auto& row : table())
      if (row.feature == static_cast<Feature>(i))
        for (const Feature other : row.others) others += (others.empty() ? "" : ", ") + name_of(other);
    if (!others.empty()) text += "| " + name_of(static_cast<Feature>(i)) + " | " + others + " |\n";
  }
  return text;
}

}  // namespace fhd

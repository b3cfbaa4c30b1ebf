#include "recon/domain/compatibility.hpp"

#include <vector>

#include "recon/error.hpp"

namespace fhd {
namespace {

struct Name {
  const char* words;
  const char* field;  ///< the option; empty: none
};

// In the order of Feature.
constexpr Name names[feature_count] = {{"a method other than cg", "method"},
                                       {"--normal explicit", "normal"},
                                       {"--coils other than espirit", "coils"},
                                       {"--map-sets 2 or auto", "map-sets"},
                                       {"--partial-fourier phase", "partial-fourier"},
                                       {"--lambda auto", "lambda"},
                                       {"--regularizer roughness", "regularizer"},
                                       {"--regularizer wavelet", "regularizer"},
                                       {"--regularizer tv", "regularizer"},
                                       {"--regularizer tgv", "regularizer"},
                                       {"--regularizer temporal-tv", "regularizer"},
                                       {"--regularizer llr", "regularizer"},
                                       {"--basis", "basis"},
                                       {"one image", ""},
                                       {"frames", ""},
                                       {"--noise-map", "noise-map"},
                                       {"--noise-map exact", "noise-map"},
                                       {"a field map", ""},
                                       {"several GPUs or processes for one volume", ""},
                                       {"--field-map auto", "field-map"},
                                       {"--maps", "maps"},
                                       {"--coils none, espirit, adaptive or joint", "coils"}};

struct Row {
  Feature feature;
  std::vector<Feature> others;
  const char* remedy = "leave one of them out";
};

const std::vector<Row>& table() {
  using enum Feature;
  static const std::vector<Row> rows{
      {map_sets,
       {other_method, other_maps, partial_fourier, tgv, temporal_tv, llr, field_map, frames, noise_map,
        several_processes}},
      {partial_fourier,
       {wavelet, tv, tgv, temporal_tv, llr, lambda_from_noise, field_map, frames, noise_map, several_processes}},
      {lambda_from_noise,
       {wavelet, tv, tgv, temporal_tv, llr},
       "give a number: the noise decides lambda of a quadratic regularizer alone"},
      {lambda_from_noise, {frames}, "give a number: the noise decides lambda of one image alone"},
      {one_image, {temporal_tv, llr, basis}, "leave it out, or reconstruct frames (--frames, --spokes-per-frame, --gate)"},
      {frames, {other_method, explicit_normal, noise_map, several_processes}},
      {frames, {tgv}, "use tv in its place"},
      {basis, {temporal_tv}, "a subspace couples frames already; leave one of them out"},
      {exact_noise_map,
       {other_method, roughness, wavelet, tv, tgv, temporal_tv, llr},
       "ask for a number of replicas, such as 100"},
      {several_processes, {other_method, explicit_normal, field_map}},
      {several_processes, {noise_map, echo_field_map}, "use one process"},
      {echo_field_map, {other_method}},
      {given_maps, {own_maps}}};
  return rows;
}

const Name& full_name(Feature feature) { return names[static_cast<std::size_t>(feature)]; }

}  // namespace

const char* name_of(Feature feature) { return full_name(feature).words; }

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
  constexpr Feature terms[] = {wavelet, tv, tgv, temporal_tv, llr};  // in the order of SparseKind
  for (const auto& penalty : method->sparse) features = features.with(terms[static_cast<int>(penalty.kind)]);
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
  const Name &name = full_name(conflict->feature), &other = full_name(conflict->other);
  throw Error({name.words, "", std::string("does not go together with ") + other.words, conflict->remedy,
               *name.field != '\0' ? name.field : other.field, ErrorKind::usage});
}

std::string limits_in_markdown() {
  std::string text = "| feature | does not go together with |\n|---|---|\n";
  for (std::size_t i = 0; i < feature_count; ++i) {
    std::string others;
    for (const auto& row : table())
      if (row.feature == static_cast<Feature>(i))
        for (const Feature other : row.others)
          others += std::string(others.empty() ? "" : ", ") + name_of(other);
    if (!others.empty()) text += std::string("| ") + names[i].words + " | " + others + " |\n";
  }
  return text;
}

}  // namespace fhd

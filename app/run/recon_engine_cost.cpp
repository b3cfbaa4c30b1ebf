// What an engine predicts of time and memory.
#include <algorithm>

#include "app/run/recon_engine.hpp"
#include "app/run/scan_cost.hpp"

namespace fhd::app {

/// Returns how one image is made, as far as it costs something.
EstimateSettings ReconEngine::estimate_settings(std::optional<FrameSizes> frames) const {
  EstimateSettings how{settings_, execution_.device, services_.verifier.get(),
                       companion_settings_ ? &*companion_settings_ : nullptr};
  how.frames = frames;
  if (options_.noise_map) how.noise_replicas = options_.noise_map->replicas;
  return how;
}

std::string ReconEngine::cost_text_of(ScanSizes sizes, std::int64_t readout_length, std::int64_t images,
                                      std::optional<FrameSizes> frames) const {
  sizes.readout_length = readout_length;
  EstimateSettings how = estimate_settings(frames);
  how.images = images;
  return cost_text(sizes, how, rates_, host_rates_);
}

/// Adds to the report of each image its share of the stages predicted: what was done once is in the first report.
void ReconEngine::predict_stages(const ScanSizes& sizes, const FrameLayout* layout,
                                 std::vector<ReconResult>& results) const {
  if (!rates_ || !host_rates_ || team_) return;  // nothing is known of a team
  std::vector<Stage> stages;
  try {
    const auto how = estimate_settings(layout ? std::optional(fhd::sizes_of(*layout)) : std::nullopt);
    stages = predict(sizes, how, *rates_, *host_rates_).stages;
  } catch (const Error&) {  // of coils that turned out to be dead: nothing that a finished image waits for
  }
  const auto& shared = results.back().reconstruction.report.stages;
  for (Stage& stage : stages) {
    const bool is_shared =
        std::any_of(shared.begin(), shared.end(), [&](const Stage& each) { return each.name == stage.name; });
    if (is_shared) stage.seconds /= static_cast<double>(results.size());
    for (std::size_t i = 0; i < (is_shared ? results.size() : 1); ++i)
      results[i].reconstruction.report.predicted_stages.push_back(stage);
  }
}

}  // namespace fhd::app

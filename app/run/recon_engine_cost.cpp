// What an engine says beforehand of time and memory.
#include <algorithm>

#include "app/run/recon_engine.hpp"
#include "app/run/scan_cost.hpp"

namespace fhd::app {

std::vector<Stage> ReconEngine::predicted_stages(const ScanSizes& sizes,
                                                 std::optional<FrameSizes> frames) const {
  if (!rates_ || !host_rates_ || team_) return {};  // nothing is known of a team
  try {
    return predict(sizes, estimate_settings(frames), *rates_, *host_rates_).stages;
  } catch (const Error&) {  // of coils that turned out to be dead: nothing that a finished image waits for
    return {};
  }
}

EstimateSettings ReconEngine::estimate_settings(std::optional<FrameSizes> frames) const {
  EstimateSettings how{settings_, execution_.device, services_.verifier.get(),
                       companion_settings_ ? &*companion_settings_ : nullptr};
  how.frames = frames;
  if (noise_map_) how.noise_replicas = noise_map_->replicas;
  return how;
}

std::string ReconEngine::cost_text_of(ScanSizes sizes, std::int64_t readout_length, std::int64_t images,
                                      std::optional<FrameSizes> frames) const {
  sizes.readout_length = readout_length;
  EstimateSettings how = estimate_settings(frames);
  how.images = images;
  return cost_text(sizes, how, rates_, host_rates_);
}

/// As of the stages: what was done once is told by the first.
void ReconEngine::predict_frames(const ScanSizes& sizes, const FrameLayout& layout,
                                 std::vector<Reconstruction>& frames) const {
  const auto& shared = frames.back().report.stages;
  for (Stage stage : predicted_stages(sizes, fhd::sizes_of(layout))) {
    const bool is_shared =
        std::any_of(shared.begin(), shared.end(), [&](const Stage& each) { return each.name == stage.name; });
    if (is_shared) stage.seconds /= static_cast<double>(frames.size());
    for (std::size_t frame = 0; frame < (is_shared ? frames.size() : 1); ++frame)
      frames[frame].report.predicted_stages.push_back(stage);
  }
}

}  // namespace fhd::app

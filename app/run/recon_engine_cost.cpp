// Predicts time and memory of the images of an engine.
#include <algorithm>

#include "app/run/recon_engine.hpp"
#include "app/run/scan_cost.hpp"

namespace fhd::app {

/// Returns whether the stages of these images can be predicted: not of a team, nor of a volume of a series.
bool ReconEngine::can_predict(const VolumeGroup& group) const {
  return rates_ && host_rates_ && !group.series && !team_;
}

/// Returns the sizes where they are needed: of a series those of its first volume.
std::optional<ScanSizes> ReconEngine::sizes_of_group(const VolumeGroup& group) const {
  const bool is_asked = group.planned_volumes > 0 && (!group.series || group.begins_series);
  if (!is_asked && !can_predict(group)) return {};
  const Scan& first = *group.volumes.front();
  if (group.frames) return sizes_of(first, settings_);
  return sizes_of(group.series ? group.series->reference() : first);
}

/// Returns how one image is made, as far as it costs something.
EstimateSettings ReconEngine::estimate_settings(const VolumeGroup& group) const {
  EstimateSettings how{settings_, execution_.device, services_.verifier.get(),
                       companion_settings_.has_value()};
  if (group.frames) how.frames = sizes_of(*group.frames);
  if (options_.noise_map) how.noise_replicas = options_.noise_map->replicas;
  return how;
}

void ReconEngine::report_cost(ScanSizes sizes, const VolumeGroup& group, const RunEvents& events) const {
  sizes.readout_length = group.readout_length;
  EstimateSettings how = estimate_settings(group);
  how.images = group.planned_volumes;
  events.text("planned", cost_text(sizes, how, rates_, host_rates_));
}

/// Adds to the report of each image its share of the stages predicted: what was done once is in the first report.
void ReconEngine::predict_stages(const ScanSizes& sizes, const VolumeGroup& group,
                                 std::vector<ReconResult>& results) const {
  std::vector<Stage> stages;
  try {
    stages = predict(sizes, estimate_settings(group), *rates_, *host_rates_).stages;
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

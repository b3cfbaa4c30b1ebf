// Seconds of an estimate at the rates of a machine.
#include <algorithm>

#include "recon/pipeline/estimate.hpp"

namespace fhd {
/// What depends on the trajectory, and on the CPU the model too, where it has the maps of the file.
bool is_kept(const std::string& stage, const ScanSizes& scan, const Estimate& made,
             const EstimateSettings& how) {
  const auto* method = least_squares(how.settings);
  if (how.frames) return false;
  if (stage == "density compensation") return true;
  if (method == nullptr || (scan.has_field_map && scan.has_sample_time)) return false;
  if (stage == "Q") return true;
  const auto* roughness = std::get_if<RoughnessPenalty>(&method->regularizer);
  const bool keeps_model =
      how.device.is_cpu() && !made.coil_decision.finds_maps && !(roughness && roughness->prior);
  return keeps_model &&
         (stage == "transfer function" || stage == "preconditioner" || stage == "largest eigenvalue");
}

double Prediction::seconds() const {
  double sum = other_seconds;
  for (const Stage& stage : stages) sum += stage.seconds;
  return sum;
}

Prediction predict(const ScanSizes& scan, const EstimateSettings& how, const MachineRates& device,
                   const MachineRates& host) {
  const Estimate made = estimate(scan, how);
  const auto seconds_of = [&](const EstimatedStage& stage) {
    return stage.seconds + (stage.on_host ? host : device).seconds(stage.work) +
           device.seconds(stage.device_work);
  };
  Prediction result;
  result.other_seconds = seconds_of(made.between);
  double before = result.other_seconds;
  const bool solved = least_squares(how.settings) != nullptr;
  for (const auto& stage : made.stages) {
    double seconds = seconds_of(stage);
    if (stage.name == "certificate") {
      const double frames =
          how.frames ? static_cast<double>(how.frames->frames) : 1;  // each with a clock of its own
      seconds +=
          frames *
          how.verifier->expected_seconds(
              {static_cast<double>(how.frames ? how.frames->samples_per_frame : scan.samples.all),
               scan.voxels(), static_cast<double>(made.coil_decision.uses_maps() || !solved ? made.coils : 1),
               solved, how.frames ? 0 : before, host.speedup});
    }
    before += seconds;
    result.stages.push_back({stage.name, seconds});
    if (is_kept(stage.name, scan, made, how)) result.once_seconds += seconds;
  }
  result.images = how.images;
  result.iterations_seconds =
      made.solves * std::max(0, made.most_iterations - made.iterations) * device.seconds(made.iteration);
  return result;
}

}  // namespace fhd

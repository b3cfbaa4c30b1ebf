// What reconstructing the scan, with its coils as prepared, once more and again costs: for a phase, and for maps of noise.
#include <algorithm>
#include <cmath>

#include "recon/coils/noise.hpp"
#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/steps.hpp"

namespace fhd {

ScanSizes Walk::prepared_sizes() const {
  ScanSizes scan = scan_;
  scan.coils = out_.coils;
  scan.has_maps = out_.coil_decision.uses_maps();
  scan.in_double = prepared_in_double_;
  scan.noise_samples = scan.calibration_samples = 0;
  scan.time_segments = segments_, scan.difference_segments = differences_;
  return scan;
}

Settings Walk::settings_as_prepared() const {
  Settings settings = how_.settings;
  settings.coils = CoilSettings::as_they_are();
  settings.coils.maps = out_.coil_decision.uses_maps() ? CoilMaps::file : CoilMaps::none;
  settings.surroundings = Surroundings::off;
  return settings;
}

/// An image of the centre of k-space, and a copy of the scan with its phase in the maps: partial_fourier.hpp.
void Walk::find_phase() {
  ScanSizes centre = prepared_sizes();
  if (scan_.central_samples == 0)
    out_.assumptions.push_back(
        "how much of k-space lies on both sides is not known before the scan is read: half of it is assumed");
  centre.samples.all = centre.samples.x = centre.samples.xy =
      scan_.central_samples > 0 ? scan_.central_samples : scan_.samples.all / 2;
  EstimateSettings how{settings_as_prepared(), device_};
  std::get<LeastSquares>(how.settings.method).partial_fourier = PartialFourier::off;
  const Estimate made = Walk(centre, how, true)();
  // The way to the device, and the phase behind its window.
  out_.stages.push_back(
      {"phase", made.between.work + copied(40 * voxels_ * 16), made.between.seconds, false});
  for (const auto& stage : made.stages) {
    out_.stages.back().work += stage.work;
    out_.stages.back().seconds += stage.seconds;
  }
  out_.host.hold("phase", voxels_ * 16);
  out_.host.hold("scan with the phase in its maps",
                 (samples_ + voxels_) * coils() * held_bytes(prepared_in_double_) + samples_ * 24);
}

void Walk::map_noise(std::int64_t replicas) {
  const ScanSizes scan = prepared_sizes();
  EstimateSettings how{settings_as_prepared(), device_};
  auto* method = std::get_if<LeastSquares>(&how.settings.method);
  const bool is_linear =
      (out_.coil_decision.uses_maps() || out_.coils == 1) && !(method && !method->sparse.empty());
  if (method) {  // what was searched is found
    if (std::holds_alternative<FromNoise>(method->lambda)) method->lambda = OfLargestEigenvalue{};
    for (auto& penalty : method->sparse) penalty.strength = penalty.strength.value_or(default_strength);
  }
  const Estimate made = Walk(scan, how, true)();
  double axes = 0;
  for (const int n : scan_.matrix_size) axes += n > 1;
  const double again = static_cast<double>(replicas) + (is_linear ? 1 + 2 * axes : 0);  // and points
  constexpr double drawn_s = 4e-8;  // of a sample of a coil
  EstimatedStage all{"noise map", again * made.between.work,
                     again * (made.between.seconds + samples_ * coils() * drawn_s / threads_)};
  for (const auto& each : made.stages) {
    const double times = is_kept(each.name, scan, made, how) ? 1 : again;
    all.work += times * each.work;
    all.seconds += times * each.seconds;
  }
  const double map_bytes = scan.has_maps ? voxels_ * coils() * held_bytes(prepared_in_double_) : 0,
               sample_bytes = samples_ * coils() * held_bytes(prepared_in_double_);
  if (!gpu_) out_.host.release(kept_);
  if (replicas == 0) {  // by one thread: pairs of aliases, each with pairs of coils, and small matrices
    constexpr double pair_s = 4e-9, group_s = 8e-6;
    const double aliases = std::max(1.0, voxels_ / samples_);
    all.seconds += voxels_ * aliases * coils() * coils() * pair_s + voxels_ / aliases * group_s;
    out_.host.hold_briefly("maps and matrices of aliases", 2 * map_bytes + 24 * voxels_);
  }
  out_.stages.push_back(std::move(all));
  out_.host.hold("maps of the noise", voxels_ * 64);
  out_.host.hold("scan and samples of replicas", map_bytes + (method ? 3 : 2) * sample_bytes + samples_ * 72);
  const double as_read = program_bytes + sample_bytes + samples_ * 24 + map_bytes;
  out_.host.hold("reconstruction of a replica", made.host.peak_bytes() - as_read);
  out_.device.hold("reconstruction of a replica", made.device.peak_bytes());
}

}  // namespace fhd

#include "app/recon_engine.hpp"

#include <fmt/format.h>

#include "app/machine_rates.hpp"
#include "recon/pipeline/cost_model.hpp"
#include "validation/certificate.hpp"

namespace fhd::app {

Settings gridded_settings(Settings settings) {
  settings.method = Method::gridded;
  settings.transform = TransformKind::automatic;
  settings.regularizer = RegularizerKind::identity;
  settings.prior.reset();
  settings.lambda.reset();
  settings.lambda_from_noise = false;
  settings.verifier.reset();
  settings.team.reset();
  settings.coils = CoilSettings::as_they_are();
  settings.accuracy = std::max(settings.accuracy, 1e-4);
  return settings;
}

ReconEngine::ReconEngine(const Settings& settings, const ChosenDevice& device, bool gridded_image)
    : settings_(settings),
      gpu_name_(device.description.name),
      may_fall_back_(device.automatic && device.device.is_cuda()) {
  settings_.device = device.device;
  settings_.verifier = validation::make_verifier();
  reconstructor_.emplace(settings_);
  if (gridded_image && settings_.method == Method::cg) gridded_.emplace(gridded_settings(settings_));
}

ReconResult ReconEngine::operator()(const Scan& scan, const ProgressCallback& progress,
                                    const std::function<void(const std::string&)>& on_fallback) {
  ReconResult result;
  try {
    result.reconstruction = (*reconstructor_)(scan, progress);
  } catch (const DeviceError& error) {
    if (!may_fall_back_) throw;
    may_fall_back_ = false;
    on_fallback(error.what());
    settings_.device = Device::cpu();
    reconstructor_.emplace(settings_);
    if (gridded_) gridded_.emplace(gridded_settings(settings_));
    result.reconstruction = (*reconstructor_)(scan, progress);
    result.reconstruction.report.notes.push_back(
        std::string("computed on the CPU, because the GPU failed: ") + error.what());
  }
  result.reconstruction.report.predicted_stages = predicted_stages(scan);
  if (gridded_) {
    const Scan& same_coils = result.reconstruction.prepared ? *result.reconstruction.prepared : scan;
    Reconstruction gridded;
    try {
      gridded = (*gridded_)(same_coils, progress);
    } catch (const DeviceError&) {  // the reconstruction left too little of the GPU's memory
      Settings on_cpu = gridded_settings(settings_);
      on_cpu.device = Device::cpu();
      gridded_.emplace(on_cpu);
      gridded = (*gridded_)(same_coils, progress);
    }
    result.reconstruction.report.stages.push_back({"gridded image", gridded.report.seconds});
    result.reconstruction.report.seconds += gridded.report.seconds;
    result.reconstruction.report.trajectory_hits += gridded.report.trajectory_hits;
    result.gridded = std::move(gridded.image);
  }
  result.reconstruction.prepared.reset();
  return result;
}

/// Where `fhd plan` has measured this machine; empty elsewhere: measuring takes longer than a small scan.
std::vector<Stage> ReconEngine::predicted_stages(const Scan& scan) const {
  const auto rates = known_rates(settings_.device, gpu_name_), host = known_rates(Device::cpu());
  if (!rates || !host) return {};
  const Settings gridded = gridded_settings(settings_);
  return predict(sizes_of(scan), settings_, *rates, gridded_ ? &gridded : nullptr, &*host).stages;
}

std::string certificate_line(const Certificate& c) {
  std::string line = fmt::format("F^H error {:.1e}", c.adjoint_error);
  if (c.forward_error >= 0)
    line = fmt::format("F error {:.1e}, F^H {:.1e}, F^H F {:.1e}", c.forward_error, c.adjoint_error,
                       c.normal_error);
  line += fmt::format(" (asked {:.0e}) at {} voxels", c.requested, c.voxels);
  if (c.samples > 0) line += fmt::format(" and {} samples", c.samples);
  if (c.true_residual >= 0)
    line += fmt::format("; true residual {:.1e}, adjointness {:.0e}", c.true_residual, c.adjointness);
  return line;
}

}  // namespace fhd::app

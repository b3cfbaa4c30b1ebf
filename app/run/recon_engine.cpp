#include "app/run/recon_engine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>

#include "app/terminal/console.hpp"
#include "app/run/machine_rates.hpp"
#include "app/options/option_names.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/array/trace.hpp"
#include "recon/pipeline/outside_fov.hpp"
#include "recon/trajectory/gradient_delays.hpp"
#include "validation/certificate.hpp"
#include "validation/doctor/diagnosis.hpp"
#include "validation/verdict/causes.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::app {

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What follows a reconstruction. That of a volume of a series, of which a report tells a share of the time, has no
/// place among the others.
void add_stage(Report& report, const std::string& name, double seconds) {
  const bool has_place = std::none_of(report.stages.begin(), report.stages.end(),
                                      [](const Stage& stage) { return stage.spans.empty(); });
  report.stages.push_back({name, seconds});
  if (has_place) report.stages.back().spans.push_back({report.seconds, seconds});
  report.seconds += seconds;
}

}  // namespace

ReconEngine::ReconEngine(const Settings& settings, const Execution& execution, const ChosenDevice& device,
                         std::shared_ptr<TrajectoryCache> cache, bool gridded_image, bool tells_sizes,
                         std::shared_ptr<const DeviceTeam> team)
    : settings_(settings),
      execution_(execution),
      services_{std::move(cache), validation::make_verifier(), {}},
      gpu_name_(device.description.name),
      may_fall_back_(device.automatic && device.device.is_cuda()),
      tells_sizes_(tells_sizes),
      team_(std::move(team)) {
  if (gridded_image) companion_settings_ = companion_settings(settings);
  if (companion_settings_)
    services_.gridded_accuracy = std::get<ConventionalGridding>(companion_settings_->method).accuracy;
  execution_.device = device.device;
  read_rates();
  make_reconstructors();
}

void ReconEngine::read_rates() {
  rates_ = known_rates(execution_.device, gpu_name_);
  host_rates_ = known_rates(Device::cpu());
}

void ReconEngine::make_reconstructors() {
  reconstructor_.emplace(settings_, execution_, services_);
  companion_.reset();
  if (!team_) return;
  // The same number each: what rounds otherwise by another number must not.
  const int all = execution_.threads > 0 ? execution_.threads : omp_get_max_threads();
  const int threads = std::max(1, all / team_->size());
  for (int rank = 0; rank < team_->size(); ++rank)
    of_rank_.emplace_back(settings_, Execution{team_->device(rank), threads, team_->group(rank)}, services_);
}

/// By all devices of a team, where they can share the scan.
Reconstruction ReconEngine::reconstruct(const Scan& scan, const ProgressCallback& progress) {
  if (!team_) return (*reconstructor_)(scan, progress);
  const int size = team_->size();
  if (const auto missing = missing_for_group(settings_, scan, size)) {
    auto made = (*reconstructor_)(scan, progress);
    made.report.notes.push_back(
        fmt::format("one of {} GPUs computes: to share a scan takes {}, and here is {}", size,
                    missing->expected, missing->found));
    return made;
  }
  Reconstruction made;
  team_->run([&](int rank) {
    auto mine = of_rank_[static_cast<std::size_t>(rank)](scan, rank == 0 ? progress : ProgressCallback{});
    if (rank == 0) made = std::move(mine);
  });
  made.report.notes.push_back(
      fmt::format("{} GPUs share samples and coils; sums by {}", size, team_->way_of_sums()));
  return made;
}

/// One process makes it, without a certificate.
void ReconEngine::make_companion(Device device) {
  companion_.emplace(*companion_settings_, Execution{device, execution_.threads},
                     Services{services_.trajectory_cache});
}

template <class Work>
auto ReconEngine::beside(Work work) const {
  const int threads = execution_.threads > 0 ? execution_.threads : omp_get_max_threads();
  constexpr auto aside = std::launch::async | std::launch::deferred;  // where the system starts no thread
  return std::async(execution_.device.is_cuda() ? aside : std::launch::deferred,
                    [threads, work = std::move(work)] {
                      const ThreadLimit limit(threads);
                      return work();
                    });
}

template <class Work>
auto ReconEngine::with_fallback(const std::function<void(const std::string&)>& on_fallback,
                                const Work& work) {
  try {
    return work();
  } catch (const DeviceError& error) {
    if (!may_fall_back_) throw;
    may_fall_back_ = false;
    fallback_ = std::string("computed on the CPU, because the GPU failed: ") + error.what();
    on_fallback(error.what());
    execution_.device = Device::cpu();
    read_rates();
    make_reconstructors();
  }
  return work();
}

ReconResult ReconEngine::operator()(const Scan& scan, const ProgressCallback& progress,
                                    const std::function<void(const std::string&)>& on_fallback) {
  ReconResult result;
  if (noise_map_) require_noise_maps_can(*noise_map_, settings_, scan);
  // What only the scan decides, while the GPU works; the CPU does it after its own work.
  auto warnings = beside([this, &scan] { return warnings_of(scan); });
  const bool needs_sizes = tells_sizes_ || (rates_ && host_rates_);
  auto sizes = beside([this, &scan, needs_sizes] {
    ScanSizes of_scan = needs_sizes ? sizes_of(scan) : ScanSizes{};
    if (needs_sizes) of_scan.central_samples = central_sample_count(scan, settings_);
    return of_scan;
  });
  result.reconstruction = with_fallback(on_fallback, [&] { return reconstruct(scan, progress); });
  Report& report = result.reconstruction.report;
  if (!fallback_.empty()) report.notes.push_back(fallback_);
  const auto begin = std::chrono::steady_clock::now();
  for (auto& warning : warnings.get()) report.warnings.push_back(std::move(warning));
  report.seconds += seconds_since(begin);
  if (report.verdict) suspect(scan, true, report);
  auto& prepared = result.reconstruction.prepared;
  const Scan& used = prepared ? *prepared : scan;
  if (needs_sizes) {
    result.sizes = on_larger_matrix(sizes.get(), used.geometry.matrix_size);
    report.predicted_stages = predicted_stages(*result.sizes);
  }
  if (companion_settings_)
    result.gridded = result.reconstruction.gridded ? std::move(*result.reconstruction.gridded)
                                                   : companion_image(used, progress, report);
  if (noise_map_) add_noise_maps(scan, progress, on_fallback, result);
  prepared.reset();
  say_in_words_of_options(report);
  return result;
}

std::vector<ReconResult> ReconEngine::operator()(const std::vector<ReadVolume>& volumes,
                                                 const ProgressCallback& progress,
                                                 const std::function<void(const std::string&)>& on_fallback) {
  std::vector<ReconResult> results;
  if (volumes.front().series)
    results = series_results(volumes, progress, on_fallback);
  else
    for (const auto& volume : volumes) results.push_back((*this)(volume.scan, progress, on_fallback));
  for (std::size_t v = 0; v < volumes.size(); ++v)
    if (volumes[v].number == delay_check_.volume)
      warn_of_scan(volumes[v].scan, results[v].reconstruction.report);
  return results;
}

std::vector<ReconResult> ReconEngine::frames(const Scan& scan, const FrameLayout& layout,
                                             const ProgressCallback& progress,
                                             const std::function<void(const std::string&)>& on_fallback) {
  auto warnings = beside([this, &scan] { return warnings_of(scan); });
  const bool needs_sizes = tells_sizes_ || (rates_ && host_rates_);
  auto sizes = beside([&] { return needs_sizes ? sizes_of(scan, settings_) : ScanSizes{}; });
  auto made =
      with_fallback(on_fallback, [&] { return (*reconstructor_)(scan, layout, progress); });
  std::vector<ReconResult> results(made.size());
  made.front().report.warnings = warnings.get();
  if (needs_sizes) results.front().sizes = sizes.get();
  if (needs_sizes) predict_frames(*results.front().sizes, layout, made);
  for (std::size_t frame = 0; frame < made.size(); ++frame) {
    Report& report = made[frame].report;
    if (!fallback_.empty()) report.notes.push_back(fallback_);
    if (report.verdict) suspect(scan, false, report);
    if (made[frame].gridded) results[frame].gridded = std::move(*made[frame].gridded);
    say_in_words_of_options(report);
    results[frame].reconstruction = std::move(made[frame]);
  }
  warn_of_scan(scan, results.front().reconstruction.report);
  return results;
}

std::shared_ptr<const Preparation> ReconEngine::preparation_of(SliceSeries& series) {
  return series.preparation([&](const Scan& reference) { return reconstructor_->prepare(reference); });
}

std::int64_t ReconEngine::volumes_at_once(SliceSeries& series) {
  return preparation_of(series)->volumes_at_once;
}

std::vector<ReconResult> ReconEngine::series_results(
    const std::vector<ReadVolume>& volumes, const ProgressCallback& progress,
    const std::function<void(const std::string&)>& on_fallback) {
  SliceSeries& series = *volumes.front().series;
  const auto preparation = preparation_of(series);
  std::vector<const Scan*> scans;
  for (const auto& volume : volumes) scans.push_back(&volume.scan);
  std::vector<std::vector<std::string>> warnings(scans.size());
  auto inspected = beside([&] {
    for_each_in_parallel(scans.size(), [&](std::size_t v) { warnings[v] = warnings_of(*scans[v], series); });
  });
  auto made = with_fallback(on_fallback,
                            [&] { return reconstructor_->reconstruct(preparation, scans, progress); });
  inspected.get();
  std::vector<ReconResult> results(made.size());
  if (volumes.front().is_first && tells_sizes_)
    results.front().sizes =
        on_larger_matrix(sizes_of(series.reference()), preparation->scan().geometry.matrix_size);
  for (std::size_t v = 0; v < made.size(); ++v) {
    Report& report = made[v].report;
    if (!fallback_.empty()) report.notes.push_back(fallback_);
    report.warnings.insert(report.warnings.end(), warnings[v].begin(), warnings[v].end());
    if (volumes[v].is_first) {  // what was done once
      const Report& once = preparation->report;
      report.stages.insert(report.stages.begin(), once.stages.begin(), once.stages.end());
      report.seconds += once.seconds;
    }
    if (report.verdict) suspect(*scans[v], volumes[v].is_first, report);
    if (made[v].gridded) results[v].gridded = std::move(*made[v].gridded);
    say_in_words_of_options(report);
    results[v].reconstruction = std::move(made[v]);
  }
  return results;
}

ReconResult ReconEngine::elsewhere(SliceSeries& series, const Scan& volume, const ProgressCallback& progress,
                                   const std::function<void(const std::string&)>& on_fallback) {
  const auto preparation = preparation_of(series);
  auto warnings = beside([this, &volume, &series] { return warnings_of(volume, series); });
  ReconResult result;
  result.reconstruction = with_fallback(on_fallback, [&] {
    return std::move(reconstructor_->reconstruct(preparation, {&volume}, progress).front());
  });
  Report& report = result.reconstruction.report;
  if (!fallback_.empty()) report.notes.push_back(fallback_);
  for (auto& warning : warnings.get()) report.warnings.push_back(std::move(warning));
  if (report.verdict) suspect(volume, false, report);
  say_in_words_of_options(report);
  return result;
}

std::string in_one_line(const Finding& finding) {
  return finding.what + (finding.remedy.empty() ? "" : " Remedy: " + finding.remedy + ".");
}

namespace {

std::int64_t readout_length_of(const Scan& scan) {
  return validation::readout_length(validation::readout_starts(scan.trajectory));
}

/// What is probably wrong.
std::vector<std::string> warnings_among(const std::vector<Finding>& findings) {
  std::vector<std::string> warnings;
  for (const auto& finding : findings)
    if (finding.severity >= Severity::warning) warnings.push_back(in_one_line(finding));
  return warnings;
}

bool warns_of_delays(const Report& report) {
  return std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& warning) {
    return warning.starts_with(gradient_delays) || warning.find(delayed_readouts) != std::string::npos;
  });
}

/// What a delay alone brings about says nothing of the object.
void leave_out_hints_of_delays(Report& report) {
  if ((report.verdict && report.verdict->cause.starts_with(validation::delay_cause)) ||
      warns_of_delays(report))
    std::erase_if(report.warnings,
                  [](const std::string& warning) { return warning.starts_with(beyond_fov); });
}

}  // namespace

std::vector<std::string> ReconEngine::warnings_of(const Scan& scan) const {
  const trace::Span span("input doctor", "check");
  return warnings_among(diagnose(scan, readout_length_of(scan), looks_beyond_fov(settings_)));
}

/// Of a volume of a series.
std::vector<std::string> ReconEngine::warnings_of(const Scan& scan, SliceSeries& series) const {
  const trace::Span span("input doctor", "check");
  auto warnings = series.warnings([](const Scan& reference) {
    return warnings_among(diagnose_sampling(reference, readout_length_of(reference)));
  });
  const auto of_values =
      warnings_among(diagnose_values(scan, readout_length_of(scan), looks_beyond_fov(settings_)));
  warnings.insert(warnings.end(), of_values.begin(), of_values.end());
  return warnings;
}

void ReconEngine::warn_of_scan(const Scan& scan, Report& report) const {
  warn_of_delays(scan, report);
  report.warnings.insert(report.warnings.end(), scan_warnings_.begin(), scan_warnings_.end());
}

void ReconEngine::warn_of_delays(const Scan& scan, Report& report) const {
  constexpr double well_explained = 0.005;
  const bool takes_long = delay_check_.is_sparing || scan.geometry.matrix_size[2] > 1;
  const bool is_unexplained = report.verdict && !(report.verdict->unexplained <= well_explained);
  if (delay_check_.are_sought || warns_of_delays(report) || (takes_long && !is_unexplained)) return;
  const trace::Span span("gradient delays", "check");
  const auto begin = std::chrono::steady_clock::now();
  const auto starts = validation::readout_starts(scan.trajectory);
  if (may_be_delayed(scan, starts))
    if (const auto found = diagnose_delays(scan, validation::readout_length(starts));
        found.severity == Severity::warning)
      report.warnings.push_back(in_one_line(found));
  leave_out_hints_of_delays(report);
  report.seconds += seconds_since(begin);
}

/// What the verdict does not explain becomes a suspicion, with the likeliest cause.
void ReconEngine::suspect(const Scan& scan, bool seeks, Report& report) const {
  Verdict& verdict = *report.verdict;
  leave_out_hints_of_delays(report);
  using Judgement = Verdict::Judgement;
  if (verdict.judgement != Judgement::unexplained && verdict.judgement != Judgement::varies) return;
  if (verdict.cause.empty() && seeks && seeks_causes_) {
    const auto begin = std::chrono::steady_clock::now();
    verdict.cause =
        validation::likeliest_cause(scan, settings_.coils, std::max(15.0, report.seconds)).value_or("");
    add_stage(report, "search of a cause", seconds_since(begin));
  }
  if (verdict.judgement == Judgement::varies) {
    if (verdict.cause.empty()) return;
    verdict.judgement = Judgement::unexplained;  // it is not the contrast that varies
  }
  std::string cause = verdict.cause;
  if (cause.starts_with(validation::delay_cause)) {
    leave_out_hints_of_delays(report);  // the cause may just have been found
    cause += delay_check_.are_sought
                 ? ", which --trajectory-correction auto does not find: give it as X,Y in samples"
                 : " (--trajectory-correction auto)";
  }
  if (cause == validation::folding_cause) cause += " (--map-sets auto)";
  report.suspicions.push_back(verdict.sentence + (cause.empty()
                                                      ? "; unit, trajectory, maps, calibration or motion?"
                                                      : "; likeliest cause: " + cause));
}

/// The image is there, and stays where its noise cannot be told: a note, no doubt (--strict).
void ReconEngine::add_noise_maps(const Scan& scan, const ProgressCallback& progress,
                                 const std::function<void(const std::string&)>& on_fallback,
                                 ReconResult& result) {
  Report& report = result.reconstruction.report;
  const bool fell_back = !fallback_.empty();
  try {
    auto made = with_fallback(on_fallback, [&] {
      return noise_maps(result.reconstruction, scan, settings_, execution_, *noise_map_,
                        services_.trajectory_cache, progress);
    });
    result.noise = std::move(made.maps);
    add_stage(report, "noise map", made.summary.seconds);
    for (auto& note : made.notes) report.notes.push_back(std::move(note));
    report.noise_summary = std::move(made.summary);
  } catch (const Error& error) {
    report.notes.push_back(std::string("the maps of the noise were not made: ") + error.what());
  }
  if (!fell_back && !fallback_.empty()) report.notes.push_back("noise map: " + fallback_);
}

/// The gridded image of the coils as they were used, where the reconstruction has made none: without maps, or by a team.
Image ReconEngine::companion_image(const Scan& scan, const ProgressCallback& progress, Report& report) {
  Reconstruction gridded;
  if (!companion_) make_companion(execution_.device);
  try {
    gridded = (*companion_)(scan, progress);
  } catch (const DeviceError&) {  // the reconstruction left too little of the GPU's memory
    make_companion(Device::cpu());
    gridded = (*companion_)(scan, progress);
  }
  add_stage(report, "gridded image", gridded.report.seconds);
  report.trajectory_hits += gridded.report.trajectory_hits;
  return std::move(gridded.image);
}

std::string solution_line(const Report& report) {
  std::string line;
  for (const auto& stage : report.stages)
    line += fmt::format("{}{} {:.2f} s", line.empty() ? "" : ", ", stage.name, stage.seconds);
  if (!report.relative_residuals.empty())
    line += fmt::format("; {} iterations, residual {:.1e}{}, |F rho - d| / |d| = {:.3f}",
                        report.relative_residuals.size() - 1, report.relative_residuals.back(),
                        report.converged ? "" : " (stopped by --iterations)", report.data_residual);
  return line;
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

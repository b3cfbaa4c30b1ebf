#include "app/run/recon_engine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "app/run/machine_rates.hpp"
#include "recon/array/thread_limit.hpp"
#include "validation/certificate.hpp"

namespace fhd::app {

VolumeGroup VolumeGroup::of(const std::vector<ReadVolume>& read, const ScanChecks& checks,
                            std::size_t standing_for_scan) {
  VolumeGroup group{{}, read.front().series, read.front().is_first};
  group.checks = checks;
  for (const auto& volume : read) {
    if (volume.number == standing_for_scan) group.checked = group.volumes.size();
    group.volumes.push_back(&volume.scan);
  }
  return group;
}

ReconEngine::ReconEngine(const Settings& settings, const Execution& execution, const ChosenDevice& device,
                         std::shared_ptr<TrajectoryCache> cache, const EngineOptions& options,
                         std::shared_ptr<const DeviceTeam> team)
    : settings_(settings),
      options_(options),
      execution_(execution),
      services_{std::move(cache), validation::make_verifier(), {}},
      gpu_name_(device.description.name),
      may_fall_back_(device.automatic && device.device.is_cuda()),
      team_(std::move(team)) {
  if (options.gridded_image) companion_settings_ = companion_settings(settings);
  if (companion_settings_)
    services_.gridded_accuracy = std::get<ConventionalGridding>(companion_settings_->method).accuracy;
  execution_.device = device.device;
  read_rates();
  make_reconstructors();
}

/// Reads rates that are known; measuring them takes longer than a small scan.
void ReconEngine::read_rates() {
  rates_ = known_rates(execution_.device, gpu_name_);
  host_rates_ = known_rates(Device::cpu());
}

void ReconEngine::make_reconstructors() {
  reconstructor_.emplace(settings_, execution_, services_);
  companion_.reset();
  if (!team_) return;
  // Each rank has the same number of threads: what rounds otherwise with another number must not.
  const int all = execution_.threads > 0 ? execution_.threads : omp_get_max_threads();
  const int threads = std::max(1, all / team_->size());
  for (int rank = 0; rank < team_->size(); ++rank)
    of_rank_.emplace_back(settings_, Execution{team_->device(rank), threads, team_->group(rank)}, services_);
}

// --- Where the work is done

/// Returns the result of work(), which another thread does while this one leads a GPU; on the CPU it is done by whoever
/// waits for it.
template <class Work>
auto ReconEngine::on_host(Work work) const {
  const int threads = execution_.threads > 0 ? execution_.threads : omp_get_max_threads();
  constexpr auto any = std::launch::async | std::launch::deferred;  // deferred where the system starts no thread
  return std::async(execution_.device.is_cuda() ? any : std::launch::deferred,
                    [threads, work = std::move(work)] {
                      const ThreadLimit limit(threads);
                      return work();
                    });
}

/// Returns work(), done on the CPU where the GPU fails and the user left the choice.
template <class Work>
auto ReconEngine::with_fallback(const RunEvents& events, const Work& work) {
  try {
    return work();
  } catch (const DeviceError& error) {
    if (!may_fall_back_) throw;
    may_fall_back_ = false;
    fallback_ = std::string("computed on the CPU, because the GPU failed: ") + error.what();
    events.fallback(error.what());
    execution_.device = Device::cpu();
    read_rates();
    make_reconstructors();
  }
  return work();
}

/// Reconstructs a scan by all devices of a team, where they can share it.
Reconstruction ReconEngine::by_team(const Scan& scan, const ProgressCallback& progress) {
  const int size = team_->size();
  if (const auto obstacle = obstacle_to_group(settings_, scan, size); !obstacle.empty()) {
    auto made = (*reconstructor_)(scan, progress);
    made.report.messages.push_back(
        {"device", Severity::note, fmt::format("one of {} GPUs computes: they cannot share {}", size, obstacle)});
    return made;
  }
  Reconstruction made;
  team_->run([&](int rank) {
    auto mine = of_rank_[static_cast<std::size_t>(rank)](scan, rank == 0 ? progress : ProgressCallback{});
    if (rank == 0) made = std::move(mine);
  });
  made.report.messages.push_back(
      {"device", Severity::note,
       fmt::format("{} GPUs share samples and coils", size)});
  return made;
}

std::vector<Reconstruction> ReconEngine::reconstructions_of(const VolumeGroup& group,
                                                            const ProgressCallback& progress) {
  const Scan& first = *group.volumes.front();
  if (group.frames) return (*reconstructor_)(first, *group.frames, progress);
  if (group.series) return reconstructor_->reconstruct(preparation_of(*group.series), group.volumes, progress);
  std::vector<Reconstruction> made;
  made.push_back(team_ ? by_team(first, progress) : (*reconstructor_)(first, progress));
  return made;
}

std::shared_ptr<const Preparation> ReconEngine::preparation_of(SliceSeries& series) {
  return series.preparation([&](const Scan& reference) { return reconstructor_->prepare(reference); });
}

/// Returns the matrix on which the first image was reconstructed.
std::array<int, 3> ReconEngine::matrix_used(const VolumeGroup& group, const Reconstruction& made) {
  if (group.series) return preparation_of(*group.series)->scan().geometry.matrix_size;
  return (made.prepared ? *made.prepared : *group.volumes.front()).geometry.matrix_size;
}

std::int64_t ReconEngine::volumes_at_once(SliceSeries& series) {
  return preparation_of(series)->volumes_at_once;
}

// --- Images

namespace {

/// Adds what was done once for a series to the report of its first volume.
void add_preparation(const Report& once, Report& report) {
  report.stages.insert(report.stages.begin(), once.stages.begin(), once.stages.end());
  report.seconds += once.seconds;
}

}  // namespace

std::vector<ReconResult> ReconEngine::operator()(const VolumeGroup& group, const RunEvents& events) {
  const Scan& first = *group.volumes.front();
  const bool is_alone = !group.series && !group.frames;
  if (is_alone && options_.noise_map) require_noise_maps_can(*options_.noise_map, settings_, first);
  // The scan alone decides these: a thread finds them while the GPU works; the CPU finds them after its own work.
  auto warnings = on_host([this, &group] { return warnings_of(group.volumes, group.series.get(), settings_); });
  auto sizes = on_host([this, &group] { return sizes_of_group(group); });
  auto made = with_fallback(events, [&] { return reconstructions_of(group, events.progress); });
  const auto begin = std::chrono::steady_clock::now();
  const auto found = warnings.get();
  made.front().report.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto known_sizes = sizes.get();
  if (known_sizes && !group.frames)
    known_sizes = on_larger_matrix(*known_sizes, matrix_used(group, made.front()));
  if (known_sizes && group.planned_volumes > 0) report_cost(*known_sizes, group, events);
  std::vector<ReconResult> results(made.size());
  if (group.begins_series) add_preparation(preparation_of(*group.series)->report, made.front().report);
  for (std::size_t i = 0; i < made.size(); ++i) {
    Report& report = made[i].report;
    if (!fallback_.empty()) report.messages.push_back({"device", Severity::note, fallback_});
    if (i < found.size()) report.messages.insert(report.messages.end(), found[i].begin(), found[i].end());
    const bool seeks = options_.seeks_causes && (is_alone || (group.begins_series && i == 0));
    suspect(*group.volumes[group.frames ? 0 : i], settings_.coils, group.checks, seeks, report);
    if (made[i].gridded) results[i].gridded = std::move(*made[i].gridded);
    results[i].reconstruction = std::move(made[i]);
  }
  if (is_alone) add_companions(first, events, results.front());
  if (known_sizes && can_predict(group)) predict_stages(*known_sizes, group, results);
  for (auto& result : results) result.reconstruction.prepared.reset();
  if (group.checked)
    check_scan(*group.volumes[*group.checked], group.checks, results[*group.checked].reconstruction.report);
  return results;
}

/// Adds what accompanies the image of a volume by itself.
void ReconEngine::add_companions(const Scan& scan, const RunEvents& events, ReconResult& result) {
  const auto& prepared = result.reconstruction.prepared;
  const Scan& used = prepared ? *prepared : scan;
  if (companion_settings_ && !result.gridded)
    result.gridded = companion_image(used, events.progress, result.reconstruction.report);
  if (options_.noise_map) add_noise_maps(scan, events, result);
}

/// Adds noise maps. The image stays where its noise cannot be known: a note says so, and --strict does not mind.
void ReconEngine::add_noise_maps(const Scan& scan, const RunEvents& events, ReconResult& result) {
  Report& report = result.reconstruction.report;
  const bool fell_back = !fallback_.empty();
  try {
    auto made = with_fallback(events, [&] {
      return noise_maps(result.reconstruction, scan, settings_, execution_, *options_.noise_map,
                        services_.trajectory_cache, events.progress);
    });
    result.noise = std::move(made.maps);
    add_stage(report, "noise map", made.summary.seconds);
    for (auto& message : made.messages) report.messages.push_back(std::move(message));
    report.noise_summary = std::move(made.summary);
  } catch (const Error& error) {
    report.messages.push_back(
        {"noise_map", Severity::note, std::string("the maps of the noise were not made: ") + error.what()});
  }
  if (!fell_back && !fallback_.empty()) report.messages.push_back({"device", Severity::note, "noise map: " + fallback_});
}

/// Makes the reconstructor of gridded images: by one process, without a certificate.
void ReconEngine::make_companion(Device device) {
  companion_.emplace(*companion_settings_, Execution{device, execution_.threads},
                     Services{services_.trajectory_cache});
}

/// Returns the gridded image of the coils as they were used, where the reconstruction has made none: without maps, or by a
/// team.
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

}  // namespace fhd::app

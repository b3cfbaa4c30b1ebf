#include "app/run/recon_engine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "app/run/scan_cost.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/array/trace.hpp"
#include "recon/pipeline/outside_fov.hpp"
#include "recon/pipeline/prepare.hpp"
#include "recon/pipeline/tone.hpp"
#include "recon/trajectory/gradient_delays.hpp"
#include "validation/certificate.hpp"
#include "validation/doctor/diagnosis.hpp"
#include "validation/verdict/causes.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/raw_samples.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::int64_t readout_length_of(const Scan& scan) {
  return validation::readout_length(validation::readout_starts(scan.trajectory));
}

/// Returns what is probably wrong.
std::vector<Message> warnings_among(const std::vector<Message>& findings) {
  std::vector<Message> warnings;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(warnings), is_doubt);
  return warnings;
}

bool warns_of_delays(const Report& report) {
  return holds(report.messages, codes::delays, Severity::warning);
}

/// Removes warnings of an object beyond the FOV where a delay alone may bring them about.
void leave_out_hints_of_delays(Report& report) {
  const bool is_delayed =
      report.verdict && report.verdict->cause && report.verdict->cause->code == codes::delays;
  if (is_delayed || warns_of_delays(report))
    std::erase_if(report.messages, [](const Message& message) {
      return message.code == codes::outside_fov && message.severity == Severity::warning;
    });
}

bool takes_long_to_seek_delays(const Scan& scan, const ScanChecks& checks) {
  return checks.is_sparing || scan.geometry.matrix_size[2] > 1;
}

/// `delayed`: the warning of delays, or nothing.
void warn_of_delays(const Scan& scan, const ScanChecks& checks, std::future<std::optional<Message>>& delayed,
                    Report& report) {
  constexpr double well_explained = 0.005;
  const bool is_unexplained = report.verdict && !(report.verdict->unexplained <= well_explained);
  const bool is_known = report.verdict && report.verdict->cause;  // the verdict has tested delays
  if (checks.delays_are_corrected || warns_of_delays(report) || is_known ||
      (takes_long_to_seek_delays(scan, checks) && !is_unexplained))
    return;
  const auto begin = Clock::now();
  if (auto found = delayed.get()) report.messages.push_back(std::move(*found));
  leave_out_hints_of_delays(report);
  report.seconds += seconds_since(begin);
}

/// Returns the warning of gradient delays; nothing where there are none.
std::optional<Message> delays_in(const Scan& scan) {
  const trace::Span span("gradient delays", "check");
  const auto starts = validation::readout_starts(scan.trajectory);
  if (!may_be_delayed(scan, starts)) return {};
  auto found = diagnose_delays(scan, validation::readout_length(starts));
  return found.severity == Severity::warning ? std::optional(std::move(found)) : std::nullopt;
}

/// Returns the warnings of each volume; volumes of a series share those of their positions. `known`: the positions of the scan
/// before, which are replaced where they are others.
std::vector<std::vector<Message>> warnings_of(const std::vector<const Scan*>& volumes, SliceSeries* series,
                                              const Settings& settings,
                                              std::optional<SampledPositions>& known) {
  const trace::Span span("input doctor", "check");
  const bool looked_beyond_fov = looks_beyond_fov(settings);
  const Scan& reference = series ? series->reference : *volumes.front();
  if (!known || !known->are_of(reference)) known.emplace(reference, readout_length_of(reference));
  const auto of_sampling = [&] { return warnings_among(diagnose_sampling(reference, *known)); };
  std::vector<std::vector<Message>> all(volumes.size(),
                                        series ? series->warnings.get(of_sampling) : of_sampling());
  for_each_in_parallel(volumes.size(), [&](std::size_t v) {
    const Scan& volume = *volumes[v];
    std::optional<SampledPositions> own;  // volumes with maps of the whole series may have others
    if (!known->are_of(volume)) own.emplace(volume, readout_length_of(volume));
    const auto of_values = warnings_among(diagnose_values(volume, own ? *own : *known, looked_beyond_fov));
    all[v].insert(all[v].end(), of_values.begin(), of_values.end());
    leave_out_consequences(all[v]);
  });
  constexpr std::int64_t most_kept = 1 << 18;  // samples: some 13 MiB; an image of more takes far longer than this
  if (reference.trajectory.sample_count() > most_kept) known.reset();
  return all;
}

/// Adds a stage that followed a reconstruction.
void add_stage(Report& report, const std::string& name, double seconds) {
  // The report of a volume of a series has a share of the time, and no place among the other stages.
  const bool has_place = std::none_of(report.stages.begin(), report.stages.end(),
                                      [](const Stage& stage) { return stage.spans.empty(); });
  report.stages.push_back({name, seconds});
  if (has_place) report.stages.back().spans.push_back({report.seconds, seconds});
  report.seconds += seconds;
}

/// Adds a suspicion, with the likeliest cause, where the verdict of an image does not explain its data. `seeks_cause`: the
/// cause is sought, which may take many seconds.
void suspect(const Scan& scan, const Settings& settings, const ScanChecks& checks, bool seeks_cause,
             Report& report) {
  using Judgement = Verdict::Judgement;
  if (!report.verdict) return;
  Verdict& verdict = *report.verdict;
  const bool maps_are_given =
      scan.calibration || (scan.sensitivity_maps && !asks_to_find(settings.coils.maps));
  if (!maps_are_given && report.converged) validation::drop_what_maps_follow(verdict);
  // The default is strong where a first image leaves much of the samples, as with a mistake.
  const LeastSquares* const method = least_squares(settings);
  const bool lambda_is_given = method && (std::holds_alternative<OfLargestEigenvalue>(method->lambda) ||
                                          std::holds_alternative<OfMeanEigenvalue>(method->lambda));
  if (lambda_is_given && report.largest_eigenvalue > 0)
    validation::excuse_strong_lambda(report.lambda / report.largest_eigenvalue, verdict);
  const bool is_alarm = verdict.judgement == Judgement::unexplained || verdict.judgement == Judgement::varies,
             is_ordinary = verdict.judgement == Judgement::ordinary;
  auto evident = is_alarm || (is_ordinary && seeks_cause) ? validation::cause_in_raw_samples(scan, is_alarm)
                                                          : std::nullopt;
  if (evident) {
    validation::blame(std::move(*evident), verdict);
  } else if (seeks_cause && validation::calls_for_a_cause(verdict)) {
    const auto begin = Clock::now();
    auto cause = validation::likeliest_cause(scan, settings.coils, verdict.cause, is_alarm);
    if (cause)
      validation::blame(std::move(*cause), verdict);
    else
      validation::drop_order(verdict);
    add_stage(report, "search of a cause", seconds_since(begin));
  }
  if (!verdict.cause)
    if (auto lossy = validation::lost_weak_samples(scan)) validation::blame(std::move(*lossy), verdict);
  if (seeks_cause && verdict.judgement == Judgement::unexplained && !verdict.cause)
    if (auto left = validation::cause_by_elimination(scan)) validation::blame(std::move(*left), verdict);
  if (verdict.judgement != Judgement::unexplained) return;
  const auto& cause = verdict.cause;
  const bool are_virtual_coils = std::ssize(verdict.by_coil) != scan.kspace.coil_count() ||
                                 std::ranges::any_of(report.settings, [](const auto& setting) {
                                   return setting.first == "virtual coils";
                                 });
  using Maps = validation::RemedyFacts::Maps;
  const validation::RemedyFacts facts{checks.delays_are_corrected,
                                      scan.calibration ? Maps::calibrated
                                      : maps_are_given ? Maps::given
                                                       : Maps::found,
                                      are_virtual_coils, checks.is_corrected,
                                      sample_clock(scan.sample_time_s, scan.trajectory).dwell_s};
  report.messages.push_back(
      {"verdict", Severity::suspicion,
       verdict.sentence + (cause ? "" : "; unit, trajectory, maps, calibration or motion?"),
       cause ? validation::remedy_of_cause(*cause, facts) : ""});
}

}  // namespace

ReconEngine::ReconEngine(const Settings& settings, const Execution& execution, const ChosenDevice& device,
                         std::shared_ptr<TrajectoryCache> cache, const EngineOptions& options,
                         std::shared_ptr<const DeviceTeam> team)
    : settings_(settings),
      options_(options),
      execution_(execution),
      services_{std::move(cache), validation::make_verifier(), {}},
      may_fall_back_(device.automatic && device.device.is_cuda()),
      team_(std::move(team)) {
  if (options.gridded_image) companion_settings_ = companion_settings(settings);
  if (companion_settings_)
    services_.gridded_accuracy = std::get<ConventionalGridding>(companion_settings_->method).accuracy;
  execution_.device = device.device;
  make_reconstructors();
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

/// Throws the error of a reconstruction that failed; where the samples of the file show why, that they do.
[[noreturn]] void explain_failure(const Error& error, const Scan& scan) {
  if (error.kind() == ErrorKind::failed || error.kind() == ErrorKind::input)
    if (const auto why = validation::cause_in_raw_samples(scan, true))
      throw Error("k-space", "", why->text, validation::remedy_of_cause(*why, {}), error.kind());
  throw;
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
    events.on_fallback(error.what());
    execution_.device = Device::cpu();
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
        {"device", Severity::note,
         fmt::format("one of {} GPUs computes: they cannot share {}", size, obstacle)});
    return made;
  }
  Reconstruction made;
  team_->run([&](int rank) {
    auto mine = of_rank_[static_cast<std::size_t>(rank)](scan, rank == 0 ? progress : ProgressCallback{});
    if (rank == 0) made = std::move(mine);
  });
  made.report.messages.push_back(
      {"device", Severity::note, fmt::format("{} GPUs share samples and coils", size)});
  return made;
}

std::vector<Reconstruction> ReconEngine::reconstructions_of(const VolumeGroup& group,
                                                            const ProgressCallback& progress) {
  const Scan& first = *group.volumes.front();
  if (group.frames) return (*reconstructor_)(first, *group.frames, progress);
  if (group.series)
    return reconstructor_->reconstruct(preparation_of(*group.series), group.volumes, progress);
  std::vector<Reconstruction> made;
  made.push_back(team_ ? by_team(first, progress) : (*reconstructor_)(first, progress));
  return made;
}

std::shared_ptr<const Preparation> ReconEngine::preparation_of(SliceSeries& series) {
  return series.preparation.get(
      [&] { return reconstructor_->prepare(series.reference, {}, series.first ? &*series.first : nullptr); });
}

std::int64_t ReconEngine::volumes_at_once(SliceSeries& series) {
  return preparation_of(series)->volumes_at_once;
}

// --- Images

std::vector<ReconResult> ReconEngine::operator()(const VolumeGroup& group, const RunEvents& events) {
  const Scan& first = *group.volumes.front();
  const bool is_alone = !group.series && !group.frames;
  if (is_alone && options_.noise_map) require_noise_maps_can(*options_.noise_map, settings_, first);
  // The scan alone decides them: a thread finds them while the GPU works; the CPU finds them after its own work.
  const int threads = execution_.threads > 0 ? execution_.threads : omp_get_max_threads();
  constexpr auto any =
      std::launch::async | std::launch::deferred;  // deferred where the system starts no thread
  const bool has_gpu = execution_.device.is_cuda();
  auto warnings = std::async(has_gpu ? any : std::launch::deferred, [&, threads] {
    const ThreadLimit limit(threads);
    return warnings_of(group.volumes, group.series.get(), settings_, positions_);
  });
  const Scan* const checked = group.checked ? group.volumes[*group.checked] : nullptr;
  const bool seeks_ahead = has_gpu && checked && !group.checks.delays_are_corrected &&
                           !takes_long_to_seek_delays(*checked, group.checks);
  auto delayed = std::async(seeks_ahead ? any : std::launch::deferred, [checked, threads] {
    const ThreadLimit limit(threads);
    return delays_in(*checked);
  });
  auto made = with_fallback(events, [&] {
    try {
      return reconstructions_of(group, events.progress);
    } catch (const Error& error) {
      explain_failure(error, first);
    }
  });
  const auto begin = Clock::now();
  const auto found = warnings.get();
  made.front().report.seconds += seconds_since(begin);
  if (group.begins_series) {  // what was done once for it
    const Report& once = preparation_of(*group.series)->report;
    Report& report = made.front().report;
    report.stages.insert(report.stages.begin(), once.stages.begin(), once.stages.end());
    report.seconds += once.seconds;
    for (const auto& message : once.messages) add_once(report.messages, message);
  }
  std::vector<ReconResult> results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    Report& report = results.emplace_back(std::move(made[i])).reconstruction.report;
    if (!fallback_.empty()) report.messages.push_back({"device", Severity::note, fallback_});
    if (i < found.size()) report.messages.insert(report.messages.end(), found[i].begin(), found[i].end());
    const bool seeks = options_.seeks_causes && (is_alone || (group.begins_series && i == 0));
    suspect(*group.volumes[group.frames ? 0 : i], settings_, group.checks, seeks, report);
    if (report.verdict) leave_out_hints_of_delays(report);
  }
  auto& front = results.front().reconstruction;
  if (is_alone && companion_settings_ && !front.gridded)
    front.gridded = companion_image(front.prepared ? *front.prepared : first, events.progress, front.report);
  if (is_alone && options_.noise_map) add_noise_maps(first, events, results.front());
  for (auto& result : results) result.reconstruction.prepared.reset();
  if (group.checked) {
    Report& report = results[*group.checked].reconstruction.report;
    warn_of_delays(*checked, group.checks, delayed, report);
    report.messages.insert(report.messages.end(), group.checks.warnings.begin(), group.checks.warnings.end());
  }
  return results;
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
  if (!fell_back && !fallback_.empty())
    report.messages.push_back({"device", Severity::note, "noise map: " + fallback_});
}

/// Returns the gridded image of the coils as they were used, where the reconstruction has made none: without maps, or by a
/// team.
Image ReconEngine::companion_image(const Scan& scan, const ProgressCallback& progress, Report& report) {
  const auto make = [&](Device device) {  // by one process, without a certificate
    companion_.emplace(*companion_settings_, Execution{device, execution_.threads},
                       Services{services_.trajectory_cache});
  };
  Reconstruction gridded;
  if (!companion_) make(execution_.device);
  try {
    gridded = (*companion_)(scan, progress);
  } catch (const DeviceError&) {  // the reconstruction left too little of the GPU's memory
    make(Device::cpu());
    gridded = (*companion_)(scan, progress);
  }
  add_stage(report, "gridded image", gridded.report.seconds);
  report.trajectory_hits += gridded.report.trajectory_hits;
  return std::move(gridded.image);
}

}  // namespace fhd::app

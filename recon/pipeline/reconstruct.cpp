#include "recon/pipeline/reconstruct.hpp"

#include <algorithm>
#include <utility>

#include "recon/array/equality.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/volumes.hpp"

namespace fhd {

struct Reconstructor::State {
  Settings settings;
  Execution execution;
  Services services;
  Cache<float> in_single{};
  Cache<double> in_double{};
  CalibrationCache calibrations{};

  State(const Settings& all, const Execution& where, const Services& helpers)
      : settings(all), execution(where), services(helpers) {
    validate(settings);
    execution.device = device_for(settings, execution.device);
  }
  /// Returns work(cache), in the precision of the settings.
  template <class Work>
  auto in_precision(const Work& work) {
    return settings.precision == Precision::single_precision ? work(in_single) : work(in_double);
  }
  Reconstruction one(const Scan& scan, const Settings& used, const ProgressCallback& progress);
  Reconstruction elsewhere(const Preparation& preparation, const Scan& volume,
                           const ProgressCallback& progress);
  std::vector<Reconstruction> together(const std::shared_ptr<const Preparation>& preparation,
                                       const std::vector<const Scan*>& volumes,
                                       const ProgressCallback& progress);
  std::vector<Reconstruction> judged_beside(const std::shared_ptr<const Preparation>& preparation,
                                            const std::vector<const Scan*>& volumes,
                                            const ProgressCallback& progress);
  std::vector<Reconstruction> frames(const Scan& scan, const FrameLayout& layout,
                                     const ProgressCallback& progress);
};

namespace {

/// Returns the image with the axes and the geometry of the volume as measured, on its own matrix.
Image as_measured(Image image, const Preparation& preparation, const Scan& volume) {
  image = in_order(inverse(preparation.order), std::move(image));
  const auto [matrix_size, fov_mm] = std::pair(image.geometry.matrix_size, image.geometry.fov_mm);
  image.geometry = volume.geometry;
  image.geometry.matrix_size = matrix_size, image.geometry.fov_mm = fov_mm;
  return image;
}

/// Reports where sparse terms made an image far brighter than least squares do.
void report_hot_spot(Report& report, const Preparation& preparation, const Scan& volume) {
  auto& spot = report.hot_spot;
  if (!spot) return;
  spot->voxel = in_order(inverse(preparation.order), spot->voxel);
  const auto& n = volume.geometry.matrix_size;
  for (int axis = 0; axis < 3; ++axis)
    if (spot->voxel[axis] < 0 || spot->voxel[axis] >= n[axis]) return;  // beyond the image
  std::string place, terms;
  for (const int at : spot->voxel) place += (place.empty() ? "voxel (" : ", ") + std::to_string(at);
  for (const auto& term : report.terms) terms += (terms.empty() ? "" : ",") + term.name;
  report.messages.push_back(
      {"hot_spot", Severity::suspicion,
       "at " + place + ") " + terms + (spot->is_held ? " let the image grow to " : " makes the image ") +
           short_number(spot->times) + " times the brightest place around it by least squares" +
           (spot->is_held ? ", and an added identity holds it there: " : ": ") +
           "the samples and the sensitivity maps do not determine the image there",
       "look at the sensitivity maps there, find them in another way, such as " +
           option_words("coils", "joint") + ", or take a larger strength",
       "regularizer"});
}

/// Returns images and reports of volumes; frames are of one.
std::vector<Reconstruction> results_of(Images made, const Report& shared, DiagnosticImages diagnostic_images,
                                       const Preparation& preparation,
                                       const std::vector<const Scan*>& volumes) {
  std::vector<Reconstruction> results(made.images.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Scan& volume = *volumes[volumes.size() == 1 ? 0 : i];
    results[i].report = shared;
    if (!made.solved.empty()) static_cast<SolvedVolume&>(results[i].report) = std::move(made.solved[i]);
    report_hot_spot(results[i].report, preparation, volume);
    results[i].image = as_measured(std::move(made.images[i]), preparation, volume);
    if (!made.gridded.empty())
      results[i].gridded = as_measured(std::move(made.gridded[i]), preparation, volume);
  }
  auto& sets = diagnostic_images.set_images;
  const Shape image = results.front().image.values.shape();
  if (!sets.empty()) sets = std::move(sets).reshaped({sets.extent(0), image[0], image[1], image[2]});
  results.front().diagnostic_images = std::move(diagnostic_images);
  return results;
}

/// Returns what was done for all volumes, and for these together, with an equal share of the time. The stages of the
/// preparation are left to the first volume of the series.
Report shared_report(const Report& preparation, const Report& of_all, double seconds, std::size_t volumes) {
  Report report = of_all;
  const auto add_before = [](const auto& first, auto& list) {
    list.insert(list.begin(), first.begin(), first.end());
  };
  add_before(preparation.settings, report.settings);
  add_before(preparation.messages, report.messages);
  for (auto& stage : report.stages) stage = {stage.name, stage.seconds / static_cast<double>(volumes)};
  report.seconds = seconds / static_cast<double>(volumes);
  return report;
}

}  // namespace

Reconstruction Reconstructor::State::one(const Scan& scan, const Settings& used,
                                         const ProgressCallback& progress) {
  refuse_incompatible(features_of(used).with(Feature::one_image));
  scan.validate("scan");
  if (const auto obstacle = obstacle_to_group(used, scan, execution.processes->size()); !obstacle.empty())
    throw Error("a reconstruction by several processes", "a request that they can share", obstacle,
                "run it as one process");
  RunLog log(execution.device, progress);
  const Context context{used, execution, services, log};
  Preparation preparation = fhd::prepare(scan, context, calibrations);
  Images made = in_precision([&](auto& cache) {
    return volume_images(preparation.scan(), {&preparation.scan().kspace}, {}, context, cache);
  });
  Reconstruction result = std::move(
      results_of(std::move(made), log.report, std::move(log.diagnostic_images), preparation, {&scan})
          .front());
  result.report.seconds = log.elapsed_s();
  if (preparation.differs)
    result.prepared = in_order(inverse(preparation.order), std::move(*preparation.changed));
  return result;
}

/// Reconstructs volumes, before them the one beside which they are judged, unless it is the first of them: verdicts are the same
/// in every order.
std::vector<Reconstruction> Reconstructor::State::together(
    const std::shared_ptr<const Preparation>& preparation, const std::vector<const Scan*>& volumes,
    const ProgressCallback& progress) {
  VolumeBeside& beside = *preparation->beside;
  std::unique_lock lock(beside.mutex);
  if (services.verifier && !beside.is_known) {
    const auto &first = volumes.front()->kspace.values, &wanted = beside.measured->kspace.values;
    const bool comes_first =
        first.shape() == wanted.shape() && std::equal(first.begin(), first.end(), wanted.begin());
    auto made = comes_first ? judged_beside(preparation, volumes, progress)
                            : judged_beside(preparation, {beside.measured}, {});
    beside.is_known = true;
    if (comes_first) return made;
  }
  lock.unlock();
  return judged_beside(preparation, volumes, progress);
}

std::vector<Reconstruction> Reconstructor::State::judged_beside(
    const std::shared_ptr<const Preparation>& preparation, const std::vector<const Scan*>& volumes,
    const ProgressCallback& progress) {
  const auto most = static_cast<std::size_t>(preparation->volumes_at_once);
  if (volumes.size() > most)
    throw Error("volumes of a series", "at most " + std::to_string(most), std::to_string(volumes.size()));
  std::vector<std::shared_ptr<const KSpace>> mixed;
  std::vector<const KSpace*> kspace;
  for (const Scan* volume : volumes) {
    mixed.push_back(mixed_kspace(*preparation, *volume, settings.precision == Precision::double_precision));
    kspace.push_back(mixed.back().get());
  }
  RunLog log(execution.device, progress);
  Settings of_series =
      settings;  // lambda does not depend on a volume, nor on how many the device takes together
  auto& lambda = std::get<LeastSquares>(of_series.method).lambda;
  if (std::holds_alternative<StandardLambda>(lambda)) lambda = OfMeanEigenvalue{};
  const Context context{of_series, execution, services, log, &preparation->beside->kept};
  Images made = in_precision([&](auto& cache) {
    return volume_images(preparation->scan(), std::move(kspace), preparation, context, cache);
  });
  const Report shared = shared_report(preparation->report, log.report, log.elapsed_s(), volumes.size());
  auto results = results_of(std::move(made), shared, std::move(log.diagnostic_images), *preparation, volumes);
  for (std::size_t v = 0; v < results.size(); ++v)
    for (const auto& message : volumes[v]->messages) add_once(results[v].report.messages, message);
  return results;
}

Reconstruction Reconstructor::State::elsewhere(const Preparation& preparation, const Scan& volume,
                                               const ProgressCallback& progress) {
  Settings as_prepared = settings;
  as_prepared.coils = CoilSettings::as_they_are();
  as_prepared.outside_fov = OutsideFov::off;
  const Scan alike = prepared_alike(preparation, volume, settings.precision == Precision::double_precision);
  Reconstruction result = one(alike, as_prepared, progress);
  result.prepared.reset();
  return result;
}

namespace {

/// Reports each frame, and what makes the frames doubtful with the first of them.
void report_frames(const FrameLayout& layout, const Scan& scan, std::vector<Reconstruction>& frames) {
  const auto doubt = doubt_of_frames(scan.trajectory, layout);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Report& report = frames[i].report;
    const auto add = [&](const char* name, std::int64_t value) {
      report.settings.emplace_back(name, std::to_string(value));
    };
    add("frames", layout.frames);
    add("readouts per frame", layout.readouts_per_frame);
    if (layout.gate)
      report.settings.emplace_back("gate", layout.gate->source);
    else
      add("readouts from frame to frame", layout.step);
    add("first readout of the frame", layout.first_readout(static_cast<std::int64_t>(i)));
    if (!doubt.empty()) report.messages.push_back({"frames", Severity::suspicion, doubt});
  }
  Report& first = frames.front().report;
  if (layout.gate && !layout.gate->doubt.empty())
    first.messages.push_back({"gating", Severity::suspicion, layout.gate->doubt});
  if (auto gaps = doubt_of_gaps(layout); !gaps.empty())
    first.messages.push_back({"frames", Severity::suspicion, std::move(gaps)});
}

/// Returns frames in a subspace as components, alpha_k = sum over frames of phi_k(t) rho_t, [component][z][y][x].
Array<Complex<float>> components_of(const std::vector<Reconstruction>& frames, const Array<double>& courses) {
  const Shape image = frames.front().image.values.shape();
  const std::int64_t components = courses.extent(0), count = courses.extent(1);
  Array<Complex<float>> sums(Shape{components, image[0], image[1], image[2]});
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < sums.size(); ++i) {
    Complex<double> sum;
    for (std::int64_t t = 0; t < count; ++t)
      sum += courses.data()[i / image.size() * count + t] *
             Complex<double>(frames[t].image.values.data()[i % image.size()]);
    sums.data()[i] = Complex<float>(sum);
  }
  return sums;
}

}  // namespace

std::vector<Reconstruction> Reconstructor::State::frames(const Scan& scan, const FrameLayout& layout,
                                                         const ProgressCallback& progress) {
  scan.validate("scan");
  require_frames_can(scan, layout, settings, execution);
  RunLog preparing(execution.device, progress), log(execution.device, progress);
  const Preparation preparation =
      fhd::prepare(scan, {settings, execution, services, preparing}, calibrations);
  preparing.report.seconds = preparing.elapsed_s();
  const Context context{settings, execution, services, log};
  const TransformSettings transform = decided_transform(preparation.scan(), context);
  describe_settings(transform, context);
  note_openness(frame_of(preparation.scan(), layout, 0), context);
  Images made = settings.precision == Precision::single_precision
                    ? frame_images<float>(preparation.scan(), layout, transform, context)
                    : frame_images<double>(preparation.scan(), layout, transform, context);
  const Report& once = preparing.report;
  const Report shared = shared_report(once, log.report, log.elapsed_s() - once.seconds, made.images.size());
  auto results = results_of(std::move(made), shared, std::move(log.diagnostic_images), preparation, {&scan});
  report_frames(layout, scan, results);
  Report& first = results.front().report;  // what was done once
  first.stages.insert(first.stages.begin(), once.stages.begin(), once.stages.end());
  first.seconds += once.seconds;
  auto& images = results.front().diagnostic_images;
  if (!images.temporal_basis.empty()) images.components = components_of(results, images.temporal_basis);
  return results;
}

Reconstructor::Reconstructor(const Settings& settings, const Execution& execution, const Services& services)
    : state_(new State(settings, execution, services)) {}
Reconstructor::~Reconstructor() = default;
Reconstructor::Reconstructor(Reconstructor&&) noexcept = default;
Reconstructor& Reconstructor::operator=(Reconstructor&&) noexcept = default;

Reconstruction Reconstructor::operator()(const Scan& scan, const ProgressCallback& progress) {
  const ThreadLimit limit(state_->execution.threads);
  return state_->one(scan, state_->settings, progress);
}

std::vector<Reconstruction> Reconstructor::operator()(const Scan& scan, const FrameLayout& layout,
                                                      const ProgressCallback& progress) {
  const ThreadLimit limit(state_->execution.threads);
  return state_->frames(scan, layout, progress);
}

std::shared_ptr<const Preparation> Reconstructor::prepare(const Scan& reference,
                                                          const ProgressCallback& progress,
                                                          const Scan* beside) {
  State& s = *state_;
  const ThreadLimit limit(s.execution.threads);
  reference.validate("scan");
  RunLog log(s.execution.device, progress);
  auto result = std::make_shared<Preparation>(
      fhd::prepare(reference, {s.settings, s.execution, s.services, log}, s.calibrations));
  result->report = std::move(log.report);
  result->report.seconds = log.elapsed_s();
  result->beside->measured = beside ? beside : &reference;
  return result;
}

std::vector<Reconstruction> Reconstructor::reconstruct(const std::shared_ptr<const Preparation>& preparation,
                                                       const std::vector<const Scan*>& volumes,
                                                       const ProgressCallback& progress) {
  const ThreadLimit limit(state_->execution.threads);
  const auto is_at_positions = [&](const Scan* volume) {
    return are_equal(volume->trajectory.k, preparation->measured->trajectory.k);
  };
  if (volumes.empty()) return {};
  if (takes_series(state_->settings, state_->execution, *preparation->measured) &&
      std::all_of(volumes.begin(), volumes.end(), is_at_positions))
    return state_->together(preparation, volumes, progress);
  std::vector<Reconstruction> results;
  for (const Scan* volume : volumes) results.push_back(state_->elsewhere(*preparation, *volume, progress));
  return results;
}

bool takes_series(const Settings& settings, const Execution& execution, const Scan& reference) {
  const auto* method = least_squares(settings);
  if (method == nullptr || std::holds_alternative<FromNoise>(method->lambda) || !method->sparse.empty() ||
      method->partial_fourier != PartialFourier::off || reference.field_map || goes_beyond_k(reference) ||
      settings.coils.map_sets != MapSetCount::one)
    return false;
  return !execution.processes->is_shared() &&
         (reference.kspace.coil_count() == 1 || decide_coils_of(reference, settings).uses_maps());
}

std::string obstacle_to_group(const Settings& settings, const Scan& scan, int size) {
  if (size == 1) return {};
  const auto conflict = conflict_among(
      features_of(settings).with(Feature::several_processes).with(Feature::field_map, goes_beyond_k(scan)));
  if (conflict)
    return name_of(conflict->feature == Feature::several_processes ? conflict->other : conflict->feature);
  return scan.trajectory.sample_count() < size ? "fewer samples than that" : "";
}

Reconstruction reconstruct(const Scan& scan, const Settings& settings, const Execution& execution,
                           const Services& services, const ProgressCallback& progress) {
  return Reconstructor(settings, execution, services)(scan, progress);
}

}  // namespace fhd

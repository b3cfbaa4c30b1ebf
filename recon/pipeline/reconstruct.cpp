#include "recon/pipeline/reconstruct.hpp"

#include <algorithm>
#include <utility>

#include "recon/array/linear_operator.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/coils/noise.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/partial_fourier.hpp"
#include "recon/pipeline/steps.hpp"
#include "recon/pipeline/surroundings.hpp"
#include "recon/transform/direct/direct_cost.hpp"

namespace fhd {

struct Preparation {
  Trajectory trajectory;  ///< as measured
  Geometry geometry;      ///< as measured
  std::int64_t coil_count = 0;
  AxisOrder order{};
  Scan scan;                      ///< in this order, on the matrix that holds the object, coils as prepared
  Array<Complex<double>> mixing;  ///< [virtual coil][coil]; empty: coils are as they are
  Report report;                  ///< what was done
  std::int64_t volumes_at_once = 1;  ///< by a device

  /// k-space of another volume, coils as prepared. `in_double`: mixing does not round.
  KSpace prepared(const KSpace& kspace, bool in_double) const;
};

namespace {

/// What one scan leaves for the next.
template <class T>
struct Kept {
  std::optional<TrajectoryOperators<T>> operators;
  std::optional<Model<T>> model;                     ///< of these operators
  std::shared_ptr<const Preparation> model_of = {};  ///< the series that it is of; null: of none
  KeptCalibrations calibrations = {};
};

/// What came of volumes that were taken together.
struct Volumes {
  std::vector<Image> images, gridded;  ///< gridded: none, or one of each
  std::vector<SolvedVolume> told;      ///< of least squares
};

/// Volumes that are taken together.
struct Together {
  std::shared_ptr<const Preparation> preparation = {};  ///< null: a scan by itself
  std::int64_t most = 1;
};

void require_processes_can(const Scan& scan, const Context& context) {
  if (const auto missing = missing_for_group(context.settings, scan, context.processes().size()))
    throw Error("a reconstruction by several processes", missing->expected, missing->found,
                "run it as one process");
}

/// The transform with its kind decided, and said where it was open.
TransformSettings decided_transform(const Scan& scan, const Context& context) {
  TransformSettings transform = transform_settings(context.settings);
  if (transform.kind != TransformKind::automatic) return transform;
  const std::int64_t count = scan.trajectory.sample_count(), coils = scan.kspace.coil_count();
  SampleCount samples{count, count, count};
  const auto decide = [&] {
    return decide_transform(context.settings, context.device(), scan.geometry.matrix_size, samples, coils);
  };
  TransformDecision decision = decide();
  if (decision.kind == TransformKind::gridded && !context.processes().is_shared()) {
    samples = count_samples(scan.trajectory);  // those that share positions take less
    decision = decide();
  }
  transform.kind = decision.kind;
  const std::string pairs = short_number(decision.pairs) + " pairs of voxels and samples";
  context.journal.note(transform.kind == TransformKind::direct
                           ? "transform: direct (exact), " + pairs +
                                 (samples.x < samples.all ? " that differ" : "")
                           : "transform: gridded to " + short_number(transform.accuracy) + ", because " +
                                 pairs + " are too many for the direct sums");
  return transform;
}

/// Those that are kept, where they are of this scan.
template <class T>
TrajectoryOperators<T>& operators_of(const Scan& scan, const TransformSettings& transform,
                                     const Context& context, Kept<T>& kept) {
  const auto& matrix_size = scan.geometry.matrix_size;
  double differs = !kept.operators || !kept.operators->are_of(scan.trajectory, matrix_size, transform);
  context.processes().sum(&differs, 1);  // each looks at its share: all make them anew, or none
  if (differs > 0) {
    kept.model.reset();
    kept.operators.emplace(scan.trajectory, matrix_size, transform, context.execution,
                           context.services.trajectory_cache);
  }
  return *kept.operators;
}

/// What the settings leave open of this scan.
void note_openness(const Scan& scan, const Context& context) {
  const std::int64_t voxels = scan.geometry.voxel_count(),
                     measurements = scan.trajectory.sample_count() * scan.kspace.coil_count();
  if (!scan.sensitivity_maps && scan.kspace.coil_count() > 1)
    context.journal.note(
        "no sensitivity maps are used: each coil is reconstructed on its own, the image is their root of the "
        "sum of squares");
  if (const auto* method = least_squares(context.settings); method && measurements < voxels)
    context.journal.note(
        std::to_string(voxels) + " voxels are sought from " + std::to_string(measurements) +
        " measured values: " + (method->sparse.empty() ? "lambda decides" : "the regularizer decides") +
        " what the data leave open");
}

/// Images of least squares, in the unit of the scan; models are kept from scan to scan.
template <class T>
Volumes least_squares_images(Measurements<T>& data, std::optional<OffResonance>& off_resonance,
                             TrajectoryOperators<T>& operators, const Together& together,
                             const Context& context, Kept<T>& kept) {
  const Scan& scan = data.scan;
  const bool is_of_series = together.preparation && kept.model_of == together.preparation;
  if (kept.model && !is_of_series && !model_fits(*kept.model, scan, off_resonance.has_value()))
    kept.model.reset();
  const std::int64_t coils_at_once =
      kept.model && is_of_series ? 0
                                 : planned_coils_at_once(scan, operators.settings(), off_resonance, context);
  copy_to_device(data.samples, context);
  if (!kept.model)
    kept.model = make_model(scan, off_resonance, coils_at_once, coils_at_once == 0 ? together.most : 1,
                            operators, context);
  kept.model_of = together.preparation;
  if (off_resonance) off_resonance->segments.weights = off_resonance->differences.weights = {};
  if (!off_resonance && least_squares(context.settings)->normal == NormalKind::toeplitz && !is_of_series)
    context.journal.diagnostic_images.point_spread = central_plane(operators.point_spread(context.journal));
  auto solved = solve(*kept.model, data, operators, context);
  Volumes result;
  result.told = std::move(solved.volumes);
  if (makes_gridded_images(*kept.model, scan, context))
    result.gridded = gridded_images(*kept.model, data, operators, context);
  const double map_unit = kept.model->map_unit;
  if (!together.preparation) operators.release_other_transform();
  if (!kept.model->fits_scans_alike && !together.preparation) kept.model.reset();
  const auto finished = [&](Array<Complex<T>> one, std::int64_t volume) {
    return finished_image(std::move(one), data.unit(volume) / map_unit, scan, context);
  };
  if (scan.second_maps) {
    std::vector<Image> of_sets;
    for (int set = 0; set < 2; ++set)
      of_sets.push_back(
          finished(one_of(solved.images, scan.geometry.image_shape(), set).to(context.device()), 0));
    result.images.push_back(combined_sets(of_sets));
    context.journal.diagnostic_images.set_images = stacked(of_sets);
    return result;
  }
  const Shape image{solved.images.extent(1), solved.images.extent(2), solved.images.extent(3)};
  for (std::int64_t v = 0; v < data.volume_count(); ++v) {
    Array<Complex<T>> one = data.volume_count() == 1 ? std::move(solved.images).reshaped(image)
                                                     : one_of(solved.images, image, v).to(context.device());
    result.images.push_back(finished(std::move(one), v));
  }
  return result;
}

/// Volumes that share all but their samples, with coils as prepared.
template <class T>
Volumes reconstruct_volumes(const Scan& scan, std::vector<const KSpace*> each, const Together& together,
                            const Context& context, Kept<T>& kept) {
  Journal& journal = context.journal;
  const TransformSettings transform = decided_transform(scan, context);
  describe_settings(transform, context);
  Measurements<T> data = measurements_of<T>(scan, std::move(each), context);
  note_openness(scan, context);
  if (scan.sensitivity_maps)
    journal.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  auto off_resonance = off_resonance_of(scan, context);
  auto& operators = operators_of(scan, transform, context, kept);
  Volumes result = least_squares(context.settings)
                       ? least_squares_images(data, off_resonance, operators, together, context, kept)
                       : Volumes{conventional_images(data, operators, context), {}, {}};
  journal.report.device_peak_bytes = device::memory_use(context.device()).peak_bytes;
  return result;
}

/// P of the scan: the phase of an image of its centre, which nobody else sees.
Array<Complex<double>> phase_of_centre(const Scan& scan, const MissingSide& missing, const Context& context) {
  Settings settings = context.settings;
  std::get<LeastSquares>(settings.method).partial_fourier = PartialFourier::off;
  Journal journal(context.device(), context.journal.progress());
  const Services none;
  const Context own{settings, context.execution, none, journal};
  const Scan centre = symmetric_centre(scan, missing);
  const auto image_of = [&]<class T>(Kept<T> kept) {
    return std::move(reconstruct_volumes(centre, {&centre.kspace}, Together{}, own, kept).images.front());
  };
  return smooth_phase(
      settings.precision == Precision::single_precision ? image_of(Kept<float>{}) : image_of(Kept<double>{}),
      missing);
}

/// Of a scan by itself, with coils as prepared; real but for a phase where the settings ask for it.
template <class T>
Volumes reconstruct_prepared(const Scan& scan, const Context& context, Kept<T>& kept) {
  const auto* method = least_squares(context.settings);
  if (method == nullptr || method->partial_fourier == PartialFourier::off)
    return reconstruct_volumes(scan, {&scan.kspace}, Together{}, context, kept);
  Journal& journal = context.journal;
  const MissingSide missing = missing_side(scan);
  Array<Complex<double>> phase;
  journal.stage("phase", [&] { phase = phase_of_centre(scan, missing, context); });
  journal.note("partial Fourier: k-space reaches " + short_number(missing.reach) +
               " cycles/FOV on one side and " + short_number(missing.longest) +
               " on the other; the image is real but for the phase of the centre");
  const Scan turned = with_phase(scan, phase);
  Volumes made = reconstruct_volumes(turned, {&turned.kspace}, Together{}, context, kept);
  for (auto* images : {&made.images, &made.gridded})
    for (auto& image : *images) apply_phase(phase, image);
  if (scan.sensitivity_maps)
    journal.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  return made;
}

template <class T>
Reconstruction reconstruct_scan(const Scan& measured, const Context& context, Kept<T>& kept) {
  Journal& journal = context.journal;
  require_processes_can(measured, context);
  Reconstruction result;
  result.prepared =
      prepare_coils(measured, context.settings, journal, context.device(), nullptr, &kept.calibrations);
  const Scan& scan = result.prepared ? *result.prepared : measured;
  Volumes made = reconstruct_prepared(scan, context, kept);
  result.image = std::move(made.images.front());
  if (!made.gridded.empty()) result.gridded = std::move(made.gridded.front());
  if (!made.told.empty()) made.told.front().tell(journal.report);
  journal.report.seconds = journal.elapsed_s();
  result.report = std::move(journal.report);
  result.diagnostic_images = std::move(journal.diagnostic_images);
  return result;
}

/// The same on the matrix that holds the object, with axes of one voxel last on the way.
template <class T>
Reconstruction reconstruct_in_order(const Scan& measured, const Context& context, Kept<T>& kept) {
  auto larger = prepare_matrix(measured, context, kept.calibrations);
  const Scan& scan = larger ? *larger : measured;
  const AxisOrder order = long_axes_first(scan.geometry.matrix_size);
  Reconstruction result;
  if (keeps_axes(order)) {
    result = reconstruct_scan(scan, context, kept);
  } else {
    result = reconstruct_scan(in_order(order, scan), context, kept);
    result.image = in_order(inverse(order), std::move(result.image));
    if (auto& sets = result.diagnostic_images.set_images; !sets.empty()) {
      const Shape image = result.image.values.shape();
      sets = std::move(sets).reshaped({sets.extent(0), image[0], image[1], image[2]});
    }
    if (result.gridded) result.gridded = in_order(inverse(order), std::move(*result.gridded));
    if (result.prepared) result.prepared = in_order(inverse(order), std::move(*result.prepared));
  }
  if (!result.prepared) result.prepared = std::move(larger);
  return result;
}

}  // namespace

struct Reconstructor::State {
  Settings settings;
  Execution execution;
  Services services;
  Kept<float> in_single{};
  Kept<double> in_double{};

  /// work(kept), in the precision of the settings.
  template <class Work>
  auto in_precision(const Work& work) {
    return settings.precision == Precision::single_precision ? work(in_single) : work(in_double);
  }
  std::shared_ptr<const Preparation> prepare(const Scan& reference, const ProgressCallback& progress);
};

Reconstructor::Reconstructor(const Settings& settings, const Execution& execution, const Services& services)
    : state_(new State{settings, execution, services}) {
  validate(settings);
  state_->execution.device = device_for(settings, execution.device);
}
Reconstructor::~Reconstructor() = default;
Reconstructor::Reconstructor(Reconstructor&&) noexcept = default;
Reconstructor& Reconstructor::operator=(Reconstructor&&) noexcept = default;

Reconstruction Reconstructor::operator()(const Scan& scan, const ProgressCallback& progress) {
  const auto& [settings, execution, services, in_single, in_double] = *state_;
  const ThreadLimit limit(execution.threads);
  if (const auto kind = temporal_kind(settings))
    throw Error("settings.regularizer", "frames, which " + std::string(name_of(*kind)) + " couples",
                "one image", "leave it out, or reconstruct frames");
  if (const auto* method = least_squares(settings); method != nullptr && method->basis)
    throw Error("settings.basis", "frames, whose courses in time it spans", "one image",
                "leave it out, or reconstruct frames");
  scan.validate("scan");
  Journal journal(execution.device, progress);
  const Context context{settings, execution, services, journal};
  return state_->in_precision([&](auto& kept) { return reconstruct_in_order(scan, context, kept); });
}

bool takes_series(const Settings& settings, const Execution& execution, const Scan& reference) {
  const auto* method = least_squares(settings);
  if (method == nullptr || std::holds_alternative<FromNoise>(method->lambda) || !method->sparse.empty() ||
      method->partial_fourier != PartialFourier::off || reference.field_map ||
      settings.coils.estimation.sets != MapSetCount::one)
    return false;
  const std::int64_t coils = reference.kspace.coil_count();
  const auto decision = decide_coils(
      {coils, coils, reference.sensitivity_maps.has_value(), reference.noise.has_value()}, settings);
  return !execution.processes->is_shared() && (coils == 1 || decision.uses_maps());
}

std::optional<MissingForGroup> missing_for_group(const Settings& settings) {
  const auto* method = least_squares(settings);
  if (method == nullptr || method->normal != NormalKind::toeplitz)
    return MissingForGroup{"settings.method = cg with settings.normal = toeplitz", "another method"};
  if (method->partial_fourier != PartialFourier::off)
    return MissingForGroup{"settings.partial_fourier = off", "phase"};
  if (settings.coils.estimation.sets != MapSetCount::one)
    return MissingForGroup{"settings.coils.estimation.sets = 1", "two or auto"};
  return {};
}

std::optional<MissingForGroup> missing_for_group(const Settings& settings, const Scan& scan, int size) {
  if (size == 1) return {};
  if (const auto missing = missing_for_group(settings)) return missing;
  if (scan.field_map && scan.sample_time_s)
    return MissingForGroup{"a scan without a field map", "one with it"};
  if (const auto samples = scan.trajectory.sample_count(); samples < size)
    return MissingForGroup{"at least one sample for each", std::to_string(samples) + " samples"};
  return {};
}

std::shared_ptr<const Preparation> Reconstructor::prepare_series(const Scan& reference,
                                                                 const ProgressCallback& progress) {
  reference.validate("scan");
  return state_->prepare(reference, progress);
}

/// Of a valid scan.
std::shared_ptr<const Preparation> Reconstructor::State::prepare(const Scan& reference,
                                                                 const ProgressCallback& progress) {
  const ThreadLimit limit(execution.threads);
  Journal journal(execution.device, progress);
  const Context context{settings, execution, services, journal};
  KeptCalibrations& kept = *in_precision([](auto& of_precision) { return &of_precision.calibrations; });
  auto larger = prepare_matrix(reference, context, kept);
  const Scan& scan = larger ? *larger : reference;
  auto result = std::make_shared<Preparation>();
  result->trajectory = reference.trajectory;
  result->geometry = reference.geometry;
  result->coil_count = reference.kspace.coil_count();
  result->order = long_axes_first(scan.geometry.matrix_size);
  result->scan = in_order(result->order, scan);
  if (auto prepared =
          prepare_coils(result->scan, settings, journal, execution.device, &result->mixing, &kept))
    result->scan = std::move(*prepared);
  result->volumes_at_once = planned_volumes_at_once(result->scan, context);
  result->report = std::move(journal.report);
  result->report.seconds = journal.elapsed_s();
  return result;
}

KSpace Preparation::prepared(const KSpace& kspace, bool in_double) const {
  if (mixing.empty()) return kspace;
  KSpace mixed;
  if (in_double) mixed.in_double = apply_mixing(mixing, values_of<double>(kspace));
  mixed.values = in_double ? converted<Complex<float>>(mixed.in_double) : apply_mixing(mixing, kspace.values);
  return mixed;
}

const Scan& common_scan(const Preparation& preparation) { return preparation.scan; }
const Report& report_of(const Preparation& preparation) { return preparation.report; }

Scan prepared_alike(const Preparation& preparation, const Scan& volume, Precision precision) {
  if (volume.geometry.matrix_size != preparation.geometry.matrix_size ||
      volume.kspace.coil_count() != preparation.coil_count)
    throw Error("a further volume", "the matrix and the coils of those before", "other ones");
  const Scan common = in_order(inverse(preparation.order), preparation.scan);
  const bool is_larger = common.geometry.matrix_size != volume.geometry.matrix_size;
  Scan alike = is_larger ? on_larger_matrix(volume, common.geometry.matrix_size) : volume;
  alike.kspace = preparation.prepared(volume.kspace, precision == Precision::double_precision);
  alike.sensitivity_maps = common.sensitivity_maps;
  alike.noise = common.noise;
  alike.calibration.reset();
  return alike;
}

Settings settings_of_prepared(Settings settings) {
  settings.coils = CoilSettings::as_they_are();
  settings.surroundings = Surroundings::off;
  return settings;
}

std::int64_t Reconstructor::volumes_at_once(const Preparation& preparation) const {
  return preparation.volumes_at_once;
}

namespace {

void require_volume(const Scan& volume, const Preparation& of) {
  const auto& k = volume.trajectory.k;
  if (volume.geometry.matrix_size != of.geometry.matrix_size || k.shape() != of.trajectory.k.shape() ||
      !std::equal(k.begin(), k.end(), of.trajectory.k.begin()))
    throw Error("a volume of a series", "the trajectory and matrix of the others", "other ones");
  require_shape(volume.kspace.values, {of.coil_count, volume.trajectory.sample_count()},
                "k-space of a volume");
}

/// What was done for all, and for all of these together, with an equal share of the time.
Report shared_report(const Preparation& preparation, const Report& of_all, double seconds,
                     std::size_t volumes) {
  Report report = preparation.report;
  report.stages.clear();  // of the preparation: the first volume of the series tells them
  report.settings.insert(report.settings.end(), of_all.settings.begin(), of_all.settings.end());
  report.notes.insert(report.notes.end(), of_all.notes.begin(), of_all.notes.end());
  for (const auto& stage : of_all.stages)
    report.stages.push_back({stage.name, stage.seconds / static_cast<double>(volumes)});
  report.seconds = seconds / static_cast<double>(volumes);
  report.trajectory_hits = of_all.trajectory_hits;
  report.device_memory = of_all.device_memory;
  report.device_peak_bytes = of_all.device_peak_bytes;
  report.largest_eigenvalue = of_all.largest_eigenvalue;
  report.lambda = of_all.lambda;
  return report;
}

template <class T>
std::vector<Reconstruction> reconstruct_together(const std::shared_ptr<const Preparation>& preparation,
                                                 const std::vector<KSpace>& kspace,
                                                 const std::vector<const Scan*>& measured,
                                                 const Context& context, Kept<T>& kept) {
  std::vector<const KSpace*> each;
  for (const auto& values : kspace) each.push_back(&values);
  Volumes made = reconstruct_volumes(preparation->scan, std::move(each),
                                     Together{preparation, preparation->volumes_at_once}, context, kept);
  const Report shared =
      shared_report(*preparation, context.journal.report, context.journal.elapsed_s(), made.images.size());
  const auto as_measured = [&](Image image, const Scan& volume) {
    image = in_order(inverse(preparation->order), std::move(image));
    const auto [matrix_size, fov_mm] = std::pair(image.geometry.matrix_size, image.geometry.fov_mm);
    image.geometry = volume.geometry;
    image.geometry.matrix_size = matrix_size, image.geometry.fov_mm = fov_mm;
    return image;
  };
  std::vector<Reconstruction> results(made.images.size());
  for (std::size_t v = 0; v < results.size(); ++v) {
    results[v].report = shared;
    if (!made.told.empty()) made.told[v].tell(results[v].report);
    for (const auto& remark : measured[v]->remarks)
      if (std::find(shared.notes.begin(), shared.notes.end(), remark) == shared.notes.end())
        results[v].report.notes.push_back(remark);
    results[v].image = as_measured(std::move(made.images[v]), *measured[v]);
    if (!made.gridded.empty()) results[v].gridded = as_measured(std::move(made.gridded[v]), *measured[v]);
  }
  results.front().diagnostic_images = std::move(context.journal.diagnostic_images);
  return results;
}

}  // namespace

std::vector<Reconstruction> Reconstructor::reconstruct_series(
    const std::shared_ptr<const Preparation>& preparation, const std::vector<const Scan*>& volumes,
    const ProgressCallback& progress) {
  const auto& [settings, execution, services, in_single, in_double] = *state_;
  const ThreadLimit limit(execution.threads);
  if (volumes.empty()) return {};
  const auto most = static_cast<std::size_t>(preparation->volumes_at_once);
  if (volumes.size() > most)
    throw Error("volumes of a series", "at most " + std::to_string(most), std::to_string(volumes.size()));
  for (const Scan* volume : volumes) require_volume(*volume, *preparation);
  Journal journal(execution.device, progress);
  Settings as_prepared = settings;
  as_prepared.coils = CoilSettings::as_they_are();
  const Context context{as_prepared, execution, services, journal};
  std::vector<KSpace> kspace(volumes.size());
  const bool in_twice = settings.precision == Precision::double_precision;
  for (std::size_t v = 0; v < volumes.size(); ++v)
    kspace[v] = preparation->prepared(volumes[v]->kspace, in_twice);
  return state_->in_precision(
      [&](auto& kept) { return reconstruct_together(preparation, kspace, volumes, context, kept); });
}

namespace {

/// The report of a frame: what was done for all, with an equal share of the time.
Report report_of_frame(Report shared, const FrameLayout& layout, std::int64_t frame,
                       const SolvedVolume& told) {
  const auto add = [&](const char* name, std::int64_t value) {
    shared.settings.emplace_back(name, std::to_string(value));
  };
  add("frames", layout.frames);
  add("readouts per frame", layout.readouts_per_frame);
  if (layout.gate)
    shared.settings.emplace_back("gate", layout.gate->source);
  else
    add("readouts from frame to frame", layout.step);
  add("first readout of the frame", layout.first_readout(frame));
  told.tell(shared);
  return shared;
}

/// Of frames in a subspace, as they leave: alpha_k = sum over frames of phi_k(t) rho_t, [component][z][y][x].
Array<Complex<float>> components_of(const std::vector<Reconstruction>& frames, const Array<double>& courses) {
  const Shape image = frames.front().image.values.shape();
  const std::int64_t components = courses.extent(0), count = courses.extent(1);
  Array<Complex<float>> sums(Shape{components, image[0], image[1], image[2]});
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < sums.size(); ++i) {
    Complex<double> sum;
    for (std::int64_t t = 0; t < count; ++t)
      sum += courses.data()[i / image.size() * count + t] *
             Complex<double>(frames[static_cast<std::size_t>(t)].image.values.data()[i % image.size()]);
    sums.data()[i] = Complex<float>(sum);
  }
  return sums;
}

}  // namespace

std::vector<Reconstruction> Reconstructor::reconstruct_frames(const Scan& scan, const FrameLayout& layout,
                                                              const ProgressCallback& progress) {
  const auto& [settings, execution, services, in_single, in_double] = *state_;
  const ThreadLimit limit(execution.threads);
  scan.validate("scan");
  require_frames_can(scan, layout, settings, execution);
  const auto preparation = state_->prepare(scan, progress);
  const Scan& prepared = preparation->scan;
  if (prepared.kspace.coil_count() > 1 && !prepared.sensitivity_maps)
    throw Error("frames", "coils with signal, which tells their sensitivity maps", "k-space of zeros");
  Journal journal(execution.device, progress);
  Settings as_prepared = settings;
  as_prepared.coils = CoilSettings::as_they_are();
  const Context context{as_prepared, execution, services, journal};
  const TransformSettings transform = decided_transform(prepared, context);
  describe_settings(transform, context);
  note_openness(frame_of(prepared, layout, 0), context);
  if (layout.unused() > 0)
    journal.note(std::to_string(layout.unused()) + " readouts of " + std::to_string(layout.readouts) +
                 ", the last ones, are in no frame");
  auto made = settings.precision == Precision::single_precision
                  ? frame_images<float>(prepared, layout, transform, context)
                  : frame_images<double>(prepared, layout, transform, context);
  Report shared = shared_report(*preparation, journal.report, journal.elapsed_s(), made.size());
  shared.terms = journal.report.terms;
  shared.strength_curve = journal.report.strength_curve;
  shared.noise_residual = journal.report.noise_residual;
  if (auto doubt = doubt_of_frames(scan.trajectory, layout); !doubt.empty())
    shared.suspicions.push_back(std::move(doubt));
  const auto back = inverse(preparation->order);
  std::vector<Reconstruction> results(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    results[i].report = report_of_frame(shared, layout, static_cast<std::int64_t>(i), made[i].told);
    results[i].image = in_order(back, std::move(made[i].image));
    if (made[i].gridded) results[i].gridded = in_order(back, std::move(*made[i].gridded));
  }
  Report& first = results.front().report;  // what was done once
  if (layout.gate && !layout.gate->doubt.empty()) first.suspicions.push_back(layout.gate->doubt);
  if (auto gaps = doubt_of_gaps(layout); !gaps.empty()) first.suspicions.push_back(std::move(gaps));
  first.stages.insert(first.stages.begin(), preparation->report.stages.begin(),
                      preparation->report.stages.end());
  first.seconds += preparation->report.seconds;
  auto& exhibits = results.front().diagnostic_images = std::move(journal.diagnostic_images);
  if (!exhibits.temporal_basis.empty()) exhibits.components = components_of(results, exhibits.temporal_basis);
  return results;
}

Reconstruction reconstruct(const Scan& scan, const Settings& settings, const Execution& execution,
                           const Services& services, const ProgressCallback& progress) {
  return Reconstructor(settings, execution, services)(scan, progress);
}

}  // namespace fhd

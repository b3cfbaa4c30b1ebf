#include "recon/pipeline/reconstruct.hpp"

#include "recon/array/thread_limit.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/steps.hpp"
#include "recon/transform/direct/direct_cost.hpp"

namespace fhd {
namespace {

/// What one scan leaves for the next.
template <class T>
struct Kept {
  std::optional<TrajectoryOperators<T>> operators;
  std::optional<Model<T>> model;  ///< of these operators
};

/// A group of processes sums images; what needs all samples in one process is left to a single one.
void require_processes_can(const Scan& scan, const Context& context) {
  if (!context.processes().is_shared()) return;
  const char* subject = "a reconstruction by several processes";
  const char* alone = "run it as one process";
  const auto* method = least_squares(context.settings);
  if (method == nullptr || method->normal != NormalKind::toeplitz)
    throw Error(subject, "settings.method = cg with settings.normal = toeplitz", "another method", alone);
  if (scan.field_map && scan.sample_time_s)
    throw Error(subject, "a scan without a field map", "one with it", alone);
  if (scan.trajectory.sample_count() < context.processes().size())
    throw Error(subject, "at least one sample for each",
                std::to_string(scan.trajectory.sample_count()) + " samples", alone);
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
  if (least_squares(context.settings) && measurements < voxels)
    context.journal.note(std::to_string(voxels) + " voxels are sought from " + std::to_string(measurements) +
                         " measured values: lambda decides what the data leave open");
}

/// The image of least squares, in the unit of the scan; models are kept from scan to scan.
template <class T>
Image least_squares_image(Measurements<T>& data, std::optional<OffResonance>& off_resonance,
                          TrajectoryOperators<T>& operators, const Context& context, Kept<T>& kept) {
  const Scan& scan = data.scan;
  if (kept.model && !model_fits(*kept.model, scan, off_resonance.has_value())) kept.model.reset();
  const std::int64_t coils_at_once =
      planned_coils_at_once(scan, operators.settings(), off_resonance, context);
  copy_to_device(data.samples, context);
  if (!kept.model) kept.model = make_model(scan, off_resonance, coils_at_once, operators, context);
  if (off_resonance) off_resonance->segments.weights = off_resonance->differences.weights = {};
  if (!off_resonance && least_squares(context.settings)->normal == NormalKind::toeplitz)
    context.journal.diagnostic_images.point_spread = central_plane(operators.point_spread(context.journal));
  auto image = solve(*kept.model, data, operators, context);
  const double unit = data.unit / kept.model->map_unit;
  operators.release_other_transform();
  if (!kept.model->fits_scans_alike) kept.model.reset();
  return finished_image(std::move(image), data.unit == 0 ? 1 : unit, scan, context);
}

template <class T>
Reconstruction reconstruct_scan(const Scan& measured, const Context& context, Kept<T>& kept) {
  Journal& journal = context.journal;
  require_processes_can(measured, context);
  Reconstruction result;
  result.prepared = prepare_coils(measured, context.settings, journal, context.device());
  const Scan& scan = result.prepared ? *result.prepared : measured;
  const TransformSettings transform = decided_transform(scan, context);
  describe_settings(transform, context);
  Measurements<T> data = measurements_of<T>(scan, context);
  note_openness(scan, context);
  if (scan.sensitivity_maps)
    journal.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  auto off_resonance = off_resonance_of(scan, context);
  auto& operators = operators_of(scan, transform, context, kept);
  result.image = least_squares(context.settings)
                     ? least_squares_image(data, off_resonance, operators, context, kept)
                     : conventional_image(data, operators, context);
  journal.report.device_peak_bytes = device::memory_use(context.device()).peak_bytes;
  journal.report.seconds = journal.elapsed_s();
  result.report = std::move(journal.report);
  result.diagnostic_images = std::move(journal.diagnostic_images);
  return result;
}

/// The same on the matrix that holds the object, with axes of one voxel last on the way.
template <class T>
Reconstruction reconstruct_in_order(const Scan& measured, const Context& context, Kept<T>& kept) {
  auto larger = prepare_matrix(measured, context);
  const Scan& scan = larger ? *larger : measured;
  const AxisOrder order = long_axes_first(scan.geometry.matrix_size);
  Reconstruction result;
  if (keeps_axes(order)) {
    result = reconstruct_scan(scan, context, kept);
  } else {
    result = reconstruct_scan(in_order(order, scan), context, kept);
    result.image = in_order(inverse(order), std::move(result.image));
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
  scan.validate("scan");
  Journal journal(execution.device, progress);
  const Context context{settings, execution, services, journal};
  if (settings.precision == Precision::single_precision)
    return reconstruct_in_order(scan, context, state_->in_single);
  return reconstruct_in_order(scan, context, state_->in_double);
}

Reconstruction reconstruct(const Scan& scan, const Settings& settings, const Execution& execution,
                           const Services& services, const ProgressCallback& progress) {
  return Reconstructor(settings, execution, services)(scan, progress);
}

}  // namespace fhd

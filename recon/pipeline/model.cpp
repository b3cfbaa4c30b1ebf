#include "recon/pipeline/model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "recon/array/vector_math.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/encoding/field_phase.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/encoding/sense_normal.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/measurements.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/stack.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {
namespace {

template <class T>
Array<Complex<T>> ones_for(const Geometry& geometry, Device device) {
  const Shape image = geometry.image_shape();
  Array<Complex<T>> ones(Shape{1, image[0], image[1], image[2]});
  std::fill(ones.begin(), ones.end(), Complex<T>(1));
  return ones.to(device);
}

/// Returns the voxels that a coil sees; empty: all.
std::vector<bool> seen_voxels(const Scan& scan) {
  if (!scan.sensitivity_maps || scan.second_maps) return {};
  return voxels_with_values(scan.sensitivity_maps->values);
}

/// Returns how many of the values are true, 0 ... 1; 1 of none.
double share_of_true(const std::vector<bool>& values) {
  return values.empty() ? 1
                        : static_cast<double>(std::ranges::count(values, true)) /
                              static_cast<double>(values.size());
}

void note_fields(const FieldModel& fields, bool is_map_alone, const Context& context) {
  const auto& [factors, differences] = std::tie(fields.factors, fields.differences);
  if (fields.is_exact()) return context.log.note("full_equation", "full equation: exact sums");
  const auto count = [](const PhaseFactors& of) { return std::to_string(of.count()); };
  std::string text = is_map_alone ? "off-resonance: " + count(factors) + " time segments"
                                  : "full equation: " + count(factors) + " terms";
  if (differences.count() > 0) text += ", " + count(differences) + " for the Toeplitz operator";
  text += ", error " + short_number(std::max(factors.error, differences.error));
  if (!is_map_alone) text += ", worst value " + short_number(factors.worst_error);
  context.log.note(is_map_alone ? "off_resonance" : "full_equation", text);
}

/// Sets E^H E with the fields of the scan.
template <class T>
void use_fields(const FieldModel& fields, std::int64_t coils_at_once, TrajectoryOperators<T>& operators,
                const Context& context, Model<T>& model) {
  if (fields.differences.count() == 0) {
    model.problem.normal = explicit_normal<T>(model.encoding);
    return;
  }
  const auto kernel = [&](const Array<double>& weights) { return operators.weighted_point_spread(&weights); };
  context.log.stage("Q", [&] {
    model.turned_maps = turned_maps(model.maps(), fields.terms, fields.differences);
    model.problem.normal = make_field_normal<T>(kernel, model.turned_maps, fields.differences, coils_at_once);
  });
}

/// Sets E^H E of `encoding`: as a Toeplitz operator, with its circulant, or explicitly.
template <class T>
void use_normal(std::int64_t coils_at_once, TrajectoryOperators<T>& operators, const Context& context,
                Model<T>& model) {
  const LeastSquares& method = *least_squares(context.settings);
  if (method.normal != NormalKind::toeplitz) {
    model.problem.normal = explicit_normal<T>(model.encoding);
    return;
  }
  const auto& q = operators.point_spread(context.log);
  context.log.stage("transfer function",
                    [&] { model.problem.normal = make_sense_normal(model.encoding, q, coils_at_once); });
  if (uses_preconditioner(method, false))
    context.log.stage("preconditioner",
                      [&] { model.circulant = circulant_of_point_spread(q, model.encoding->image()); });
}

/// Returns the second set of maps of a scan in the unit of the first, on the device; empty without.
template <class T>
Array<Complex<T>> second_maps_of(const Scan& scan, double map_unit, const Context& context) {
  if (!scan.second_maps) return {};
  auto second = values_of<T>(*scan.second_maps);
  scale(second, static_cast<T>(1 / map_unit));
  copy_to_device(second, context);
  return second;
}

template <class T>
std::shared_ptr<const Term<T>> make_term(const Regularizer& regularizer, const Scan& scan,
                                         const Context& context) {
  const auto* roughness = std::get_if<RoughnessPenalty>(&regularizer);
  if (roughness == nullptr) return identity_term<T>();
  if (!roughness->prior) return roughness_term<T>();
  Array<T> weights;
  context.log.stage("anatomical prior", [&] {
    const auto& [image, strength] = *roughness->prior;
    weights = edge_weights<T>(resampled(image, scan.geometry), strength).to(context.device());
  });
  return roughness_term<T>(std::move(weights));
}

/// Returns 1 where all maps of a set are 0, else 0, [set and z][y][x] on their device; empty where there is no such
/// voxel.
template <class T>
Array<T> unseen_voxels(const Model<T>& model) {
  Array<T> unseen(model.encoding->domain());
  T* to = unseen.data();
  bool all_are_seen = true;
  for (std::int64_t set = 0; set < model.encoding->sets(); ++set)
    for (const auto& seen : root_sum_of_squares(model.encoding->maps(set)).to(Device::cpu())) {
      *to++ = seen.re > 0 ? T(0) : T(1);
      all_are_seen = all_are_seen && seen.re > 0;
    }
  return all_are_seen ? Array<T>() : unseen.to(model.encoding->device());
}

/// Adds the sparse terms. Where no coil sees anything, they would continue the image: there it stays near 0, as with
/// the reference lambda.
template <class T>
void add_sparse_terms(const LeastSquares& method, Device device, Model<T>& model) {
  if (method.sparse.empty()) return;
  const Shape image = model.encoding->image();
  const std::int64_t sets = model.encoding->sets();
  for (const auto& penalty : method.sparse) {
    if (is_temporal(penalty.kind)) continue;
    auto term = sparse_term<T>(penalty.kind, image, device);
    if (sets > 1) term = std::make_unique<StackedSparseTerm<T>>(std::move(term), image, sets);
    model.problem.sparse.push_back({std::move(term)});
  }
  if (auto unseen = unseen_voxels(model); !unseen.empty())
    model.problem.terms.push_back(
        {identity_term<T>(std::move(unseen)), reference_lambda * model.mean_eigenvalue});
}

}  // namespace

FieldModel FieldModel::of_samples(const std::vector<std::int64_t>& samples) const {
  const auto part = [&](const PhaseFactors& of) {
    return PhaseFactors{of.coefficients,
                        of.time_s,
                        of.count() > 0 ? columns_of(of.weights, samples) : Array<Complex<double>>(),
                        of.error,
                        of.worst_error,
                        of.rms_error};
  };
  return {{columns_of(terms.coefficients, samples), terms.basis, terms.decay_per_s,
           terms.sample_time_s.empty() ? Array<double>() : columns_of(terms.sample_time_s, samples),
           terms.second_decay_per_s, terms.fraction, terms.summed_voxels},
          part(factors),
          part(differences)};
}

std::optional<FieldModel> field_model_of(const Scan& scan, TransformSettings& transform,
                                         const Context& context) {
  const bool is_full = has_fields(scan);
  if (!is_full && !has_off_resonance(scan)) {
    if (scan.field_map && !scan.sample_time_s)
      context.log.note(
          "off_resonance",
          "the field map of the scan is not used: the scan does not say when its samples were taken");
    return std::nullopt;
  }
  const auto* method = least_squares(context.settings);
  if (method == nullptr && !is_method<PlainAdjoint>(context.settings)) {
    context.log.note(is_full ? "full_equation" : "off_resonance",
                     std::string(is_full ? "the fields of the scan are not used: only "
                                         : "the field map of the scan is not used: only ") +
                         option_words("method", "cg") + " and " + option_words("method", "adjoint") + " do");
    return std::nullopt;
  }
  const TransformSettings asked = transform_settings(context.settings);
  const double accuracy = field_accuracy(asked);
  // Least squares with a field map alone has a Toeplitz operator, which exact sums have not.
  const bool may_be_exact = is_full || method == nullptr;
  const auto seen = seen_voxels(scan);
  const FieldSizes sizes{{scan.geometry.matrix_size,
                          {scan.trajectory.sample_count()},
                          context.settings.precision,
                          context.device()},
                         scan.kspace.coil_count(),
                         share_of_true(seen)};
  FieldModel fields;
  context.log.stage(is_full ? "factors" : "time segments", [&] {
    fields.terms = field_terms(scan);
    const std::int64_t most = may_be_exact ? most_factors(sizes, asked, transform) : most_field_terms;
    auto found = most > 0 ? field_factors(fields.terms, seen, accuracy, most) : std::nullopt;
    if (found) fields.factors = std::move(*found);
    if (!found || method == nullptr || method->normal != NormalKind::toeplitz) return;
    const std::int64_t most_differences =
        is_full ? most_toeplitz_terms(sizes, transform, fields.factors.count()) : most_field_terms;
    if (auto differences = difference_factors(fields.terms, seen, accuracy, most_differences))
      fields.differences = std::move(*differences);
  });
  if (fields.is_exact()) {
    if (!may_be_exact || asked.kind == TransformKind::gridded)
      throw Error(is_full ? "fields" : "off-resonance",
                  "phases that " + std::to_string(most_field_terms) + " terms can follow",
                  short_number(largest_phase(fields.terms)) + " rad",
                  is_full
                      ? "check the unit of the coefficients (rad/m, rad/m^2, not mm), or sum exactly with " +
                            option_words("transform", "direct")
                      : "check the unit of the field map (rad/s) and of the sample times (s)");
    fields.terms = all_terms(scan);
    fields.terms.summed_voxels = numbers_of(seen);
    require_phase_terms(fields.terms, scan.geometry.matrix_size);
    transform.kind = TransformKind::direct;
  }
  note_fields(fields, !is_full, context);
  return fields;
}

template <class T>
std::shared_ptr<const HeldFactors<T>> factors_on(Device device, const FieldModel& fields) {
  return fields.is_exact() ? nullptr : held_factors<T>(fields.terms, fields.factors, device);
}

template <class T>
std::shared_ptr<const FourierTransform<T>> transform_in_fields(
    const FieldModel& fields, std::shared_ptr<const HeldFactors<T>> factors,
    std::shared_ptr<const FourierTransform<T>> plain) {
  if (factors) return make_field_transform<T>(std::move(plain), std::move(factors));
  return make_phase_transform<T>(fields.terms, plain->matrix_size(), plain->device());
}

template <class T>
Model<T> make_model(const Scan& scan, const std::optional<FieldModel>& fields, std::int64_t coils_at_once,
                    std::int64_t images_at_once, TrajectoryOperators<T>& operators, const Context& context) {
  const LeastSquares& method = *least_squares(context.settings);
  Model<T> model;
  model.has_maps = scan.sensitivity_maps.has_value();
  ScaledMaps<T> maps = maps_of<T>(scan, context);
  model.map_unit = maps.unit;
  if (!model.has_maps) maps.values = ones_for<T>(scan.geometry, context.device());
  model.has_fields = fields.has_value();
  if (fields) model.factors = factors_on<T>(context.device(), *fields);
  model.encoding = std::make_shared<SenseEncoding<T>>(
      fields ? transform_in_fields<T>(*fields, model.factors, operators.transform()) : operators.transform(),
      std::move(maps.values), coils_at_once, images_at_once, second_maps_of<T>(scan, maps.unit, context),
      context.execution.processes);
  if (fields) {
    use_fields(*fields, coils_at_once, operators, context, model);
  } else {
    use_normal(coils_at_once, operators, context, model);
  }
  if (needs_largest_eigenvalue(method))
    context.log.stage("largest eigenvalue",
                      [&] { model.largest_eigenvalue = largest_eigenvalue(*model.problem.normal); });
  // trace(E^H E) / voxels: every sample meets every voxel with |S|^2.
  model.mean_eigenvalue = static_cast<double>(scan.trajectory.sample_count()) *
                          std::pow(norm_l2(model.maps()), 2) /
                          static_cast<double>(model.encoding->image().size());
  model.problem.terms = {{make_term<T>(method.regularizer, scan, context)}};
  if (model.encoding->sets() > 1) {
    auto& term = model.problem.terms.front().term;
    term = stacked_term(term, model.encoding->image());
  }
  model.problem.is_real = method.partial_fourier == PartialFourier::phase;
  add_sparse_terms(method, context.device(), model);
  return model;
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> preconditioner_of(const Model<T>& model, double weight,
                                                              double sparse_penalty) {
  if (model.circulant.empty()) return nullptr;
  const Shape n = model.circulant.shape();
  const auto angle = [](std::int64_t k, std::int64_t size) {
    return 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
  };
  const Term<T>& term = *model.problem.terms.front().term;
  Array<double> penalty(n);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < penalty.size(); ++k) {
    const std::array angles{angle(k / (n[1] * n[2]), n[0]), angle(k / n[2] % n[1], n[1]),
                            angle(k % n[2], n[2])};
    double sum = weight * term.circulant(angles);
    if (sparse_penalty > 0)
      for (const auto& sparse : model.problem.sparse) sum += sparse_penalty * sparse.term->circulant(angles);
    penalty.data()[k] = sum;
  }
  double mean = 0;  // in an order of its own, whatever the threads
  for (const double value : penalty) mean += value / static_cast<double>(penalty.size());
  if (sparse_penalty == 0 && !(mean >= least_penalty * model.mean_eigenvalue)) return nullptr;
  std::vector<std::shared_ptr<const HermitianOperator<T>>> of_each;
  for (std::int64_t set = 0; set < model.encoding->sets(); ++set)
    of_each.push_back(make_preconditioner<T>(model.circulant, penalty, model.encoding, set));
  while (static_cast<std::int64_t>(of_each.size()) < model.frames) of_each.push_back(of_each.front());
  if (of_each.size() == 1) return of_each.front();
  // The iterations find what one set of maps tells of the other.
  return stacked_normal(std::move(of_each));
}

#define FHD_INSTANTIATE(T)                                                                                   \
  template std::shared_ptr<const HermitianOperator<T>> preconditioner_of<T>(const Model<T>&, double,         \
                                                                            double);                         \
  template Model<T> make_model<T>(const Scan&, const std::optional<FieldModel>&, std::int64_t, std::int64_t, \
                                  TrajectoryOperators<T>&, const Context&);                                  \
  template std::shared_ptr<const HeldFactors<T>> factors_on<T>(Device, const FieldModel&);                   \
  template std::shared_ptr<const FourierTransform<T>> transform_in_fields<T>(                                \
      const FieldModel&, std::shared_ptr<const HeldFactors<T>>, std::shared_ptr<const FourierTransform<T>>);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

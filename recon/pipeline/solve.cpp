#include "recon/pipeline/solve.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "recon/array/thread_limit.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/pipeline/conventional.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

/// Returns the largest eigenvalue of E^H E, after the solution for E^H d = `fhd`. Few iterations say too little of it, and
/// those with a preconditioner nothing.
template <class T>
double eigenvalue_of(Model<T>& model, const ConjugateGradientResult& solved, const Array<Complex<T>>& fhd) {
  constexpr std::size_t enough_iterations = 3;
  const std::size_t residuals = solved.relative_residuals.size();
  if (model.largest_eigenvalue > 0) return model.largest_eigenvalue;
  if (model.preconditioner && residuals > 1) return find_largest_eigenvalue(model, fhd);
  if (residuals <= enough_iterations) return largest_eigenvalue(*model.problem.normal);
  return solved.largest_ritz_value - model.problem.terms.front().weight;
}

template <class T>
void run_solver(Model<T>& model, Solution<T>& solution, bool from_zero, const Context& context) {
  const Problem<T>& problem = model.problem;
  context.log.stage("conjugate gradient", [&] {
    const double weight = problem.terms.front().weight;
    if (weight != model.preconditioned_weight) {
      model.preconditioner = nullptr;  // its buffers go before those of the next are made
      model.preconditioner = preconditioner_of(model, weight, 0);
      model.preconditioned_weight = weight;
    }
    Array<Complex<T>> real;
    if (problem.is_real) {
      real = Array<Complex<T>>(solution.right_hand_sides);
      keep_real_part(real);
    }
    auto solved = solve_quadratic(model, problem.is_real ? real : solution.right_hand_sides, solution.images,
                                  context.log.progress(), context, ConjugateGradientSettings{}.kept_residuals,
                                  from_zero);
    for (auto& one : solved) {
      const auto number = static_cast<std::int64_t>(solution.volumes.size());
      const double eigenvalue =
          eigenvalue_of(model, one, one_of(solution.right_hand_sides, model.encoding->domain(), number));
      solution.volumes.push_back({std::move(one.relative_residuals), one.converged});
      solution.volumes.back().largest_eigenvalue = eigenvalue;
    }
  });
}

/// Computes E images with another transform of the trajectory; exact sums of fields have no other.
template <class T>
void encode_with(const TransformSettings& settings, const Model<T>& model, TrajectoryOperators<T>& operators,
                 const Array<Complex<T>>& images, Array<Complex<T>>& samples) {
  if (model.has_fields && !model.factors) return model.encoding->forward(images, samples);
  auto transform = operators.transform_of(settings);
  if (model.factors) transform = make_field_transform<T>(transform, model.factors);
  model.encoding->encode(*transform, images, samples);
}

/// Computes E images, with the transform that predictions are made with.
template <class T>
void predict_samples(const Model<T>& model, TrajectoryOperators<T>& operators, Solution<T>& solution,
                     const Shape& samples, const Context& context) {
  TransformSettings transform = operators.settings();
  solution.predicted = Array<Complex<T>>(samples, context.device());
  if (predicts_by_gridding(context.settings, transform.kind))
    transform = {TransformKind::gridded, prediction_accuracy};
  context.log.stage("data residual",
                    [&] { encode_with(transform, model, operators, solution.images, solution.predicted); });
}

/// Computes |F rho - d| / |d| of every volume, over all processes; F rho becomes the difference.
template <class T>
void compare_with_samples(const Array<Complex<T>>& samples, Solution<T>& solution, const Context& context) {
  const auto count = static_cast<std::int64_t>(solution.volumes.size());
  add_scaled(solution.predicted, T(-1), samples);
  Array<double> squares(Shape{2 * count}, context.device());
  dot(solution.predicted, solution.predicted, squares, 0, count);
  dot(samples, samples, squares, count, count);
  squares = squares.to(Device::cpu());
  context.processes().sum(squares.data(), squares.size());
  for (std::int64_t v = 0; v < count; ++v)
    solution.volumes[v].data_residual =
        squares[count + v] == 0 ? 0 : std::sqrt(squares[v] / squares[count + v]);
}

/// Returns what is the same for every method, of one volume; of one coil without its map.
template <class T>
VerifierInput<T> input_of(const Measurements<T>& data, std::size_t volume, std::optional<std::int64_t> coil,
                          double promised_accuracy) {
  const Scan& scan = data.scan;
  const KSpace& kspace = *data.volumes[volume];
  VerifierInput<T> input{scan.trajectory, scan.geometry.matrix_size, kspace.values.data(), 1, nullptr};
  if (std::is_same_v<T, double> && !kspace.in_double.empty())
    input.samples_in_double = kspace.in_double.data();
  input.sample_scale = 1 / data.unit(static_cast<std::int64_t>(volume));
  input.requested = promised_accuracy;
  if (coil) {
    input.samples += *coil * scan.trajectory.sample_count();
    if (input.samples_in_double) input.samples_in_double += *coil * scan.trajectory.sample_count();
  } else {
    input.coil_count = kspace.coil_count();
  }
  return input;
}

/// Says that E has the field map, the fields and the decay of the scan.
template <class T>
void set_fields(const Scan& scan, VerifierInput<T>& input) {
  if (scan.fields || scan.decay_per_s) input.full_equation = &scan;
  if (!scan.field_map || !scan.sample_time_s) return;
  input.field_map = &*scan.field_map;
  input.sample_time_s = &*scan.sample_time_s;
}

/// Asks for certificates and verdicts; `scan` has the noise of the coils; null: one coil without its map.
template <class T>
void judge(std::vector<VerifierInput<T>>& inputs, Solution<T>& solution, const Model<T>& model,
           const Scan* scan, TrajectoryOperators<T>& operators, const Context& context) {
  RunLog& log = context.log;
  const Verifier& verifier = *context.services.verifier;
  if (!model.problem.sparse.empty())
    log.note(
        "certificate",
        "The certificate checks that data gradient and penalty gradient cancel; it does not check that the "
        "latter is a subgradient.");
  if (model.problem.is_real)
    log.note(
        "certificate",
        "The certificate checks only the real part of the residual, because the image is real apart from "
        "its phase. It takes this phase as a part of the maps.");
  log.stage("certificate", [&] {
    if (!context.kept) {
      solution.volumes.front().certificate = verifier.verify(inputs.front());
      return;
    }
    auto certificates = verifier.verify(inputs, context.kept->checked);
    for (std::size_t v = 0; v < certificates.size(); ++v) solution.volumes[v].certificate = certificates[v];
  });
  std::mutex mutex;
  for (auto& input : inputs) {
    if (scan && scan->noise) input.noise = &*scan->noise;
    if (context.processes().size() > 1) continue;
    input.encode = [&](const Array<Complex<T>>& of) {  // one at a time, whoever calls it
      const std::lock_guard lock(mutex);
      const auto settings = verdict_transform(context.settings, operators.settings());
      Array<Complex<T>> seen(model.encoding->range(), context.device());
      encode_with(settings, model, operators, of.to(context.device()), seen);
      return seen.to(Device::cpu());
    };
  }
  log.stage("verdict", [&] {
    Verifier::Kept own;
    auto verdicts = verifier.judge(inputs, context.kept ? context.kept->judged : own);
    for (std::size_t v = 0; v < verdicts.size(); ++v) solution.volumes[v].verdict = std::move(verdicts[v]);
  });
}

/// Returns values in host memory: a view of them where they are there.
template <class T>
Array<Complex<T>> on_host(const Array<Complex<T>>& values) {
  return values.device().is_cpu() ? view_of(values) : values.to(Device::cpu());
}

/// Verifies all coils together, or `coil` without its map. Every process must call; the first judges.
template <class T>
void verify_solution(Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                     std::optional<std::int64_t> coil, TrajectoryOperators<T>& operators,
                     const Context& context) {
  const Scan& scan = data.scan;
  RunLog& log = context.log;
  // The solution and the products of its operators, in host memory: stacks of volumes.
  Array<Complex<T>> images, adjoint, predicted, normal, regularized;
  log.stage("certificate", [&] {
    images = on_host(solution.images), adjoint = on_host(solution.right_hand_sides);
    predicted = all_columns(on_host(solution.predicted), scan.trajectory.sample_count(), context.processes());
    Array<Complex<T>> product(solution.images.shape(), context.device());
    model.problem.normal->forward_each(solution.images, product);
    normal = product.to(Device::cpu());
    model.problem.system().forward_each(solution.images, product);
    if (!solution.subgradient.empty()) {
      auto of_image = one_of(product, solution.subgradient.shape(), 0);
      add_scaled(of_image, T(1), solution.subgradient);
    }
    regularized = product.device().is_cpu() ? std::move(product) : product.to(Device::cpu());
  });
  // The condition for real images is Re(E^H d - (E^H E + lambda W^H W) rho) = 0: the rest is no residual.
  if (model.problem.is_real)
    for (std::int64_t p = 0; p < regularized.size(); ++p) regularized[p].im = adjoint[p].im;
  if (context.processes().rank() > 0) return;
  const Shape image = model.encoding->domain(),
              samples{model.encoding->range()[0], scan.trajectory.sample_count()};
  std::vector<VerifierInput<T>> inputs;
  for (std::size_t volume = 0; volume < solution.volumes.size(); ++volume) {
    auto& input = inputs.emplace_back(input_of(data, volume, coil, operators.promised_accuracy()));
    if (!coil && scan.sensitivity_maps) {
      input.maps = scan.sensitivity_maps->values.data();
      if (std::is_same_v<T, double> && !scan.sensitivity_maps->in_double.empty())
        input.maps_in_double = scan.sensitivity_maps->in_double.data();
      input.map_scale = 1 / model.map_unit;
      if (model.encoding->sets() > 1) input.second_maps = scan.second_maps->values.data();
    }
    if (model.has_fields) set_fields(scan, input);
    if (model.factors)
      input.requested = std::max(input.requested, field_accuracy(transform_settings(context.settings)));
    const auto number = static_cast<std::int64_t>(volume);
    input.image = one_of(images, image, number);
    input.predicted = one_of(predicted, samples, number);
    input.adjoint = one_of(adjoint, image, number);
    input.normal = one_of(normal, image, number);
    input.regularized = one_of(regularized, image, number);
    const auto& residuals = solution.volumes[volume].relative_residuals;
    input.solver_residual = solution.volumes[volume].stationarity.value_or(residuals.back());
    input.iterations = static_cast<int>(residuals.size()) - 1;
  }
  judge(inputs, solution, model, coil ? nullptr : &data.scan, operators, context);
}

}  // namespace

template <class T>
void check_solution(Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                    const Array<Complex<T>>& samples, std::optional<std::int64_t> coil, bool verifies,
                    TrajectoryOperators<T>& operators, const Context& context) {
  predict_samples(model, operators, solution, samples.shape(), context);
  if (verifies && context.services.verifier) verify_solution(solution, model, data, coil, operators, context);
  compare_with_samples(samples, solution, context);
}

namespace {

/// Solves for the images of all coils together, or of the `coil` whose samples these are; of several, the first one
/// (`is_first`) decides lambda where that is searched, and is the one that is verified.
template <class T>
Solution<T> solve_samples(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                          std::optional<std::int64_t> coil, bool is_first, TrajectoryOperators<T>& operators,
                          const Context& context) {
  const Shape image = model.encoding->domain(),
              stack{samples.extent(0) / model.encoding->range()[0], image[0], image[1], image[2]};
  Solution<T> solution{Array<Complex<T>>(stack, context.device()),
                       Array<Complex<T>>(stack, context.device())};
  context.log.stage("FhD", [&] { model.encoding->adjoint(samples, solution.right_hand_sides); });
  const NoiseEncoding<T> noise{samples.extent(0), [&](const auto& b, auto& right_hand_side) {
                                 model.encoding->adjoint(b, right_hand_side);
                                 return norm_of_all(b, context.processes());
                               }};
  bool from_zero = true;
  if (is_first) {
    const auto fhd = one_of(solution.right_hand_sides, image, 0);
    choose_lambda(model, data, samples, noise, fhd, context);
    auto first = one_of(solution.images, image, 0);
    const auto of_volume = one_of(samples, Shape{model.encoding->range()[0], samples.extent(1)}, 0);
    from_zero = !adapt_lambda(model, data, of_volume, fhd, first, context);
  }
  if (decide_solver(*least_squares(context.settings)) == SolverKind::admm)
    solve_sparse(model, solution, data, samples, noise, is_first, context);
  else
    run_solver(model, solution, from_zero, context);
  check_solution(solution, model, data, samples, coil, is_first, operators, context);
  return {std::move(solution.images), {}, {}, std::move(solution.volumes)};
}

/// Solves for one coil at a time, the strongest first. Reports the residuals of the coil that converged least.
template <class T>
Solution<T> solve_each_coil(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
                            const Context& context) {
  const std::int64_t coils = data.samples.extent(0), sample_count = data.samples.extent(1);
  Array<Complex<T>> images(operators.transform()->images_shape(coils), context.device());
  Array<Complex<T>> samples(Shape{1, sample_count}, context.device());
  SolvedVolume least;
  const std::int64_t strongest = strongest_coil(data.scan.kspace);
  for (std::int64_t i = 0; i < coils; ++i) {
    const std::int64_t coil = i == 0 ? strongest : i <= strongest ? i - 1 : i;
    copy_range(data.samples, coil * sample_count, samples, 0, sample_count);
    const auto solved = solve_samples(model, data, samples, coil, i == 0, operators, context);
    copy_range(solved.images, 0, images, coil * solved.images.size(), solved.images.size());
    const SolvedVolume& of_coil = solved.volumes.front();
    if (i == 0) {
      least = of_coil;
    } else if (of_coil.relative_residuals.back() > least.relative_residuals.back()) {
      least.relative_residuals = of_coil.relative_residuals;
      least.objectives = of_coil.objectives;
      least.converged = of_coil.converged;
    }
    least.data_residual = std::max(least.data_residual, of_coil.data_residual);
    if (of_coil.hot_spot && (!least.hot_spot || of_coil.hot_spot->times > least.hot_spot->times))
      least.hot_spot = of_coil.hot_spot;
  }
  auto image = combined(images, {});
  const Shape stack{1, image.extent(0), image.extent(1), image.extent(2)};
  return {std::move(image).reshaped(stack), {}, {}, {std::move(least)}};
}

}  // namespace

template <class T>
double find_largest_eigenvalue(Model<T>& model, const Array<Complex<T>>& fhd) {
  constexpr int enough_steps = 4;
  const auto& normal = *model.problem.normal;
  if (!(model.largest_eigenvalue > 0))
    model.largest_eigenvalue =
        norm_l2(fhd) > 0 ? largest_eigenvalue_from(normal, fhd, enough_steps) : largest_eigenvalue(normal);
  return model.largest_eigenvalue;
}

template <class T>
std::vector<ConjugateGradientResult> solve_quadratic(const Model<T>& model, const Array<Complex<T>>& b,
                                                     Array<Complex<T>>& x, const ProgressCallback& progress,
                                                     const Context& context, int kept_residuals,
                                                     bool from_zero) {
  const LeastSquares& method = *least_squares(context.settings);
  return conjugate_gradients(model.problem.system(), b, x,
                             {.iterations = method.iterations,
                              .tolerance = method.tolerance,
                              .check_every = residual_interval(context.device()),
                              .kept_residuals = kept_residuals,
                              .from_zero = from_zero},
                             progress, model.preconditioner.get());
}

template <class T>
void verify_first_image(const Array<Complex<T>>& images, const Measurements<T>& data,
                        const Array<double>* weights, bool in_fields, double promised_accuracy,
                        const Context& context) {
  if (!context.services.verifier) return;
  RunLog& log = context.log;
  auto input = input_of(data, 0, 0, promised_accuracy);
  input.weights = weights;
  if (in_fields) set_fields(data.scan, input);
  Array<Complex<T>> first(Shape{images.extent(1), images.extent(2), images.extent(3)}, images.device());
  copy_range(images, 0, first, 0, first.size());
  input.adjoint = first.to(Device::cpu());
  log.stage("certificate", [&] { log.report.certificate = context.services.verifier->verify(input); });
}

template <class T>
Solution<T> solve(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
                  const Context& context) {
  const std::optional<std::int64_t> coil = model.has_maps ? std::nullopt : std::optional(std::int64_t{0});
  auto solved = !model.has_maps && data.scan.kspace.coil_count() > 1
                    ? solve_each_coil(model, data, operators, context)
                    : solve_samples(model, data, data.samples, coil, true, operators, context);
  context.log.setting("preconditioner", model.preconditioner ? "circulant" : "none");
  for (auto& volume : solved.volumes) volume.largest_eigenvalue *= model.map_unit * model.map_unit;
  for (auto& term : context.log.report.terms) term.weight *= data.unit(0) * model.map_unit;
  return solved;
}

#define FHD_INSTANTIATE(T)                                                                     \
  template std::vector<ConjugateGradientResult> solve_quadratic<T>(                            \
      const Model<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, const ProgressCallback&,  \
      const Context&, int, bool);                                                              \
  template double find_largest_eigenvalue<T>(Model<T>&, const Array<Complex<T>>&);             \
  template void check_solution<T>(Solution<T>&, const Model<T>&, const Measurements<T>&,       \
                                  const Array<Complex<T>>&, std::optional<std::int64_t>, bool, \
                                  TrajectoryOperators<T>&, const Context&);                    \
  template void verify_first_image<T>(const Array<Complex<T>>&, const Measurements<T>&,        \
                                      const Array<double>*, bool, double, const Context&);     \
  template Solution<T> solve<T>(Model<T>&, const Measurements<T>&, TrajectoryOperators<T>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

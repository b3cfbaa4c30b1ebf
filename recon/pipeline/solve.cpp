#include "recon/pipeline/solve.hpp"

#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/pipeline/conventional.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/sparse.hpp"
#include "recon/pipeline/verify.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

/// Returns the largest eigenvalue of E^H E, after the solution for E^H d = `fhd`. Few iterations say too little of it, and
/// those with a preconditioner nothing.
template <class T>
double eigenvalue_of(Model<T>& model, const QuadraticSolution& solved, const Array<Complex<T>>& fhd) {
  constexpr std::size_t enough_iterations = 3;
  const std::size_t residuals = solved.volume.relative_residuals.size();
  if (model.largest_eigenvalue > 0) return model.largest_eigenvalue;
  if (model.preconditioner && residuals > 1) return find_largest_eigenvalue(model, fhd);
  if (residuals <= enough_iterations) return largest_eigenvalue(*model.problem.normal);
  return solved.largest_ritz_value - model.problem.terms.front().weight;
}

template <class T>
void run_solver(Model<T>& model, Solution<T>& solution, const Context& context) {
  const Problem<T>& problem = model.problem;
  context.log.stage("conjugate gradient", [&] {
    const double weight = problem.terms.front().weight;
    if (weight != model.preconditioned_weight) {
      model.preconditioner = nullptr;  // its buffers go before those of the next are made
      model.preconditioner = preconditioner_of(model, weight, 0, context);
      model.preconditioned_weight = weight;
    }
    Array<Complex<T>> real;
    if (problem.is_real) {
      real = Array<Complex<T>>(solution.right_hand_sides);
      keep_real_part(real);
    }
    auto solved = solve_quadratic(model, problem.is_real ? real : solution.right_hand_sides, solution.images,
                                  context.log.progress(), context);
    for (auto& one : solved) {
      const auto number = static_cast<std::int64_t>(solution.volumes.size());
      one.volume.largest_eigenvalue =
          eigenvalue_of(model, one, one_of(solution.right_hand_sides, model.encoding->domain(), number));
      solution.volumes.push_back(std::move(one.volume));
    }
  });
}

/// Computes E images, with the transform that predictions are made with.
template <class T>
void predict_samples(const Model<T>& model, TrajectoryOperators<T>& operators, Solution<T>& solution,
                     const Shape& samples, const Context& context) {
  TransformSettings transform = operators.settings();
  solution.predicted = Array<Complex<T>>(samples, context.device());
  if (predicts_by_gridding(context.settings, transform.kind))
    transform = {TransformKind::gridded, prediction_accuracy};
  context.log.stage("data residual", [&] {
    model.encoding->forward_each_through(*operators.transform_of(transform), solution.images,
                                         solution.predicted);
  });
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
    solution.volumes[static_cast<std::size_t>(v)].data_residual =
        squares[count + v] == 0 ? 0 : std::sqrt(squares[v] / squares[count + v]);
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
Solved<T> solve_samples(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                        std::optional<std::int64_t> coil, bool is_first, TrajectoryOperators<T>& operators,
                        const Context& context) {
  const Shape image = model.encoding->domain(),
              stack{samples.extent(0) / model.encoding->range()[0], image[0], image[1], image[2]};
  Solution<T> solution{Array<Complex<T>>(stack, context.device()),
                       Array<Complex<T>>(stack, context.device())};
  context.log.stage("FhD", [&] { model.encoding->adjoint_each(samples, solution.right_hand_sides); });
  if (is_first) choose_lambda(model, data, samples, one_of(solution.right_hand_sides, image, 0), context);
  if (decide_solver(*least_squares(context.settings)) == SolverKind::admm)
    solve_sparse(model, solution, data, samples,
                 {samples.extent(0),
                  [&](const auto& b, auto& right_hand_side) {
                    model.encoding->adjoint(b, right_hand_side);
                    return norm_of_all(b, context.processes());
                  }},
                 is_first, context);
  else
    run_solver(model, solution, context);
  check_solution(solution, model, data, samples, coil, is_first, operators, context);
  return {std::move(solution.images), std::move(solution.volumes)};
}

/// Solves for one coil at a time, the strongest first. Reports the residuals of the coil that converged least.
template <class T>
Solved<T> solve_each_coil(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
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
  }
  auto image = combined(images, {});
  const Shape stack{1, image.extent(0), image.extent(1), image.extent(2)};
  return {std::move(image).reshaped(stack), {std::move(least)}};
}

template <class T>
Solved<T> solve_all(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
                    const Context& context) {
  if (!model.has_maps && data.scan.kspace.coil_count() > 1)
    return solve_each_coil(model, data, operators, context);
  const std::optional<std::int64_t> coil = model.has_maps ? std::nullopt : std::optional(std::int64_t{0});
  return solve_samples(model, data, data.samples, coil, true, operators, context);
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
std::vector<QuadraticSolution> solve_quadratic(const Model<T>& model, const Array<Complex<T>>& b,
                                               Array<Complex<T>>& x, const ProgressCallback& progress,
                                               const Context& context, int kept_residuals) {
  const LeastSquares& method = *least_squares(context.settings);
  auto results = conjugate_gradients(model.problem.system(), b, x,
                                     {.iterations = method.iterations,
                                      .tolerance = method.tolerance,
                                      .check_every = residual_interval(context.device()),
                                      .kept_residuals = kept_residuals,
                                      .from_zero = true},
                                     progress, model.preconditioner.get());
  std::vector<QuadraticSolution> solved(results.size());
  for (std::size_t v = 0; v < results.size(); ++v) {
    solved[v].volume.relative_residuals = std::move(results[v].relative_residuals);
    solved[v].volume.converged = results[v].converged;
    solved[v].largest_ritz_value = results[v].largest_ritz_value;
  }
  return solved;
}

void SolvedVolume::add_to(Report& report) const {
  report.relative_residuals = relative_residuals;
  report.objectives = objectives;
  report.converged = converged;
  report.data_residual = data_residual;
  report.largest_eigenvalue = largest_eigenvalue;
  report.certificate = certificate;
  report.verdict = verdict;
}

template <class T>
Solved<T> solve(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
                const Context& context) {
  auto solved = solve_all(model, data, operators, context);
  context.log.setting("preconditioner", model.preconditioner ? "circulant" : "none");
  for (auto& volume : solved.volumes) volume.largest_eigenvalue *= model.map_unit * model.map_unit;
  for (auto& term : context.log.report.terms) term.weight *= data.unit(0) * model.map_unit;
  return solved;
}

#define FHD_INSTANTIATE(T)                                                                     \
  template std::vector<QuadraticSolution> solve_quadratic<T>(const Model<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, const ProgressCallback&, const Context&, int); \
  template double find_largest_eigenvalue<T>(Model<T>&, const Array<Complex<T>>&);             \
  template void check_solution<T>(Solution<T>&, const Model<T>&, const Measurements<T>&,       \
                                  const Array<Complex<T>>&, std::optional<std::int64_t>, bool, \
                                  TrajectoryOperators<T>&, const Context&);                    \
  template Solved<T> solve<T>(Model<T>&, const Measurements<T>&, TrajectoryOperators<T>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

#include <algorithm>

#include "recon/array/vector_math.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/steps.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

template <class T>
void run_solver(const Problem<T>& problem, Solution<T>& solution, const Context& context) {
  const LeastSquares& method = *least_squares(context.settings);
  context.journal.stage("conjugate gradient", [&] {
    auto result =
        conjugate_gradient(problem.system(), solution.right_hand_side, solution.image,
                           {method.iterations, method.tolerance, residual_interval(context.device())},
                           context.journal.progress());
    context.journal.report.relative_residuals = std::move(result.relative_residuals);
    context.journal.report.converged = result.converged;
  });
}

/// E image, with the transform that predictions are made with.
template <class T>
void predict_samples(const Model<T>& model, TrajectoryOperators<T>& operators, Solution<T>& solution,
                     const Context& context) {
  TransformSettings transform = operators.settings();
  solution.predicted = Array<Complex<T>>(model.encoding->range(), context.device());
  if (predicts_by_gridding(context.settings, transform.kind))
    transform = {TransformKind::gridded, prediction_accuracy};
  context.journal.stage("data residual", [&] {
    model.encoding->forward_through(*operators.transform_of(transform), solution.image, solution.predicted);
  });
}

/// The image of all coils together, or of the `coil` whose samples these are; of several, the first one
/// (`is_first`) decides lambda where that is searched, and is the one that is verified.
template <class T>
Array<Complex<T>> solve_samples(Model<T>& model, const Measurements<T>& data,
                                const Array<Complex<T>>& samples, std::optional<std::int64_t> coil,
                                bool is_first, TrajectoryOperators<T>& operators, const Context& context) {
  const Shape image = model.encoding->domain();
  Solution<T> solution{Array<Complex<T>>(image, context.device()),
                       Array<Complex<T>>(image, context.device())};
  context.journal.stage("FhD", [&] { model.encoding->adjoint(samples, solution.right_hand_side); });
  if (is_first) choose_lambda(model, data, samples, solution.right_hand_side, context);
  run_solver(model.problem, solution, context);
  predict_samples(model, operators, solution, context);
  if (is_first && context.services.verifier)
    verify_solution(solution, model, data, coil, operators, context);
  auto& residual = solution.predicted;
  add_scaled(residual, T(-1), samples);
  const double d = norm_of_all(samples, context.processes());
  context.journal.report.data_residual = d == 0 ? 0 : norm_of_all(residual, context.processes()) / d;
  return std::move(solution.image);
}

/// One coil at a time, the strongest first. The report keeps the residuals of the coil that converged least.
template <class T>
Array<Complex<T>> solve_each_coil(Model<T>& model, const Measurements<T>& data,
                                  TrajectoryOperators<T>& operators, const Context& context) {
  const std::int64_t coils = data.samples.extent(0), sample_count = data.samples.extent(1);
  Array<Complex<T>> images(operators.transform()->images_shape(coils), context.device());
  Array<Complex<T>> samples(Shape{1, sample_count}, context.device());
  Report slowest, &report = context.journal.report;
  const std::int64_t strongest = strongest_coil(data.scan.kspace);
  for (std::int64_t i = 0; i < coils; ++i) {
    const std::int64_t coil = i == 0 ? strongest : i <= strongest ? i - 1 : i;
    copy_range(data.samples, coil * sample_count, samples, 0, sample_count);
    const auto image = solve_samples(model, data, samples, coil, i == 0, operators, context);
    copy_range(image, 0, images, coil * image.size(), image.size());
    if (i == 0 || report.relative_residuals.back() > slowest.relative_residuals.back()) {
      slowest.relative_residuals = report.relative_residuals;
      slowest.converged = report.converged;
    }
    slowest.data_residual = std::max(slowest.data_residual, report.data_residual);
  }
  report.relative_residuals = slowest.relative_residuals;
  report.data_residual = slowest.data_residual;
  report.converged = slowest.converged;
  return combined(std::move(images), {});
}

}  // namespace

template <class T>
Array<Complex<T>> solve(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
                        const Context& context) {
  context.journal.report.largest_eigenvalue = model.largest_eigenvalue * model.map_unit * model.map_unit;
  if (!model.has_maps) return solve_each_coil(model, data, operators, context);
  return solve_samples(model, data, data.samples, {}, true, operators, context);
}

template Array<Complex<float>> solve<float>(Model<float>&, const Measurements<float>&,
                                            TrajectoryOperators<float>&, const Context&);
template Array<Complex<double>> solve<double>(Model<double>&, const Measurements<double>&,
                                              TrajectoryOperators<double>&, const Context&);

}  // namespace fhd

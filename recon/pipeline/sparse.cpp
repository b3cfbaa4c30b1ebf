#include "recon/pipeline/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/array/vector_math.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {
namespace {

// The meaning of a strength. With m the mean eigenvalue of E^H E, c a magnitude of the image and rho = c rho',
// E^H E = m N', E^H d = m c b',
//
//     J = m c^2 (<rho', N' rho'> / 2 - Re <b', rho'> + sum_j weight_j / (m c) g_j(A_j rho')),
//
// so that strength_j = weight_j / (m c) is all that is left: the weight for an image of magnitude 1 whose every
// voxel is measured once. Data times a factor change c alone, every sample taken twice m alone. c: half of the
// energy of the first image (least squares, with the reference lambda) is in voxels below it, half above; empty
// space does not count, nor do a few voxels that are very bright.

/// Finds the first image, the start of the solvers, to about a per cent.
template <class T>
void find_first_image(const Model<T>& model, const Array<Complex<T>>& fhd, Array<Complex<T>>& image,
                      const Context& context) {
  const double lambda = reference_lambda * model.mean_eigenvalue;
  const RegularizedNormal<T> system(model.problem.normal, {{identity_term<T>(), lambda}});
  ConjugateGradientSettings settings{.iterations = first_image_iterations(!model.circulant.empty()),
                                     .tolerance = 1e-2,
                                     .check_every = residual_interval(context.device()),
                                     .from_zero = true};
  if (model.frames > 1) settings.kept_residuals = 0;  // each is as large as all frames
  conjugate_gradient(system, fhd, image, settings, {}, preconditioner_of(model, lambda, 0, context).get());
}

/// Returns the magnitude below which half of the energy of an image lies.
template <class T>
double magnitude_of(const Array<Complex<T>>& image) {
  const Array<Complex<T>> host = image.to(Device::cpu());
  std::vector<double> squares(host.size());
  std::transform(host.begin(), host.end(), squares.begin(),
                 [](Complex<T> v) { return norm(Complex<double>(v)); });
  std::sort(squares.begin(), squares.end());
  double all = 0, below = 0;
  for (const double square : squares) all += square;
  for (const double square : squares)
    if ((below += square) >= all / 2) return std::sqrt(square);
  return 0;
}

/// Runs ADMM from where `path` stands; `strength` is that of the first term.
template <class T>
void run_admm(Model<T>& model, const Array<Complex<T>>& fhd, double strength, const SparseSettings& limits,
              StrengthPath<T>& path, const ProgressCallback& progress, const Context& context) {
  AdmmSettings settings{limits};
  // Measured on strengths of 0.001 ... 0.05: half of it or twice takes some more iterations.
  settings.penalty = 0.7 * std::sqrt(strength) * model.mean_eigenvalue;
  settings.inner_iterations = inner_iterations(!model.circulant.empty());
  settings.check_every = residual_interval(context.device());
  const auto preconditioner = [&](double penalty) {
    model.preconditioner.reset();
    return model.preconditioner =
               preconditioner_of(model, model.problem.terms.front().weight, penalty, context);
  };
  path.solution =
      admm<T>(model.problem, fhd, path.image, settings, preconditioner, progress, std::move(path.solution));
}

/// Scales the duals, which grow with the weight of their term.
template <class T>
void scale_duals(const std::vector<SparsePenalty>& penalties, double factor, SparseSolution<T>& solution) {
  for (std::size_t j = 0; j < solution.duals.size(); ++j)
    if (!penalties[j].strength) scale(solution.duals[j], static_cast<T>(factor));
}

/// Sets the weights of the terms, and reports them. Where the noise decides, `path` goes to the strength found.
template <class T>
void choose_strengths(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                      const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, StrengthPath<T>& path,
                      const Context& context) {
  const double unit = model.mean_eigenvalue * model.image_share * magnitude_of(path.image);
  const auto& penalties = least_squares(context.settings)->sparse;
  const auto weigh = [&](double open) {
    for (std::size_t j = 0; j < penalties.size(); ++j)
      model.problem.sparse[j].weight = penalties[j].strength.value_or(open) * unit;
  };
  const auto go_to = [&](double open, StrengthPath<T>& of) {
    weigh(open);
    if (of.strength > 0) scale_duals(penalties, open / of.strength, of.solution);
    of.strength = open;
  };
  double open = 0;
  if (searches_strength(*least_squares(context.settings)))
    context.log.stage("search of strength", [&] {
      const StrengthSearch<T> search{
          [&](const auto& of, auto& found) { find_first_image(model, of, found, context); },
          [&](const auto& of, double strength, const SparseSettings& limits, auto& at) {
            go_to(strength, at);
            run_admm(model, of, penalties.front().strength.value_or(strength), limits, at, {}, context);
          }};
      open = search_strength(search, *model.problem.normal, data, samples, noise, fhd, path, context);
    });
  go_to(open, path);
  for (std::size_t j = 0; j < penalties.size(); ++j)
    context.log.report.terms.push_back(
        {name_of(penalties[j].kind), penalties[j].strength.value_or(open), model.problem.sparse[j].weight});
}

}  // namespace

template <class T>
void solve_sparse(Model<T>& model, Solution<T>& solution, const Measurements<T>& measured,
                  const Array<Complex<T>>& samples, const NoiseEncoding<T>& noise, bool is_first,
                  const Context& context) {
  const LeastSquares& method = *least_squares(context.settings);
  const Shape shape = model.problem.normal->domain();
  const auto fhd = one_of(solution.right_hand_sides, shape, 0);
  StrengthPath<T> path{one_of(solution.images, shape, 0)};
  context.log.stage("first image", [&] { find_first_image(model, fhd, path.image, context); });
  if (is_first) choose_strengths(model, measured, samples, noise, fhd, path, context);
  const double data = norm_of_all(samples, context.processes());
  context.log.stage(name_of(SolverKind::admm), [&] {
    run_admm(model, fhd, context.log.report.terms.front().strength,
             {method.iterations, std::min(0.5, method.tolerance)}, path, context.log.progress(), context);
    find_largest_eigenvalue(model, fhd);
  });
  SparseSolution<T>& found = path.solution;
  for (double& objective : found.objectives) objective = data > 0 ? 1 + 2 * objective / (data * data) : 0;
  solution.subgradient = std::move(found.subgradient);
  SolvedVolume& volume = solution.volumes.emplace_back();
  volume.relative_residuals = std::move(found.relative_residuals);
  volume.objectives = std::move(found.objectives);
  volume.converged = found.converged;
  volume.stationarity = found.stationarity;
  volume.largest_eigenvalue = model.largest_eigenvalue;
}

template void solve_sparse<float>(Model<float>&, Solution<float>&, const Measurements<float>&,
                                  const Array<Complex<float>>&, const NoiseEncoding<float>&, bool,
                                  const Context&);
template void solve_sparse<double>(Model<double>&, Solution<double>&, const Measurements<double>&,
                                   const Array<Complex<double>>&, const NoiseEncoding<double>&, bool,
                                   const Context&);

}  // namespace fhd

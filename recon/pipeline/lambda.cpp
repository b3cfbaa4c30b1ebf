#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/coils/noise.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/solve.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

/// Returns the norm of the noise in the samples of `channels` coils (all, or the strongest), in the unit of the
/// samples: from the noise readouts, else from the edge of k-space.
template <class T>
double noise_norm(const Measurements<T>& data, std::int64_t channels, RunLog& log) {
  const Scan& scan = data.scan;
  const auto covariance = known_noise(scan).covariance;
  if (!scan.noise)
    log.note("lambda", option_words("lambda", "auto") +
                           ": the scan has no noise readouts; the noise is taken from the edge of k-space, "
                           "where signal makes it look larger");
  const std::int64_t coils = scan.kspace.coil_count(), strongest = strongest_coil(scan.kspace);
  double variance = 0;
  for (std::int64_t coil = 0; coil < coils; ++coil)
    if (channels == coils || coil == strongest) variance += covariance.values[coil * coils + coil].re;
  return std::sqrt(variance * static_cast<double>(scan.trajectory.sample_count())) / data.unit(0);
}

/// Returns the data residual of the solution with lambda, which is found from `image` on and left there; adds a point
/// to the curve in the report.
template <class T>
double residual_at(double lambda, const Model<T>& model, const Array<Complex<T>>& fhd, double data_norm,
                   Array<Complex<T>>& image, Array<Complex<T>>& product, const Context& context) {
  Problem<T> problem = model.problem;
  problem.terms.front().weight = lambda;
  const LeastSquares& method = *least_squares(context.settings);
  conjugate_gradient(problem.system(), fhd, image, {method.iterations, method.tolerance}, {},
                     preconditioner_of(model, lambda, 0).get());
  problem.normal->forward(image, product);
  // |F rho - d|^2 = |d|^2 - 2 Re <rho, E^H d> + <rho, E^H E rho>: no transform of the samples.
  const double square = data_norm * data_norm - 2 * real_dot(image, fhd) + real_dot(image, product);
  const double residual = std::sqrt(std::max(square, 0.0)) / data_norm;
  auto& curve = context.log.report.lambda_curve;
  curve.push_back({lambda / model.largest_eigenvalue, residual,
                   std::sqrt(std::max(problem.terms.front().term->value(image), 0.0))});
  if (const auto& progress = context.log.progress())
    progress({"search of lambda", static_cast<std::int64_t>(curve.size()), 12, residual});
  return residual;
}

struct Discrepancy {
  std::optional<double> lambda;  ///< empty when no lambda tried brackets the noise
  bool stays_above = false;      ///< then: the residual was above the noise for all of them, or below
};

/// Finds lambda by the discrepancy principle: the one whose data residual, which grows with lambda, is the noise,
/// `aim`. The search goes from `start` in factors of ten until it has the noise between two lambdas, then halves
/// their distance on a logarithmic axis, down to a factor of 1.3. Source: Morozov, Soviet Math. Dokl. 7:414 (1966).
template <class ResidualAt>
Discrepancy find_lambda(double start, double lowest, double highest, double aim, const ResidualAt& residual) {
  double below = 0, above = 0;  // lambdas with a residual below and above the noise; 0: not yet
  const auto try_lambda = [&](double lambda) { (residual(lambda) < aim ? below : above) = lambda; };
  for (double next = start; next >= lowest && next <= highest;) {
    try_lambda(next);
    if (below > 0 && above > 0) break;
    next = below > 0 ? next * 10 : next / 10;
  }
  if (below == 0 || above == 0) return {std::nullopt, above > 0};
  while (above / below > 1.3) try_lambda(std::sqrt(below * above));
  return {std::sqrt(below * above), false};
}

/// Returns the lambda of the search, or the reference lambda where none within 1e-5 ... 1e2 of the mean eigenvalue
/// has the residual of the noise.
template <class T>
double searched_lambda(const Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                       const Array<Complex<T>>& fhd, const Context& context) {
  RunLog& log = context.log;
  const double start = reference_lambda * model.mean_eigenvalue;
  const double data_norm = norm_of_all(samples, context.processes()),
               noise = noise_norm(data, samples.extent(0), log);
  const double aim = log.report.noise_residual = data_norm == 0 ? 0 : noise / data_norm;
  if (data_norm == 0 || noise == 0) {
    log.note("lambda",
             option_words("lambda", "auto") + ": there is no noise to go by, the default lambda is used");
    return start;
  }
  Array<Complex<T>> image(fhd.shape(), fhd.device()), product(fhd.shape(), fhd.device());
  Discrepancy found;
  log.stage("search of lambda", [&] {
    found = find_lambda(
        start, 1e-5 * model.mean_eigenvalue, 1e2 * model.mean_eigenvalue, aim,
        [&](double lambda) { return residual_at(lambda, model, fhd, data_norm, image, product, context); });
  });
  auto& points = log.report.lambda_curve;
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.lambda < b.lambda; });
  const double largest_penalty = std::max(points.front().penalty, 1e-300);
  for (auto& point : points) point.penalty /= largest_penalty;
  if (found.lambda) {
    log.note("lambda", "lambda " + short_number(*found.lambda / model.largest_eigenvalue) +
                           " of the largest eigenvalue: there the data residual is the noise, " +
                           short_number(aim) + " of the data");
    return *found.lambda;
  }
  log.note("lambda", option_words("lambda", "auto") + ": the data residual stays " +
                         (found.stays_above ? "above" : "below") + " the noise (" + short_number(aim) +
                         ") whatever lambda is" +
                         (found.stays_above
                              ? ": something other than noise (maps, motion, off-resonance, a small matrix) "
                                "dominates"
                              : "") +
                         ", and the default lambda is used");
  return start;
}

}  // namespace

template <class T>
double norm_of_all(const Array<Complex<T>>& samples, const ProcessGroup& processes) {
  const double mine = norm_l2(samples);
  if (!processes.is_shared()) return mine;
  double square = mine * mine;
  processes.sum(&square, 1);
  return std::sqrt(square);
}

template <class T>
void choose_lambda(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                   const Array<Complex<T>>& fhd, const Context& context) {
  const LambdaChoice& choice = least_squares(context.settings)->lambda;
  double lambda = 0;
  if (const auto* of_mean = std::get_if<OfMeanEigenvalue>(&choice))
    lambda = of_mean->share * model.mean_eigenvalue;
  else if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&choice))
    lambda = of_largest->share * model.largest_eigenvalue;
  else
    lambda = searched_lambda(model, data, samples, fhd, context);
  model.problem.terms.front().weight = lambda;
  context.log.report.lambda = lambda * model.map_unit * model.map_unit;
}

#define FHD_INSTANTIATE(T)                                                                    \
  template double norm_of_all<T>(const Array<Complex<T>>&, const ProcessGroup&);              \
  template void choose_lambda<T>(Model<T>&, const Measurements<T>&, const Array<Complex<T>>&, \
                                 const Array<Complex<T>>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

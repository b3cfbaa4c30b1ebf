#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "recon/array/vector_math.hpp"
#include "recon/coils/noise.hpp"
#include "recon/coils/undersampling.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/first_image.hpp"
#include "recon/pipeline/risk.hpp"
#include "recon/pipeline/solve.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/transform/cartesian.hpp"

namespace fhd {
namespace {

// The search of lambda.
//
// Images of two lambdas tell how far one of them is from the image without noise. With N = E^H E, R = W^H W, the image
// rho = (N + l R)^-1 E^H d and the reference rho_0 of a small l_0,
//
//     (N + l_0 R)^-1 N rho = (l rho - l_0 rho_0) / (l - l_0),    since (l - l_0) N = l (N + l_0 R) - l_0 (N + l R).
//
// So the error that the reference sees, |B E (rho - rho_true)|^2 with B = (N + l_0 R)^-1 E^H, which is that of the image but
// for what l_0 takes off, has Stein's unbiased estimate
//
//     risk = (l / (l - l_0))^2 |rho - rho_0|^2 - |beta_0|^2 + 2 Re <beta_0, l beta - l_0 beta_0> / (l - l_0),
//
// beta and beta_0 being the images of one draw of noise like that of the data: rho is linear in d. The error of the samples,
// |E (rho - rho_true)|^2, was tried, too: where k-space is sampled unevenly its least lambda is five to twenty times as small,
// at up to 1.11 times the error of the default (validation/results/2026-11-26-lambda.md).
// Sources: Stein, Ann. Statist. 9:1135 (1981); Eldar, IEEE Trans. Signal Process. 57:471 (2009).

/// In mean eigenvalues of E^H E. The lambdas tried begin with the default and end at twice the reference.
constexpr double reference_share = 0.004;
constexpr RiskRange shares{reference_lambda, 2 * reference_share, 1};

/// Computes the risk of images of one lambda after the other.
template <class T>
class ImageRisk {
 public:
  ImageRisk(const Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
            const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, const Context& context)
      : model_(model),
        context_(context),
        fhd_(fhd),
        known_(known_noise(data.scan)),
        drawn_(fhd.shape(), fhd.device()),
        image_(fhd.shape(), fhd.device()),
        of_noise_(fhd.shape(), fhd.device()),
        data_norm_(norm_of_all(samples, context.processes())),
        noise_norm_(noise.adjoint(noise_of_samples(known_, data, noise.channels, context), drawn_)) {
    if (data_norm_ == 0 || noise_norm_ == 0) return;
    solve(reference_share * model.mean_eigenvalue);
    reference_ = Array<Complex<T>>(image_);
    reference_of_noise_ = Array<Complex<T>>(of_noise_);
  }

  /// Returns why the noise is not known well enough for a search, if so. Without noise readouts it is taken from what the
  /// reference leaves of the samples, if that is less than the edge of k-space, which holds signal, tells.
  std::optional<std::string> obstacle() {
    if (data_norm_ == 0 || noise_norm_ == 0) return "there is no noise to go by";
    // Rounding decides about smaller residuals; few values more than unknowns leave too little of the noise. More than the
    // noise that is known (the edge of k-space tells too much) is something else: with wrong maps, a small lambda harms.
    constexpr double least_residual = 1e-3, least_freedom = 0.1, most_variance = 1.15;
    const double square = square_left(), drawn = noise_norm_ * noise_norm_,
                 followed = real_dot(drawn_, reference_of_noise_),
                 left = variance_left(square, drawn, followed);
    const bool tells =
        drawn - followed >= least_freedom * drawn && std::sqrt(square) >= least_residual * data_norm_;
    if (tells && !(left <= most_variance))
      return "an image of a small lambda leaves " + short_number(std::sqrt(left)) +
             " times the noise of the data: something other than noise (maps, motion, off-resonance) "
             "dominates";
    if (known_.is_measured) return std::nullopt;
    if (!tells)
      return "the scan has no noise readouts, and its samples, hardly more than the voxels or almost without "
             "noise, do not tell the noise";
    variance_ = std::min(1.0, left);
    return std::nullopt;
  }

  double noise_residual() const { return std::sqrt(variance_) * noise_norm_ / data_norm_; }
  bool is_measured() const { return known_.is_measured; }

  /// Returns the point of a lambda.
  LambdaPoint at(double lambda) {
    solve(lambda);
    LambdaPoint point{lambda / model_.largest_eigenvalue, std::sqrt(square_left()) / data_norm_};
    const double reference = reference_share * model_.mean_eigenvalue, share = lambda / (lambda - reference),
                 noise = variance_ * real_dot(reference_of_noise_, reference_of_noise_);
    Array<Complex<T>> change(image_);
    add_scaled(change, T(-1), reference_);
    const double covariance =
        variance_ * (share * real_dot(reference_of_noise_, of_noise_)) - (share - 1) * noise;
    point.risk = (share * share * real_dot(change, change) - noise + 2 * covariance) / noise;
    return point;
  }

 private:
  /// Solves for the images of the data and of the noise, from those of the last lambda.
  void solve(double lambda) {
    Problem<T> problem = model_.problem;
    problem.terms.front().weight = lambda;
    const auto system = problem.system();
    const auto preconditioner = preconditioner_of(model_, lambda, 0);
    const ConjugateGradientSettings limits{
        .iterations = 100, .tolerance = 1e-4, .check_every = residual_interval(context_.device())};
    conjugate_gradient(system, fhd_, image_, limits, {}, preconditioner.get());
    conjugate_gradient(system, drawn_, of_noise_, limits, {}, preconditioner.get());
  }
  /// Returns |E rho - d|^2 = |d|^2 - 2 Re <rho, E^H d> + <rho, E^H E rho>: no transform of the samples.
  double square_left() const {
    Array<Complex<T>> product(image_.shape(), image_.device());
    model_.problem.normal->forward(image_, product);
    add_scaled(product, T(-2), fhd_);
    return std::max(0.0, data_norm_ * data_norm_ + real_dot(image_, product));
  }

  const Model<T>& model_;
  const Context& context_;
  const Array<Complex<T>>& fhd_;
  KnownNoise known_;
  Array<Complex<T>> drawn_;                           ///< E^H b
  Array<Complex<T>> image_, of_noise_;                ///< rho, beta
  Array<Complex<T>> reference_, reference_of_noise_;  ///< rho_0, beta_0
  double data_norm_, noise_norm_;                     ///< |d|, |b|
  double variance_ = 1;                               ///< of the noise, over that drawn
};

/// Returns the lambda of the least risk, or the default where the noise is not known well enough.
template <class T>
double searched_lambda(const Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                       const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, const Context& context) {
  RunLog& log = context.log;
  ImageRisk<T> risk(model, data, samples, noise, fhd, context);
  if (const auto obstacle = risk.obstacle()) {
    log.note("lambda", option_words("lambda", "auto") + ": the default lambda is used, because " + *obstacle);
    return OfMeanEigenvalue{}.share * model.mean_eigenvalue;
  }
  log.report.noise_residual = risk.noise_residual();
  auto& points = log.report.lambda_curve;
  const auto [share, is_at_limit] = least_risk(shares, [&](double tried) {
    points.push_back(risk.at(tried * model.mean_eigenvalue));
    if (const auto& progress = log.progress())
      progress({"search of lambda", static_cast<std::int64_t>(points.size()), 5, points.back().risk});
    return points.back().risk;
  });
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.lambda < b.lambda; });
  const double lambda = share * model.mean_eigenvalue;
  if (!risk.is_measured())
    log.note("lambda",
             option_words("lambda", "auto") +
                 ": the scan has no noise readouts; the noise is taken from the edge of k-space, or "
                 "from what an image of a small lambda leaves, whichever is less");
  log.note(
      "lambda",
      "lambda " + short_number(lambda / model.largest_eigenvalue) + " of the largest eigenvalue" +
          (is_at_limit ? ": the estimated error falls on beyond the lambdas tried, and the last one is used"
                       : ": there the estimated error of the image (Stein's unbiased risk) is least"));
  return lambda;
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
                   const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, const Context& context) {
  const LambdaChoice& choice = least_squares(context.settings)->lambda;
  double lambda = 0;
  if (std::holds_alternative<StandardLambda>(choice))
    lambda = OfMeanEigenvalue{}.share * model.mean_eigenvalue;
  else if (const auto* of_mean = std::get_if<OfMeanEigenvalue>(&choice))
    lambda = of_mean->share * model.mean_eigenvalue;
  else if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&choice))
    lambda = of_largest->share * model.largest_eigenvalue;
  else if (std::holds_alternative<FromNoise>(choice))
    context.log.stage("search of lambda",
                      [&] { lambda = searched_lambda(model, data, samples, noise, fhd, context); });
  model.problem.terms.front().weight = lambda;
  context.log.report.lambda = lambda * model.map_unit * model.map_unit;
}

namespace {

/// Returns whether the sum of squares of the maps is about the same wherever it is not 0, as of maps that are found in a scan.
template <class T>
bool is_even(const SenseEncoding<T>& sense) {
  double count = 0, squares = 0, fourths = 0;
  for (const auto& root : root_sum_of_squares(sense.maps()).to(Device::cpu())) {
    const double square = double{root.re} * root.re;
    count += square > 0, squares += square, fourths += square * square;
  }
  return count * fourths <= 1.1 * squares * squares;
}

}  // namespace

template <class T>
bool adapt_lambda(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                  const Array<Complex<T>>& fhd, Array<Complex<T>>& image, const Context& context) {
  const LeastSquares& method = *least_squares(context.settings);
  const auto& matrix_size = data.scan.geometry.matrix_size;
  if (!std::holds_alternative<StandardLambda>(method.lambda) || !method.sparse.empty() ||
      !std::holds_alternative<IdentityPenalty>(method.regularizer) || !model.has_maps ||
      model.problem.is_real || !is_cartesian(data.scan.trajectory, matrix_size) ||
      lattice_sampling(data.scan.trajectory, matrix_size).reduction < 2)
    return false;
  // A grid, so that noise and rounding as a rule do not change lambda from volume to volume.
  // Where the sum of squares of the maps is uneven, a large lambda would shade the image.
  constexpr double factor = 40, grid = 1.2;
  const double most = is_even(*model.encoding) ? 0.5 : OfMeanEigenvalue{}.share;
  double share = 0;
  context.log.stage("first image", [&] {
    find_first_image(model, fhd, image, context);
    share = factor * misfit_over_image(model, image, magnitude_of(image), fhd, samples, context) /
            model.mean_eigenvalue;
  });
  if (!(share > 0)) return true;
  share =
      std::min(most, std::pow(grid, std::round(std::log(std::max(share, least_penalty)) / std::log(grid))));
  model.problem.terms.front().weight = share * model.mean_eigenvalue;
  context.log.report.lambda = share * model.mean_eigenvalue * model.map_unit * model.map_unit;
  const std::string words = short_number(share) + " of the mean eigenvalue";
  for (auto& [name, value] : context.log.report.settings)
    if (name == "lambda") value = words;
  context.log.note("lambda", "lambda is " + words + ", from what a first image leaves of the samples");
  return true;
}

#define FHD_INSTANTIATE(T)                                                                     \
  template double norm_of_all<T>(const Array<Complex<T>>&, const ProcessGroup&);               \
  template bool adapt_lambda<T>(Model<T>&, const Measurements<T>&, const Array<Complex<T>>&,   \
                                const Array<Complex<T>>&, Array<Complex<T>>&, const Context&); \
  template void choose_lambda<T>(Model<T>&, const Measurements<T>&, const Array<Complex<T>>&,  \
                                 const NoiseEncoding<T>&, const Array<Complex<T>>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

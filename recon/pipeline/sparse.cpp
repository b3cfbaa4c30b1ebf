#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "recon/array/vector_math.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/first_image.hpp"
#include "recon/pipeline/risk.hpp"
#include "recon/pipeline/solve.hpp"
#include "recon/pipeline/stable_image.hpp"
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

// The search of a strength by the noise.
//
// With E |n|^2 = sum of the covariance C over samples, Stein's
// unbiased estimate of |E rho - E rho_0|^2, rho_0 the image without noise, is
//
//     risk = |E rho - d|^2 - E |n|^2 + 2 Re <b, E rho(d + e b) - E rho(d)> / e,    b: noise like that of d,
//
// in which the last term, by one draw of b, counts the noise that the image follows. Sources: Stein, Ann. Statist.
// 9:1135 (1981); Ramani, Blu and Unser, IEEE Trans. Image Process. 17:1540 (2008). The residual alone
// does not tell the strength: an image follows some of the noise, so that its residual is less than the noise
// (validation/results/2026-11-23-auto.md).

/// An image on its way from one strength of the term that is sought to the next, with what the solver left.
template <class T>
struct StrengthPath {
  Array<Complex<T>> image;  ///< of the shape of right-hand sides
  double strength = 0;      ///< of the solution; 0: none yet
  SparseSolution<T> solution{};

  /// Moves to the image of another path: *this += share (other - *this), with the duals and auxiliary unknowns.
  void move_towards(const StrengthPath& other, double share) {
    const auto move = [&](const Array<Complex<T>>& from, Array<Complex<T>>& to) {
      scale(to, static_cast<T>(1 - share));
      add_scaled(to, static_cast<T>(share), from);
    };
    move(other.image, image);
    for (std::size_t j = 0; j < solution.duals.size(); ++j) move(other.solution.duals[j], solution.duals[j]);
    if (!solution.auxiliary.empty()) move(other.solution.auxiliary, solution.auxiliary);
  }
  int iterations() const { return static_cast<int>(solution.relative_residuals.size()) - 1; }
};

/// Runs ADMM from where `path` stands; `strength` is that of the first term.
template <class T>
void run_admm(Model<T>& model, const Array<Complex<T>>& fhd, double strength, AdmmSettings settings,
              StrengthPath<T>& path, const ProgressCallback& progress, const Context& context) {
  // Measured on strengths of 0.001 ... 0.05: terms of frames need fewer products with twice the penalty of others, images by
  // themselves more (validation/results/2026-11-26-sparse.md).
  settings.penalty =
      (temporal_kind(context.settings) ? 1.4 : 0.7) * std::sqrt(strength) * model.mean_eigenvalue;
  settings.inner_iterations = inner_iterations(!model.circulant.empty());
  settings.check_every = residual_interval(context.device());
  const auto preconditioner = [&](double penalty) {
    model.preconditioner.reset();
    return model.preconditioner = preconditioner_of(model, model.problem.terms.front().weight, penalty);
  };
  path.solution =
      admm<T>(model.problem, fhd, path.image, settings, preconditioner, progress, std::move(path.solution));
}

/// Sets the floor beside the terms, from the first image, and reports it.
template <class T>
void choose_floor(Model<T>& model, const Array<Complex<T>>& samples, const Array<Complex<T>>& fhd,
                  const Array<Complex<T>>& image, double magnitude, const Context& context) {
  const auto* floor = std::get_if<BelowNoise>(&least_squares(context.settings)->lambda);
  if (floor == nullptr) return;
  const double misfit = misfit_over_image(model, image, magnitude, fhd, samples, context),
               share = std::min(reference_lambda, floor->share * misfit / model.mean_eigenvalue);
  model.problem.terms.front().weight = share * model.mean_eigenvalue;
  context.log.report.lambda = share * model.mean_eigenvalue * model.map_unit * model.map_unit;
  context.log.note("floor",
                   "identity:" + short_number(share) +
                       " is added as a floor, too small to be seen where the samples determine the image; " +
                       option_words("regularizer", "identity:0,...") + " leaves it out");
}

/// Sets the weights of the terms, `open` times the unit of strengths where the noise decides, and takes a path there: duals
/// grow with the weight of their term.
template <class T>
void go_to_strength(double open, double unit, Model<T>& model, StrengthPath<T>& path,
                    const Context& context) {
  const auto& penalties = least_squares(context.settings)->sparse;
  for (std::size_t j = 0; j < penalties.size(); ++j) {
    model.problem.sparse[j].weight = penalties[j].strength.value_or(open) * unit;
    if (!penalties[j].strength && path.strength > 0 && !path.solution.duals.empty())
      scale(path.solution.duals[j], static_cast<T>(open / path.strength));
  }
  path.strength = open;
}

constexpr RiskRange strengths{0.01, 1e-5, 1};
/// Limits of each image of the search, which starts where that of the last strength ended. The estimate is unbiased
/// for any function of the data, of few iterations as well; with these the strengths are those of converged images to
/// within what their errors tell apart, for a fourth to an eighth of the iterations
/// (validation/results/2026-11-23-auto.md).
constexpr AdmmSettings search_limits{4, sparse_tolerance};
/// The share of the noise that is added: small compared with that of the data, large compared with what the solver
/// leaves.
constexpr double probe_share = 0.5;

/// Computes the risk of images, from scalar products of images alone.
template <class T>
class Risk {
 public:
  /// `unit`: of strengths.
  Risk(Model<T>& model, double unit, const Measurements<T>& data, const Array<Complex<T>>& samples,
       const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, StrengthPath<T>& path,
       StableImage<T>& stable, const Context& context)
      : model_(model),
        stable_(stable),
        unit_(unit),
        context_(context),
        fhd_(fhd),
        path_(path),
        probe_(fhd.shape(), fhd.device()),
        disturbed_(fhd.to(fhd.device())),
        disturbed_path_{Array<Complex<T>>(fhd.shape(), fhd.device())},
        offset_(fhd.shape(), fhd.device()),
        change_(fhd.shape(), fhd.device()),
        product_(fhd.shape(), fhd.device()),
        first_(path.image.to(path.image.device())) {
    const KnownNoise known = known_noise(data.scan);
    is_measured_ = known.is_measured;
    data_norm_ = norm_of_all(samples, context.processes());
    noise_norm_ = noise.adjoint(noise_of_samples(known, data, noise.channels, context), probe_);
    model_.problem.normal->forward(first_, offset_);
    add_scaled(offset_, T(-2), fhd);
    first_square_ = data_norm_ * data_norm_ + real_dot(first_, offset_);
    disturb();
    find_first_image(model_, disturbed_, disturbed_path_.image, context_);
    if (!is_measured_ && noise_norm_ > 0) lessen_noise();
  }

  double noise_norm() const { return noise_norm_; }
  double data_norm() const { return data_norm_; }
  bool is_measured() const { return is_measured_; }

  /// Returns the point of a strength, whose image is solved from the last one.
  StrengthPoint at(double strength) {
    const auto [square, followed] = fit(strength);
    const double noise = noise_norm_ * noise_norm_;
    return {strength, std::sqrt(square) / data_norm_, (square - noise + 2 * followed) / noise};
  }

 private:
  struct Fit {
    double square;    ///< |E rho - d|^2
    double followed;  ///< Re <b, E rho(d + e b) - E rho(d)> / e: of the noise, what the image follows
  };
  /// Solves with the term, from where the path has come; at most so many iterations, to this residual.
  void solve(const Array<Complex<T>>& fhd, double strength, const AdmmSettings& limits,
             StrengthPath<T>& path) {
    go_to_strength(strength, unit_, model_, path, context_);
    const auto& first = least_squares(context_.settings)->sparse.front();
    run_admm(model_, fhd, first.strength.value_or(strength), limits, path, {}, context_);
  }
  /// Solves for both images by as many iterations: what they leave undone is alike, and changes their difference
  /// less.
  Fit fit(double strength) {
    do solve(fhd_, strength, search_limits, path_);
    while (stable_.hold(path_.image));
    solve(disturbed_, strength, {path_.iterations(), 0}, disturbed_path_);
    // The square is that of the first image, which is near, and the rest: rounding of large products does not count.
    copy(path_.image, change_);
    model_.problem.normal->forward(path_.image, product_);
    add_scaled(product_, T(1), offset_);
    add_scaled(change_, T(-1), first_);
    const double square = std::max(0.0, first_square_ + real_dot(change_, product_));
    copy(disturbed_path_.image, change_);
    add_scaled(change_, T(-1), path_.image);
    return {square, real_dot(probe_, change_) / probe_share};
  }

  /// Sets d + e b in the place of d.
  void disturb() {
    copy(fhd_, disturbed_);
    add_scaled(disturbed_, T(probe_share), probe_);
  }

  /// Lowers the noise where an image shows that it is less: the edge of k-space holds signal too. An image leaves of
  /// the data the noise that it does not follow, and more where the model does not explain them: where that is less,
  /// it is nearer.
  void lessen_noise() {
    const auto [square, followed] = fit(strengths.first);
    const double share = std::sqrt(variance_left(square, noise_norm_ * noise_norm_, followed));
    if (!(share > 0 && share < 1)) return;
    noise_norm_ *= share;
    scale(probe_, T(share));
    disturb();
    disturbed_path_.move_towards(path_, 1 - share);
  }

  Model<T>& model_;
  StableImage<T>& stable_;
  double unit_;
  const Context& context_;
  const Array<Complex<T>>& fhd_;
  StrengthPath<T>& path_;
  Array<Complex<T>> probe_;         ///< E^H b
  Array<Complex<T>> disturbed_;     ///< E^H (d + e b)
  StrengthPath<T> disturbed_path_;  ///< rho(d + e b)
  Array<Complex<T>> offset_;        ///< E^H E of the first image, less 2 E^H d
  Array<Complex<T>> change_, product_, first_;
  double data_norm_ = 0, noise_norm_ = 0, first_square_ = 0;
  bool is_measured_ = false;
};

/// Returns the strength of the one sparse term that leaves it to the noise: the minimum of Stein's unbiased risk estimate
/// over strengths, or a default where there is no noise to go by. `path` starts with the first image, and ends near that of
/// the strength. The curve goes to the report.
template <class T>
double search_strength(Model<T>& model, double unit, const Measurements<T>& data,
                       const Array<Complex<T>>& samples, const NoiseEncoding<T>& noise,
                       const Array<Complex<T>>& fhd, StrengthPath<T>& path, StableImage<T>& stable,
                       const Context& context) {
  RunLog& log = context.log;
  Risk<T> risk(model, unit, data, samples, noise, fhd, path, stable, context);
  if (risk.data_norm() == 0 || risk.noise_norm() == 0) {
    constexpr double default_strength = 0.005;
    log.note("strength", option_words("regularizer", "auto") +
                             ": there is no noise to go by, the strength is " +
                             short_number(default_strength));
    return default_strength;
  }
  log.report.noise_residual = risk.noise_norm() / risk.data_norm();
  auto& points = log.report.strength_curve;
  const auto [strength, at_limit] = least_risk(strengths, [&](double tried) {
    points.push_back(risk.at(tried));
    if (const auto& progress = log.progress())
      progress({"search of strength", static_cast<std::int64_t>(points.size()), 5, points.back().risk});
    return points.back().risk;
  });
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.strength < b.strength; });
  if (!risk.is_measured())
    log.note("strength", option_words("regularizer", "auto") +
                             ": the scan has no noise readouts; the noise is taken from the edge of k-space, "
                             "or from what an image of strength 0.01 leaves, whichever is less");
  log.note(
      "strength",
      "strength " + short_number(strength) +
          (at_limit ? ": the estimated error falls on beyond the strengths tried, and the last one is used"
                    : ": there the estimated error (Stein's unbiased risk) is least"));
  return strength;
}

/// Sets the weights of the terms, and reports them. Where the noise decides, `path` goes to the strength found.
template <class T>
void choose_strengths(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                      const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, StrengthPath<T>& path,
                      StableImage<T>& stable, const Context& context) {
  const double unit = model.mean_eigenvalue * model.image_share * stable.magnitude_of_first();
  const auto& penalties = least_squares(context.settings)->sparse;
  double open = 0;
  if (searches_strength(*least_squares(context.settings)))
    context.log.stage("search of strength", [&] {
      open = search_strength(model, unit, data, samples, noise, fhd, path, stable, context);
    });
  stable.release();
  go_to_strength(open, unit, model, path, context);
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
  StableImage<T> stable(model, path.image, measured.scan, context);
  if (is_first) {
    choose_floor(model, samples, fhd, path.image, stable.magnitude_of_first(), context);
    choose_strengths(model, measured, samples, noise, fhd, path, stable, context);
  }
  const double data = norm_of_all(samples, context.processes());
  SparseSolution<T>& found = path.solution;
  std::vector<double> residuals, objectives;  // of solutions before places were held
  context.log.stage(name_of(SolverKind::admm), [&] {
    for (;;) {
      run_admm(model, fhd, context.log.report.terms.front().strength,
               {method.iterations, std::min(0.5, method.tolerance)}, path, context.log.progress(), context);
      if (!stable.hold(path.image)) break;
      residuals.insert(residuals.end(), found.relative_residuals.begin(), found.relative_residuals.end() - 1);
      objectives.insert(objectives.end(), found.objectives.begin(), found.objectives.end() - 1);
    }
    residuals.insert(residuals.end(), found.relative_residuals.begin(), found.relative_residuals.end());
    objectives.insert(objectives.end(), found.objectives.begin(), found.objectives.end());
    find_largest_eigenvalue(model, fhd);
  });
  for (double& objective : objectives) objective = data > 0 ? 1 + 2 * objective / (data * data) : 0;
  solution.subgradient = std::move(found.subgradient);
  SolvedVolume& volume = solution.volumes.emplace_back();
  volume.relative_residuals = std::move(residuals);
  volume.objectives = std::move(objectives);
  volume.hot_spot = stable.hot_spot();
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

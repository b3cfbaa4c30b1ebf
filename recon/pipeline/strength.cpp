// The strength of a sparse term from the noise. With E |n|^2 = sum of the covariance C over samples, Stein's
// unbiased estimate of |E rho - E rho_0|^2, rho_0 the image without noise, is
//
//     risk = |E rho - d|^2 - E |n|^2 + 2 Re <b, E rho(d + e b) - E rho(d)> / e,    b: noise like that of d,
//
// in which the last term, by one draw of b, counts the noise that the image follows. Sources: Stein, Ann. Statist.
// 9:1135 (1981); Ramani, Blu and Unser, IEEE Trans. Image Process. 17:1540 (2008). Its minimum was tried beside
// the discrepancy principle (the residual is the noise, as for lambda), which takes two to four times the
// strength: an image follows some of the noise, so that its residual is less
// (validation/results/2026-11-23-auto.md).
#include <algorithm>
#include <cmath>
#include <map>

#include "recon/array/vector_math.hpp"
#include "recon/coils/noise.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/sparse.hpp"

namespace fhd {
namespace {

constexpr double first_strength = 0.01, least_strength = 1e-5, largest_strength = 1, step = 2.5;
/// Limits of each image of the search, which starts where that of the last strength ended. The estimate is unbiased
/// for any function of the data, of few iterations as well; with these the strengths are those of converged images to
/// within what their errors tell apart, for a fourth to an eighth of the iterations
/// (validation/results/2026-11-23-auto.md).
constexpr SparseSettings limits{4, sparse_tolerance};
/// The share of the noise that is added: small compared with that of the data, large compared with what the solver
/// leaves.
constexpr double probe_share = 0.5;

/// Returns noise like that of the samples of the coils that are solved for: all, or the strongest.
template <class T>
Array<Complex<T>> noise_of_samples(const KnownNoise& noise, const Measurements<T>& data,
                                   std::int64_t channels, const Context& context) {
  const std::int64_t coils = data.scan.kspace.coil_count(), samples = data.scan.kspace.sample_count();
  Array<Complex<double>> covariance = covariance_to_draw(noise);
  if (channels != coils) {
    const std::int64_t coil = strongest_coil(data.scan.kspace);
    covariance = Array<Complex<double>>({1, 1});
    covariance[0] = noise.covariance.values[coil * coils + coil];
  }
  const double unit = data.unit(0);
  for (auto& value : covariance) value *= 1 / (unit * unit);
  const auto all = noise_like(covariance, samples, 0);
  return converted<Complex<T>>(columns_of(all, share_of(samples, context.processes()))).to(context.device());
}

/// Computes the risk of images, from scalar products of images alone.
template <class T>
class Risk {
 public:
  Risk(const StrengthSearch<T>& search, const HermitianOperator<T>& normal, const Measurements<T>& data,
       const Array<Complex<T>>& samples, const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd,
       StrengthPath<T>& path, const Context& context)
      : search_(search),
        normal_(normal),
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
    normal_.forward(first_, offset_);
    add_scaled(offset_, T(-2), fhd);
    first_square_ = data_norm_ * data_norm_ + real_dot(first_, offset_);
    disturb();
    search_.first_image(disturbed_, disturbed_path_.image);
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
  /// Solves for both images by as many iterations: what they leave undone is alike, and changes their difference
  /// less.
  Fit fit(double strength) {
    search_.solve(fhd_, strength, limits, path_);
    search_.solve(disturbed_, strength, {path_.iterations(), 0}, disturbed_path_);
    // The square is that of the first image, which is near, and the rest: rounding of large products does not count.
    copy(path_.image, change_);
    normal_.forward(path_.image, product_);
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
  /// it is nearer. Source: Wahba, J. R. Stat. Soc. B 45:133 (1983).
  void lessen_noise() {
    const auto [square, followed] = fit(first_strength);
    const double share = std::sqrt(square / (noise_norm_ * noise_norm_ - followed));
    if (!(share > 0 && share < 1)) return;
    noise_norm_ *= share;
    scale(probe_, T(share));
    disturb();
    disturbed_path_.move_towards(path_, 1 - share);
  }

  const StrengthSearch<T>& search_;
  const HermitianOperator<T>& normal_;
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

/// The strengths tried, with their risks, on a logarithmic axis.
class Curve {
 public:
  explicit Curve(std::function<double(double)> risk_at) : risk_at_(std::move(risk_at)) {}

  /// Returns the strength of the lowest risk: steps downhill from the first strength until the risk rises again on
  /// both sides; then tries where the parabola through the lowest and its neighbours is lowest.
  double minimum() {
    take(first_strength);
    take(first_strength * step);
    for (auto best = lowest(); best == points_.begin() && take(best->first / step); best = lowest()) {
    }
    for (auto best = lowest(); std::next(best) == points_.end() && take(best->first * step);
         best = lowest()) {
    }
    if (!is_at_end(lowest())) take(of_parabola());
    return lowest()->first;
  }
  bool ends_at_limit() { return is_at_end(lowest()); }

 private:
  using Points = std::map<double, double>;

  /// Adds a strength; returns false beyond the limits.
  bool take(double strength) {
    if (strength < least_strength || strength > largest_strength) return false;
    points_.emplace(strength, 0).first->second = risk_at_(strength);
    return true;
  }
  Points::iterator lowest() {
    return std::min_element(points_.begin(), points_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
  }
  bool is_at_end(Points::iterator at) { return at == points_.begin() || std::next(at) == points_.end(); }
  /// Returns the lowest place of the parabola, between the neighbours of the lowest point and not nearer to it than a
  /// tenth of the way.
  double of_parabola() {
    const auto middle = lowest(), left = std::prev(middle), right = std::next(middle);
    const double x = std::log(middle->first), a = std::log(left->first) - x, b = std::log(right->first) - x,
                 of_a = (left->second - middle->second) / a, of_b = (right->second - middle->second) / b;
    const double curvature = (of_b - of_a) / (b - a);
    double at = curvature > 0 ? (of_a * b - of_b * a) / (a - b) / (2 * curvature) : 0;
    at = std::clamp(at, 0.9 * a, 0.9 * b);
    const double least = 0.1 * (at < 0 ? a : b);
    return std::exp(x + (std::abs(at) < std::abs(least) ? least : at));
  }

  std::function<double(double)> risk_at_;
  Points points_;
};

void tell(RunLog& log, double strength, bool at_limit, bool is_measured) {
  if (!is_measured)
    log.note("strength",
                 "--regularizer auto: the scan has no noise readouts; the noise is taken from the edge of "
                 "k-space, or "
                 "from what an image of strength 0.01 leaves, whichever is less");
  log.note(
      "strength",
      "strength " + short_number(strength) +
          (at_limit ? ": the estimated error falls on beyond the strengths tried, and the last one is used"
                    : ": there the estimated error (Stein's unbiased risk) is least"));
}

}  // namespace

template <class T>
void StrengthPath<T>::move_towards(const StrengthPath& other, double share) {
  const auto move = [&](const Array<Complex<T>>& from, Array<Complex<T>>& to) {
    scale(to, static_cast<T>(1 - share));
    add_scaled(to, static_cast<T>(share), from);
  };
  move(other.image, image);
  for (std::size_t j = 0; j < solution.duals.size(); ++j) move(other.solution.duals[j], solution.duals[j]);
  if (!solution.auxiliary.empty()) move(other.solution.auxiliary, solution.auxiliary);
}

template <class T>
double search_strength(const StrengthSearch<T>& search, const HermitianOperator<T>& normal,
                       const Measurements<T>& data, const Array<Complex<T>>& samples,
                       const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, StrengthPath<T>& path,
                       const Context& context) {
  RunLog& log = context.log;
  Risk<T> risk(search, normal, data, samples, noise, fhd, path, context);
  if (risk.data_norm() == 0 || risk.noise_norm() == 0) {
    log.note("strength", "--regularizer auto: there is no noise to go by, the strength is " +
                                 short_number(default_strength));
    return default_strength;
  }
  log.report.noise_residual = risk.noise_norm() / risk.data_norm();
  auto& points = log.report.strength_curve;
  Curve curve([&](double strength) {
    points.push_back(risk.at(strength));
    if (const auto& progress = log.progress())
      progress({"search of strength", static_cast<std::int64_t>(points.size()), 5, points.back().risk});
    return points.back().risk;
  });
  const double strength = curve.minimum();
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.strength < b.strength; });
  tell(log, strength, curve.ends_at_limit(), risk.is_measured());
  return strength;
}

template struct StrengthPath<float>;
template struct StrengthPath<double>;
template double search_strength<float>(const StrengthSearch<float>&, const HermitianOperator<float>&,
                                       const Measurements<float>&, const Array<Complex<float>>&,
                                       const NoiseEncoding<float>&, const Array<Complex<float>>&,
                                       StrengthPath<float>&, const Context&);
template double search_strength<double>(const StrengthSearch<double>&, const HermitianOperator<double>&,
                                        const Measurements<double>&, const Array<Complex<double>>&,
                                        const NoiseEncoding<double>&, const Array<Complex<double>>&,
                                        StrengthPath<double>&, const Context&);

}  // namespace fhd

// Arms of a scan whose contrast changes from readout to readout, as in fingerprinting. Tissues recover each in its own
// way, so that one factor for each readout does not hold; the signals of all lie near a space of few time courses
// (McGivney et al., IEEE TMI 33:2311, 2014). The samples of arm j near the centre of k-space are
//
//     d_j = sum over r of g_jr E_j x_r,   r = 1 ... 3,
//
// with images x_r of each coil, and factors g_jr of each arm that are as free as the data. Both are fitted in turns, each by
// linear least squares, to arms of equal energy. What is left of right scans depends on their tissues (0.4 to 9.5 % of |d|
// in simulated ones), so that its size tells nothing; but other positions or a moving object that leave a quarter of its energy
// do, as does an order that leaves no less than a random one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "recon/array/linear_algebra.hpp"
#include "recon/domain/report.hpp"
#include "recon/trajectory/small_grid.hpp"
#include "validation/verdict/arm_tests.hpp"
#include "validation/verdict/readout_order.hpp"

namespace fhd::validation {
namespace {

constexpr Index time_courses = 3;
constexpr double contrast_radius = 3, contrast_field = 1;  ///< cycles/FOV; FOVs

/// Keeps the places that all arms have within the radius.
void keep_common_places(ArmSamples& arms) {
  std::vector<Index> kept;
  for (Index i = 0; i < arms.places; ++i) {
    bool is_inside = true;
    for (Index arm = 0; arm < arms.arms && is_inside; ++arm)
      is_inside = arms.radius(arm, i) <= 1.01 * contrast_radius;
    if (is_inside) kept.push_back(i);
  }
  const ArmSamples all = arms;
  arms.places = static_cast<Index>(kept.size()), arms.samples.clear(), arms.k.clear();
  for (const Index i : kept) arms.samples.push_back(all.samples[static_cast<std::size_t>(i)]);
  arms.data = Matrix({all.arms, arms.places, all.coils});
  auto* to = arms.data.data();
  for (Index arm = 0; arm < all.arms; ++arm)
    for (const Index i : kept) {
      arms.k.push_back(all.k[all.at(arm, i)]);
      to = std::copy_n(all.data.data() + (arm * all.places + i) * all.coils, all.coils, to);
    }
}

/// Divides arms by their norms, weak ones by half of the usual one; returns the mean square of the factors.
double make_equal(ArmSamples& arms) {
  constexpr double weak = 0.5;
  const Index each = arms.places * arms.coils;
  std::vector<double> norms;
  for (Index arm = 0; arm < arms.arms; ++arm) {
    double square = 0;
    for (Index i = arm * each; i < (arm + 1) * each; ++i) square += norm(arms.data[i]);
    norms.push_back(std::sqrt(square));
  }
  const double least = weak * median(norms);
  double mean = 0;
  for (Index i = 0; least > 0 && i < arms.data.size(); ++i) {
    const double factor = 1 / std::max(least, norms[static_cast<std::size_t>(i / each)]);
    arms.data[i] = factor * arms.data[i], mean += factor * factor / static_cast<double>(arms.data.size());
  }
  return mean;
}

class ArmContrast {
 public:
  static constexpr int many_turns = 10;  ///< that lead near the least misfit

  /// `arms`: of equal energy; `noise`: the variance of a value.
  ArmContrast(const ArmSamples& arms, double noise) : arms_(arms) {
    const Index each = arms.places * arms.coils, voxels = grid_.count();
    freedom_ = static_cast<double>(arms.data.size() - time_courses * (arms.arms + voxels * arms.coils));
    constexpr double most_noise = 0.05;  // of the energy: more is another mistake
    noise_ = std::min(noise * freedom_, most_noise * energy(arms.data));
    if (!is_tested()) return;
    Matrix data({arms.arms, each});
    std::copy(arms.data.begin(), arms.data.end(), data.data());
    start_ = matrix_product(data, strongest_mix(data, time_courses));
    leading_ = Matrix({arms.arms, 1});
    for (Index arm = 0; arm < arms.arms; ++arm) leading_[arm] = start_[arm * time_courses];
    told_ = misfit(arms.k, arms.data, many_turns);
    start_ = last_factors_;
  }
  /// Returns whether the samples are enough: a third of them are more than images and factors need.
  bool is_tested() const { return freedom_ > static_cast<double>(arms_.data.size()) / 3; }
  double told() const { return told_; }
  double noise() const { return noise_; }
  /// Returns the time course that holds most of the data, [arm][1].
  const Matrix& leading() const { return leading_; }
  const Matrix& last_factors() const { return last_factors_; }

  /// Returns what images and factors leave of the data at these positions, after a few turns from the last factors as
  /// told.
  double misfit(const SmallPositions& k, const Matrix& data, int turns = few_turns) {
    Matrix g(start_);
    const Index coils = arms_.coils, each = arms_.places * coils;
    double left = 0;
    for (int turn = 0; turn < turns; ++turn) {
      const auto seen = seen_with(orthonormal(g), k, data);
      if (seen.empty()) return std::numeric_limits<double>::infinity();
      left = 0;
      for (Index arm = 0; arm < arms_.arms; ++arm) {
        Matrix p({each, time_courses}), d({each, 1});
        for (Index i = 0; i < each; ++i) {
          d[i] = data[arm * each + i];
          for (Index r = 0; r < time_courses; ++r)
            p[i * time_courses + r] =
                seen[((arm * arms_.places + i / coils) * time_courses + r) * coils + i % coils];
        }
        left += fit_arm(p, d, g.data() + arm * time_courses);
      }
    }
    last_factors_ = std::move(g);
    return left;
  }

 private:
  static constexpr int few_turns = 2, side = 2 * static_cast<int>(contrast_field * contrast_radius) + 2;

  static Matrix orthonormal(const Matrix& g) {
    const auto factor = inverse_cholesky_factor(matrix_product(adjoint(g), g));
    return factor ? matrix_product(g, adjoint(*factor)) : g;
  }
  /// Returns E x_r of the images x that fit best with factors g, [arm and place][component][coil].
  Matrix seen_with(const Matrix& g, const SmallPositions& k, const Matrix& data) const {
    const Index rows = arms_.arms * arms_.places, coils = arms_.coils, voxels = grid_.count();
    const auto factor_of = [&](Index row, Index r) { return g[row / arms_.places * time_courses + r]; };
    Matrix weighted({rows, time_courses * coils});
    for (Index i = 0; i < weighted.size(); ++i) {
      const Index row = i / (time_courses * coils);
      weighted[i] = conj(factor_of(row, i / coils % time_courses)) * data[row * coils + i % coils];
    }
    const auto encoding = encoding_matrix(k, grid_);
    const auto onto = matrix_product(adjoint(encoding), weighted);
    constexpr double damping = 1e-4;
    const auto factor = damped_factor(normal_matrix(factor_of, k), damping);
    if (!factor) return {};
    const Index unknowns = time_courses * voxels;
    const auto at = [&](Index i) {
      return i / coils % voxels * time_courses * coils + i / coils / voxels * coils + i % coils;
    };
    Matrix y({unknowns, coils}), x({voxels, time_courses * coils});
    for (Index i = 0; i < y.size(); ++i) y[i] = onto[at(i)];
    y = matrix_product(adjoint(factor->inverse), matrix_product(factor->inverse, y));
    for (Index i = 0; i < y.size(); ++i) x[at(i)] = y[i];
    return matrix_product(encoding, x);
  }
  /// Returns the normal matrix, [component and voxel]^2. It depends on differences of voxels alone: a sum over
  /// the samples for each of those.
  template <class FactorOf>
  Matrix normal_matrix(const FactorOf& factor_of, const SmallPositions& k) const {
    constexpr Index pairs = time_courses * time_courses;
    const int n = grid_.n[0], wide = 2 * n - 1;
    const double field = contrast_field * wide / n;
    Matrix products({static_cast<Index>(k.size()), pairs});
    for (Index i = 0; i < products.size(); ++i)
      products[i] =
          conj(factor_of(i / pairs, i % pairs / time_courses)) * factor_of(i / pairs, i % time_courses);
    const auto sums =
        matrix_product(adjoint(encoding_matrix(k, {{wide, wide, 1}, {field, field, 1}})), products);
    const Index voxels = grid_.count(), unknowns = time_courses * voxels;
    Matrix normal({unknowns, unknowns});
    for (Index i = 0; i < normal.size(); ++i) {
      const Index p = i / unknowns % voxels, q = i % voxels, r = i / unknowns / voxels,
                  s = i % unknowns / voxels;
      const Index apart = (p / n - q / n + n - 1) * wide + p % n - q % n + n - 1;
      normal[i] = sums[apart * pairs + r * time_courses + s];
    }
    return normal;
  }
  /// Fits the factors of an arm; returns what is left of d.
  static double fit_arm(const Matrix& p, const Matrix& d, Complex<double>* g) {
    constexpr double damping = 3e-9;
    const auto adjoint_of_p = adjoint(p);
    const auto factor = damped_factor(matrix_product(adjoint_of_p, p), damping);
    if (!factor) return energy(d);
    const auto best = matrix_product(adjoint(factor->inverse),
                                     matrix_product(factor->inverse, matrix_product(adjoint_of_p, d)));
    std::copy(best.begin(), best.end(), g);
    return energy(minus(d, matrix_product(p, best)));
  }

  /// A voxel of margin beside the radius.
  SmallGrid grid_{{side, side, 1}, {contrast_field, contrast_field, 1}};
  const ArmSamples& arms_;
  double freedom_ = 0, noise_ = 0, told_ = 0;
  Matrix leading_, start_, last_factors_;  ///< [arm][component]
};

/// Seeks why arms contradict each other.
class ContrastSearch {
 public:
  using Positions = std::function<SmallPositions(const std::array<double, 3>&)>;
  ContrastSearch(ArmContrast& contrast, const ArmSamples& arms, Positions delayed)
      : contrast_(contrast), arms_(arms), delayed_(std::move(delayed)) {}

  std::optional<ArmCause> operator()(const std::array<int, 3>& matrix_size, Index length) {
    best_.misfit = most_left_of_energy * contrast_.told();
    reorder(length);
    delays();
    motion(matrix_size);
    if (!best_.finding.code.empty()) return best_;
    return random_order();
  }

 private:
  /// Takes other positions, of a misfit `first` after a few turns, if they leave little.
  void consider(double first, const SmallPositions& k, const Finding& finding) {
    if (!(first < contrast_.told())) return;
    const double misfit = contrast_.misfit(k, arms_.data, ArmContrast::many_turns);
    if (misfit < best_.misfit) best_ = {finding, misfit};
  }
  SmallPositions ordered(const std::vector<Index>& source) const {
    SmallPositions k(arms_.k);
    for (Index l = 0; l < arms_.arms; ++l)
      std::copy_n(arms_.k.begin() + l * arms_.places, arms_.places,
                  k.begin() + source[static_cast<std::size_t>(l)] * arms_.places);
    return k;
  }
  /// Returns the positions of samples of which every second readout is reversed in time; empty: they are not of the
  /// same places.
  SmallPositions reversed(Index length) const {
    SmallPositions k(arms_.k);
    for (Index i = 0; i < arms_.places; ++i) {
      const Index other = arms_.places - 1 - i;
      if (arms_.samples[static_cast<std::size_t>(i)] + arms_.samples[static_cast<std::size_t>(other)] !=
          length - 1)
        return {};
      for (Index arm = 0; arm < arms_.arms; ++arm)
        if (arms_.numbers[static_cast<std::size_t>(arm)] % 2)
          k[arms_.at(arm, i)] = arms_.k[arms_.at(arm, other)];
    }
    return k;
  }
  void reorder(Index length) {
    double least = std::numeric_limits<double>::infinity();
    SmallPositions best;
    auto finding = make_finding("exchange", {}, 0, 0, "readouts");
    const auto try_at = [&](SmallPositions k, const std::string& text) {
      if (k.empty()) return;
      if (const double left = contrast_.misfit(k, arms_.data); left < least)
        least = left, best = std::move(k), finding.text = text;
    };
    if (arms_.stride == 1)
      for (const auto& [text, source] : named_orders(arms_.arms)) try_at(ordered(source), text);
    try_at(reversed(length), "the order of the samples: every second readout is reversed");
    consider(least, best, finding);
  }
  void delays() {
    std::array<double, 3> best{};
    double least = std::numeric_limits<double>::infinity();
    const auto try_at = [&](std::array<double, 3> delays) {
      if (const double left = contrast_.misfit(delayed_(delays), arms_.data); left < least)
        least = left, best = delays;
    };
    for (const double d : {-2., -1., -0.5, 0.5, 1., 2.}) try_at({d, d, 0});
    for (const double d : {-1., 1.}) try_at({d, 0, 0}), try_at({0, d, 0}), try_at({d, -d, 0});
    for (const double step : {0.5, 0.25})
      for (const auto& [x, y] : {std::pair{1, 1}, {1, 0}, {0, 1}})
        for (const double sign : {-step, step}) try_at({best[0] + sign * x, best[1] + sign * y, 0});
    const double largest = std::abs(best[0]) > std::abs(best[1]) ? best[0] : best[1],
                 sign = largest < 0 ? -1 : 1;
    consider(least, delayed_(best),
             make_finding(codes::delays,
                          fmt::format("readouts are {:.2f} samples along x and {:.2f} along y {}",
                                      sign * best[0], sign * best[1], sign < 0 ? "early" : "late"),
                          largest, 0, "samples"));
  }
  /// Fits shifts beside one time course, which no shift resembles, and then beside those that fit with these shifts.
  void motion(const std::array<int, 3>& matrix_size) {
    Matrix factors = contrast_.leading();
    for (int round = 0; round < 3; ++round, factors = contrast_.last_factors()) {
      const Index count = factors.extent(1);
      Matrix weights({arms_.arms * arms_.places, count});
      for (Index i = 0; i < weights.size(); ++i)
        weights[i] = factors[i / count / arms_.places * count + i % count];
      const ArmModel model(arms_, 1.01 * contrast_radius, weights, contrast_field);
      if (!model.is_tested()) return;
      auto found = motion_of_arms(model, arms_.data, matrix_size, 0, [&](const Matrix& w) {
        return contrast_.misfit(arms_.k, w, ArmContrast::many_turns);
      });
      if (found && found->misfit < best_.misfit) best_ = std::move(*found);
    }
  }
  /// Returns that the order told is no better than a random one.
  std::optional<ArmCause> random_order() {
    constexpr double hardly_less = 0.7, noise_like = 2;  // of the energy
    std::vector<Index> random(static_cast<std::size_t>(arms_.arms));
    std::iota(random.begin(), random.end(), Index{0});
    std::shuffle(random.begin(), random.end(), std::mt19937(1736));
    if (!(contrast_.told() > noise_like * contrast_.noise()) ||
        !(contrast_.told() >
          hardly_less * contrast_.misfit(ordered(random), arms_.data, ArmContrast::many_turns)))
      return {};
    auto finding = make_finding("exchange", std::string(another_order) + ": a random one fits as well", 0, 0,
                                "readouts", 0.99);
    return ArmCause{std::move(finding), 0};
  }

  ArmContrast& contrast_;
  const ArmSamples& arms_;
  Positions delayed_;
  ArmCause best_;
};

}  // namespace

std::optional<ArmCause> cause_beside_contrast(const VerifierInput<float>& e, const std::vector<Index>& starts,
                                              double noise_variance) {
  constexpr Index enough = 8000, most_arms = 600;
  if (e.matrix_size[2] > 1) return {};
  auto arms = arms_of(e, starts, contrast_radius, enough, most_arms);
  if (arms.places == 0) return {};
  keep_common_places(arms);
  if (arms.places == 0) return {};
  const double noise = noise_variance * make_equal(arms);
  ArmContrast contrast(arms, noise);
  constexpr double of_no_account = 1e-5;  // of |d|^2, as of ArmComparison
  if (!contrast.is_tested() || !(contrast.told() > of_no_account * energy(arms.data))) return {};
  const auto first = static_cast<std::size_t>(arms.numbers[0]);
  ContrastSearch search(contrast, arms,
                        [&](const auto& delays) { return positions_of(arms, e, starts, delays); });
  auto found = search(e.matrix_size, starts[first + 1] - starts[first]);
  if (found && !(found->finding.share > 0))
    found->finding.share = std::min(0.99, 1 - found->misfit / contrast.told());
  return found;
}

}  // namespace fhd::validation

#include "validation/verdict/odd_coils.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

namespace fhd::validation {
namespace {

/// The prediction of a coil by others is its image where it explains this share of it.
constexpr double alike = 0.8;

/// Sums over samples of predictions p and data d.
struct Sums {
  Complex<double> product{};  ///< conj(p) d
  double prediction = 0, data = 0;
  void add(const Complex<double>& p, const Complex<double>& d) {
    product += conj(p) * d, prediction += norm(p), data += norm(d);
  }
  double explained() const { return prediction > 0 ? norm(product) / prediction : 0; }
  double share() const { return data > 0 ? explained() / data : 0; }
  Complex<double> factor() const { return prediction > 0 ? (1 / prediction) * product : Complex<double>{}; }
};

double size_of(const Complex<double>& a) { return std::sqrt(norm(a)); }

Finding of_coil(Index coil, const std::string& text, double amount = 0, const char* unit = "") {
  return with_correction(
      make_finding("coil", fmt::format("coil {} (from 0) {}", coil, text), amount, 0, unit),
      {static_cast<double>(coil)});
}

/// Returns the change of a coil in time: a step of its factor between two readouts.
std::optional<Finding> change_in_time(const MapFit& fit, Index coil, const Matrix& predicted,
                                      const std::vector<Index>& starts) {
  constexpr std::size_t fewest_readouts = 8;
  const std::size_t readouts = starts.size() - 1;
  if (readouts < fewest_readouts) return {};
  std::vector<Sums> of(readouts);
  Sums all;
  for (std::size_t i = 0; i < fit.samples().size(); ++i) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), fit.samples()[i]);
    const Index at = static_cast<Index>(i) * fit.coils() + coil;
    of[static_cast<std::size_t>(after - starts.begin()) - 1].add(predicted[at], fit.data()[at]);
    all.add(predicted[at], fit.data()[at]);
  }
  Sums before, after(all), first, last;
  double most = 0;
  std::size_t step = 0;
  for (std::size_t j = 0; j + 1 < readouts; ++j) {
    before.product += of[j].product, before.prediction += of[j].prediction;
    after.product -= of[j].product, after.prediction -= of[j].prediction;
    if (const double explained = before.explained() + after.explained(); explained > most)
      most = explained, step = j + 1, first = before, last = after;
  }
  if (most < alike * all.data || most - all.explained() < 0.5 * (all.data - all.explained())) return {};
  const double before_step = size_of(first.factor()), after_step = size_of(last.factor());
  const bool is_lost = std::min(before_step, after_step) < 0.1 * std::max(before_step, after_step),
             turns = (conj(first.product) * last.product).re < 0;
  return of_coil(coil,
                 fmt::format("{} readout {} of {}: its signal is {:.2f} times that which the others predict "
                             "before, {:.2f} times after",
                             is_lost ? "is lost at"
                             : turns ? "changes its sign at"
                                     : "changes at",
                             step, readouts, before_step, after_step),
                 before_step > 0 ? after_step / before_step : 0);
}

/// Returns how a coil differs from what the image of the others predicts of it.
Finding describe(const MapFit& fit, Index coil, const Matrix& predicted, const std::vector<Index>& starts) {
  Sums as_told, conjugated;
  for (Index i = 0; i < fit.data().extent(0); ++i) {
    const auto &p = predicted[i * fit.coils() + coil], &d = fit.data()[i * fit.coils() + coil];
    as_told.add(p, d), conjugated.add(p, conj(d));
  }
  if (!(as_told.data > 0)) return of_coil(coil, "holds no signal");
  if (conjugated.share() > std::max(alike, as_told.share())) return of_coil(coil, "is conjugated");
  if (auto change = change_in_time(fit, coil, predicted, starts)) return *change;
  if (as_told.share() < alike)
    return of_coil(coil,
                   fmt::format("does not fit its map: {:.0f} % of its energy is what the others predict",
                               100 * as_told.share()),
                   100 * as_told.share(), "%");
  const double gain = size_of(as_told.factor()),
               degrees = std::atan2(as_told.product.im, as_told.product.re) * 180 / std::numbers::pi;
  if (std::abs(gain - 1) > 0.15)
    return of_coil(coil, fmt::format("has {:.2g} times the gain of its map", gain), gain);
  return of_coil(coil,
                 std::abs(degrees) > 170
                     ? "has the other sign than its map"
                     : fmt::format("is turned by {:.0f} degrees against its map", degrees),
                 degrees, "degrees");
}

/// Returns that two coils hold each other's signal, or a part of it, d_a = u p_a + v p_b by least squares; empty if
/// they do not.
std::optional<Finding> describe_two(const MapFit& fit, Index a, Index b, const Matrix& predicted) {
  double straight = 0, across = 0;
  for (const auto& [c, other] : {std::pair{a, b}, std::pair{b, a}}) {
    double pp = 0, qq = 0, energy = 0;
    Complex<double> pq, pd, qd;
    for (Index m = 0; m < fit.data().extent(0); ++m) {
      const auto &p = predicted[m * fit.coils() + c], &q = predicted[m * fit.coils() + other],
                 &d = fit.data()[m * fit.coils() + c];
      pp += norm(p), qq += norm(q), energy += norm(d);
      pq += conj(p) * q, pd += conj(p) * d, qd += conj(q) * d;
    }
    const double determinant = pp * qq - norm(pq);
    if (!(determinant > 1e-6 * pp * qq && energy > 0)) return {};
    const auto u = (1 / determinant) * (qq * pd - pq * qd), v = (1 / determinant) * (pp * qd - conj(pq) * pd);
    if ((conj(u) * pd + conj(v) * qd).re < alike * energy) return {};
    straight += size_of(u), across += size_of(v);
  }
  if (across > 3 * straight)
    return make_finding(
        "sensitivity_maps",
        fmt::format("the coils are permuted against the maps: {} and {} are exchanged", a, b));
  if (across < 0.1 * straight) return {};
  return with_correction(
      of_coil(a,
              fmt::format("and coil {} are coupled: each holds {:.2g} times the signal of the other as well",
                          b, across / straight),
              across / straight),
      {static_cast<double>(a), static_cast<double>(b)});
}

}  // namespace

std::optional<Finding> odd_coils(const MapFit& fit, const Matrix& maps, const std::vector<Index>& starts,
                                 double by_right_maps) {
  const Index coils = fit.coils();
  if (coils < 3) return {};
  const double left = 1 - fit.fit(maps).explained, few = most_left_by_cause(left, by_right_maps);
  std::vector<std::pair<double, Index>> without;  // what is left, coil
  for (Index c = 0; c < coils; ++c) without.emplace_back(1 - fit.fit(maps, {c}).explained, c);
  std::sort(without.begin(), without.end());
  const auto found = [&](Finding finding, double still_left) {
    finding.share = 1 - still_left / left;
    return finding;
  };
  if (const auto [least, odd] = without[0]; least < few)
    return found(describe(fit, odd, fit.predicted(maps, fit.fit(maps, {odd}).values), starts), least);
  constexpr std::size_t most_tried = 4;  // those that fit worst
  if (coils < 4) return {};
  for (std::size_t i = 0; i < most_tried; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto [a, b] = std::minmax(without[i].second, without[j].second);
      const auto image = fit.fit(maps, {a, b});
      if (1 - image.explained > few) continue;
      if (auto two = describe_two(fit, a, b, fit.predicted(maps, image.values)))
        return found(*two, 1 - image.explained);
    }
  return {};
}

}  // namespace fhd::validation

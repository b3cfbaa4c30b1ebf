#include "validation/verdict/map_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

#include "recon/array/linear_algebra.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/map_fit.hpp"
#include "validation/verdict/odd_coils.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using Value = std::complex<float>;
using Position = std::array<double, 3>;  ///< fractions of the FOV, -0.5 ... 0.5
using Size = std::array<int, 3>;

/// Right maps leave no more than this share of the energy at the centre of k-space: up to 0.001 of simulated scans,
/// 0.005 in vivo.
constexpr double most_left = unexplained_limit * unexplained_limit;

/// Complex images of all coils, [coil][z][y][x].
struct CoilImages {
  Size size{};
  Index coils = 0;
  std::vector<Value> values;
  Index voxels() const { return Index{size[0]} * size[1] * size[2]; }
};

/// Returns the images of the centre of k-space, by direct sums.
CoilImages low_resolution(const Trajectory& trajectory, const KSpace& kspace, const Size& size,
                          const Size& full) {
  constexpr std::size_t enough = 4000;
  const auto centre = central_cells(trajectory, full, {size[0] / 2., size[1] / 2., size[2] / 2.}, enough);
  const Index all = trajectory.sample_count(), coils = kspace.coil_count();
  const auto count = static_cast<Index>(centre.samples.size());
  const SmallGrid grid{size, {1, 1, 1}};
  if (count < grid.count() / 4) return {};
  CoilImages images{size, coils, std::vector<Value>(static_cast<std::size_t>(coils * grid.count()))};
  constexpr Index block = 500;  // samples, whose matrix fits into memory also in 3D
  for (Index first = 0; first < count; first += block) {
    const Index rows = std::min(block, count - first);
    SmallPositions k;
    Matrix conjugated({coils, rows});
    for (Index i = 0; i < rows; ++i) {
      const Index m = centre.samples[static_cast<std::size_t>(first + i)];
      k.push_back({trajectory.k[m], trajectory.k[all + m], trajectory.k[2 * all + m]});
      for (Index coil = 0; coil < coils; ++coil)
        conjugated[coil * rows + i] = centre.weights[static_cast<std::size_t>(first + i)] *
                                      conj(Complex<double>(kspace.values[coil * all + m]));
    }
    const auto part = matrix_product(conjugated, encoding_matrix(k, grid));
    for (Index i = 0; i < part.size(); ++i)
      images.values[static_cast<std::size_t>(i)] +=
          Value(static_cast<float>(part[i].re), -static_cast<float>(part[i].im));
  }
  return images;
}

/// A change of the maps: where a voxel finds its sensitivities, of which coil, conjugated or not.
struct MapChange {
  std::function<Position(Position)> from = [](Position r) { return r; };
  bool conjugates = false;
  std::vector<Index> coil_of{};  ///< map of each coil; empty: its own
};

class Agreement {
 public:
  Agreement(const Scan& scan, CoilImages maps) : fit_(scan), maps_(std::move(maps)) {}

  Index coils() const { return fit_.coils(); }
  bool is_empty() const { return fit_.is_empty(); }
  const MapFit& fit() const { return fit_; }

  /// Returns the maps as changed, [coil][voxel], of one root sum of squares wherever they are not zero.
  Matrix changed(const MapChange& change) const {
    const Index voxels = fit_.grid().count();
    Matrix maps({coils(), voxels});
    for (Index p = 0; p < voxels; ++p) {
      Position r{};
      for (std::size_t axis = 0; axis < 3; ++axis) r[axis] = fit_.grid().position(p, axis);
      const Index q = nearest_voxel(change.from(r), maps_.size);
      double square = 0;
      for (Index coil = 0; coil < coils(); ++coil) {
        const Index of = change.coil_of.empty() ? coil : change.coil_of[static_cast<std::size_t>(coil)];
        const Value s = maps_.values[static_cast<std::size_t>(of * maps_.voxels() + q)];
        maps[coil * voxels + p] = {s.real(), change.conjugates ? -s.imag() : s.imag()};
        square += std::norm(s);
      }
      if (!(square > 0)) continue;
      for (Index coil = 0; coil < coils(); ++coil)
        maps[coil * voxels + p] = (1 / std::sqrt(square)) * maps[coil * voxels + p];
    }
    return maps;
  }
  /// Returns the share of the energy that an image with the maps as changed explains.
  double explained(const MapChange& change, const MapFit::Coils& without = {}) const {
    return fit_.fit(changed(change), without).explained;
  }

  /// Returns for each coil the map that its magnitude resembles most, each map once.
  std::vector<Index> likeliest_order() const {
    struct Pair {
      double likeness;
      Index coil, map;
    };
    const auto maps = changed({});
    const auto images = fit_.images_of_coils().values;
    std::vector<Pair> pairs;
    for (Index a = 0; a < coils(); ++a)
      for (Index b = 0; b < coils(); ++b) pairs.push_back({likeness(images, maps, a, b), a, b});
    std::sort(pairs.begin(), pairs.end(),
              [](const Pair& x, const Pair& y) { return x.likeness > y.likeness; });
    std::vector<Index> order(static_cast<std::size_t>(coils()), -1);
    std::vector<bool> is_used(order.size());
    for (const auto& [likeness, coil, map] : pairs)
      if (order[static_cast<std::size_t>(coil)] < 0 && !is_used[static_cast<std::size_t>(map)])
        order[static_cast<std::size_t>(coil)] = map, is_used[static_cast<std::size_t>(map)] = true;
    return order;
  }

 private:
  /// Correlation of |c_a| / |c| with |S_b| / |S|, weighted by |c|^2.
  double likeness(const Matrix& images, const Matrix& maps, Index a, Index b) const {
    const Index voxels = fit_.grid().count();
    double product = 0, left = 0, right = 0;
    for (Index p = 0; p < voxels; ++p) {
      double all = 0;
      for (Index c = 0; c < coils(); ++c) all += norm(images[p * coils() + c]);
      const double x = std::sqrt(norm(images[p * coils() + a])),
                   y = std::sqrt(norm(maps[b * voxels + p]) * all);
      product += x * y, left += x * x, right += y * y;
    }
    return left > 0 && right > 0 ? product / std::sqrt(left * right) : 0;
  }

  MapFit fit_;
  CoilImages maps_;
};

/// The change that explains most so far.
struct Best {
  double explained = 0;
  Finding finding;
  /// `margin`: how much more it must explain than what was considered before, which is as simple or simpler.
  void consider(double found, Finding one, double margin = 0) {
    if (found > explained + margin) explained = found, finding = std::move(one);
  }
};

Finding named(std::string text, double amount = 0, std::string unit = {}, double uncertainty = 0) {
  return make_finding("sensitivity_maps", std::move(text), amount, uncertainty, std::move(unit));
}

bool is_long(const Size& size, std::size_t axis) { return size[axis] > 1; }

/// Returns the order of samples or readouts that changes the sign of these axes of k (bits), but for a constant, in
/// words.
std::string order_that_mirrors(const Trajectory& trajectory, std::size_t axes) {
  constexpr double alike = 1e-3;  // cycles/FOV
  const auto starts = readout_starts(trajectory);
  const Index length = readout_length(starts), all = trajectory.sample_count();
  if (length < 2 || all < 2 * length) return {};
  const auto mirrors = [&](const auto& source) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double* k = trajectory.k.data() + static_cast<Index>(axis) * all;
      const double sign = axes >> axis & 1 ? -1 : 1, constant = k[source(0)] - sign * k[0];
      for (Index m = 0; m < all; ++m)
        if (std::abs(k[source(m)] - sign * k[m] - constant) > alike) return false;
    }
    return true;
  };
  if (mirrors([&](Index m) { return m / length * length + length - 1 - m % length; }))
    return ", or readouts are reversed in time";
  if (mirrors([&](Index m) { return (all / length - 1 - m / length) * length + m % length; }))
    return ", or readouts are in reversed order";
  return {};
}

void try_orientations(const Agreement& agreement, const Scan& scan, const std::string& what, Best& best) {
  const Size& full = scan.geometry.matrix_size;
  constexpr std::size_t all = 8;
  constexpr double clear = 0.005;  // maps that are alike on both sides of a plane
  for (std::size_t mirrored = 0; mirrored < all; ++mirrored) {
    bool is_possible = true, is_every = true;
    std::string axes;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool is_mirrored = mirrored >> axis & 1;
      is_possible = is_possible && (!is_mirrored || is_long(full, axis));
      is_every = is_every && (is_mirrored || !is_long(full, axis));
      if (is_mirrored) axes += (axes.empty() ? "" : " and ") + std::string(1, "xyz"[axis]);
    }
    if (!is_possible) continue;
    const auto from = [mirrored](Position r) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (mirrored >> axis & 1) r[axis] = -r[axis];
      return r;
    };
    for (const bool conjugates : {false, true}) {
      if (mirrored == 0 && !conjugates) continue;
      auto text = mirrored == 0 ? fmt::format("the {} are conjugated", what)
                  : conjugates && is_every
                      ? std::string("the data are conjugated (or their real and imaginary parts swapped)")
                  : conjugates ? fmt::format("the {} are conjugated, and mirrored along {}", what, axes)
                  : is_every   ? fmt::format("the sign of k, or {} mirrored along {}", what, axes)
                             : fmt::format("the {} are mirrored along {}, or the sign of k_{} is wrong", what,
                                           axes, axes);
      if (!conjugates) text += order_that_mirrors(scan.trajectory, mirrored);
      best.consider(agreement.explained({from, conjugates}), named(text), clear);
    }
  }
  for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>{0, 1}, {0, 2}, {1, 2}})
    if (is_long(full, a) && is_long(full, b))
      best.consider(agreement.explained({[a = a, b = b](Position r) {
        std::swap(r[a], r[b]);
        return r;
      }}),
                    named(fmt::format("{} and {} are swapped in the {}, or in k", "xyz"[a], "xyz"[b], what)));
}

/// Tries shifts along one axis after the other: steps of a sixteenth of the matrix, then smaller ones around the best.
void try_shifts(const Agreement& agreement, const Size& full, const std::string& what, Best& best) {
  std::array<int, 3> found{};
  double most = 0;
  const auto look = [&](std::size_t axis, int step, int steps) {
    const int centre = found[axis];
    for (int i = -steps; i <= steps; ++i) {
      auto shift = found;
      shift[axis] = centre + i * step;
      const double of = agreement.explained({[&](Position r) {
        for (std::size_t a = 0; a < 3; ++a) r[a] += static_cast<double>(shift[a]) / full[a];
        return r;
      }});
      if (of > most) most = of, found = shift;
    }
  };
  const int largest = *std::max_element(full.begin(), full.end());
  int step = std::max(1, largest / 16), steps = 4;
  for (bool is_last = false; !is_last; steps = 2) {
    is_last = step == 1;
    for (int round = 0; round < 2; ++round)
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (is_long(full, axis)) look(axis, step, round == 0 ? steps : 1);
    step = std::max(1, (step + 1) / 3);
  }
  double square = 0;
  for (const int by : found) square += by * by;
  if (square == 0) return;
  best.consider(
      most,
      named(fmt::format(
                "the {} are those of another position: shifted by {}, {}, {} voxels (\u00b1 1) along x, y, z",
                what, found[0], found[1], found[2]),
            std::sqrt(square), "voxels", 1));
}

/// Returns that the readouts are moved by a few places, in words, if each readout is the one that many places earlier
/// turned about z by this angle, in either direction.
std::string move_that_turns(const Trajectory& trajectory, int degrees) {
  constexpr double alike = 0.01, tolerance = 3;  // of the largest k; degrees
  constexpr Index most_places = 12;
  const auto starts = readout_starts(trajectory);
  const Index length = readout_length(starts), all = trajectory.sample_count();
  if (length < 2) return {};
  const double *x = trajectory.k.data(), *y = x + all;
  const auto angle_of = [&](Index j) { return std::atan2(y[(j + 1) * length - 1], x[(j + 1) * length - 1]); };
  for (Index places = 1; places <= std::min(most_places, all / length / 2); ++places) {
    const double angle = angle_of(places) - angle_of(0), c = std::cos(angle), s = std::sin(angle);
    if (std::abs(std::abs(std::remainder(angle * 180 / std::numbers::pi, 360)) - degrees) > tolerance)
      continue;
    double change = 0, square = 0;
    for (Index m = 0; m + places * length < all; ++m) {
      const Index n = m + places * length;
      change += std::pow(x[n] - (c * x[m] - s * y[m]), 2) + std::pow(y[n] - (s * x[m] + c * y[m]), 2);
      square += x[n] * x[n] + y[n] * y[n];
    }
    if (change < alike * alike * square)
      return fmt::format(", or the order of the readouts is off by {} place{}", places,
                         places > 1 ? "s" : "");
  }
  return {};
}

/// Tries turns about z: steps of 15 degrees, then of 3 around the best.
void try_turns(const Agreement& agreement, const Scan& scan, const std::string& what, Best& best) {
  const Size& full = scan.geometry.matrix_size;
  if (!is_long(full, 0) || !is_long(full, 1)) return;
  int found = 0;
  double most = 0;
  const auto look = [&](int first, int last, int step) {
    for (int degrees = first; degrees <= last; degrees += step) {
      const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
      const double of = agreement.explained({[&](Position r) {
        return Position{c * r[0] - s * r[1], s * r[0] + c * r[1], r[2]};
      }});
      if (of > most) most = of, found = degrees;
    }
  };
  look(-165, 180, 15);
  look(found - 9, found + 9, 3);
  const int size = std::min(std::abs(found), 360 - std::abs(found));
  best.consider(most,
                named(fmt::format("the trajectory is turned against the {} by {} \u00b1 3 degrees about z{}",
                                  what, size, move_that_turns(scan.trajectory, size)),
                      size, "degrees", 3),
                0.005);
}

void try_scales(const Agreement& agreement, Best& best) {
  for (const double factor : {0.5, 0.8, 1.25, 2.0})
    best.consider(agreement.explained({[factor](Position r) {
      for (double& along : r) along *= factor;
      return r;
    }}),
                  Finding{});  // the search measures it
}

std::string name_of_order(const std::vector<Index>& order) {
  std::vector<Index> moved;
  const auto n = static_cast<Index>(order.size());
  bool is_turned = true, is_reversed = true;
  const Index by = ((order[0] % n) + n) % n;
  for (Index c = 0; c < n; ++c) {
    const Index of = order[static_cast<std::size_t>(c)];
    if (of != c) moved.push_back(c);
    is_turned = is_turned && of == (c + by) % n, is_reversed = is_reversed && of == n - 1 - c;
  }
  if (moved.size() == 2) return fmt::format("{} and {} are exchanged", moved[0], moved[1]);
  if (is_turned) return fmt::format("coil 0 has the map of coil {}, and so on", by);
  if (is_reversed) return "their order is reversed";
  return fmt::format("coil {} has the map of coil {}, and {} more are not in their place", moved[0],
                     order[static_cast<std::size_t>(moved[0])], moved.size() - 1);
}

void try_orders(const Agreement& agreement, const std::string& what, Best& best) {
  const auto n = agreement.coils();
  std::vector<std::vector<Index>> orders{agreement.likeliest_order()};
  for (const Index by : {Index{1}, n - 1}) {
    std::vector<Index> turned;
    for (Index c = 0; c < n; ++c) turned.push_back((c + by) % n);
    orders.push_back(std::move(turned));
  }
  std::vector<Index> told(static_cast<std::size_t>(n));
  std::iota(told.begin(), told.end(), 0);
  orders.emplace_back(told.rbegin(), told.rend());
  for (auto& order : orders) {
    if (order == told) continue;
    constexpr double alike = 0.01;  // coils in a ring: a turn by one coil is a permutation
    const double found = agreement.explained({[](Position r) { return r; }, false, order});
    auto permuted =
        named(fmt::format("the coils are permuted against the {}: {}", what, name_of_order(order)));
    if (best.finding.unit == "degrees" && std::abs(found - best.explained) < alike)
      permuted.text += ", or " + best.finding.text;
    const bool is_turned = best.finding.unit == "degrees" && found > best.explained - alike;
    best.consider(found, std::move(permuted), is_turned ? -alike : alike);
  }
}

/// Returns the maps of the file, or the images of its calibration; empty where there are none.
CoilImages maps_of(const Scan& scan, bool is_3d) {
  const auto& full = scan.geometry.matrix_size;
  if (scan.sensitivity_maps) {
    CoilImages maps{full, scan.kspace.coil_count(), {}};
    for (const auto& s : scan.sensitivity_maps->values) maps.values.emplace_back(s.re, s.im);
    return maps;
  }
  if (!scan.calibration) return {};
  Size size{};
  for (std::size_t axis = 0; axis < 3; ++axis) size[axis] = std::min(full[axis], is_3d ? 16 : 32);
  return low_resolution(scan.calibration->trajectory, scan.calibration->kspace, size, full);
}

/// Returns whether images of single coils explain what maps do not: errors of k, order or time contradict each coil
/// as well.
bool is_of_maps(const MapAgreement& agreement) {
  constexpr double small_share = 0.1;
  return 1 - agreement.explained_without_maps < small_share * (1 - agreement.explained);
}

}  // namespace

MapAgreement compare_maps(const Scan& scan) {
  const auto& full = scan.geometry.matrix_size;
  if (scan.kspace.coil_count() < 2 || !(scan.sensitivity_maps || scan.calibration)) return {};
  auto maps = maps_of(scan, full[2] > 1);
  if (maps.values.empty() || maps.coils != scan.kspace.coil_count()) return {};
  const Agreement agreement(scan, std::move(maps));
  if (agreement.is_empty()) return {};
  MapAgreement found{agreement.explained({}), agreement.fit().images_of_coils().explained, {}};
  const double left = 1 - found.explained;
  if (left < most_left) return found;
  if ((found.cause =
           odd_coils(agreement.fit(), agreement.changed({}), readout_starts(scan.trajectory), most_left)))
    return found;
  if (!is_of_maps(found)) return found;
  const std::string what = scan.sensitivity_maps ? "sensitivity maps" : "maps of the calibration";
  Best best;
  try_orientations(agreement, scan, what, best);
  try_shifts(agreement, full, what, best);
  try_turns(agreement, scan, what, best);
  try_scales(agreement, best);
  try_orders(agreement, what, best);
  if (1 - best.explained < most_left_by_cause(left, most_left) && !best.finding.code.empty()) {
    best.finding.share = (best.explained - found.explained) / left;
    found.cause = best.finding;
  }
  return found;
}

std::optional<Finding> unlike_maps(const MapAgreement& agreement) {
  constexpr double clearly = 4 * most_left;
  if (agreement.explained < 0 || 1 - agreement.explained < clearly || agreement.cause ||
      !is_of_maps(agreement))
    return {};
  return named(
      fmt::format(
          "the maps are not those of this scan (another head, position or set of coils): with them an image "
          "explains {:.0f} % of the energy at the centre of k-space, and one for each coil {:.0f} %",
          100 * agreement.explained, 100 * agreement.explained_without_maps),
      100 * agreement.explained, "%");
}

}  // namespace fhd::validation

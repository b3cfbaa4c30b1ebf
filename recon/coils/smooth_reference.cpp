#include "recon/coils/smooth_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>
#include <utility>

namespace fhd {
namespace {

/// The energy that is typical of tissue: its mean weighted by itself.
double energy_of_tissue(const std::vector<double>& energy) {
  double sum = 0, square = 0;
  for (const double e : energy) sum += e, square += e * e;
  return sum > 0 ? square / sum : 1;
}

/// The scalar products of neighbours on a grid, and the energy at its points over that of tissue.
class Links {
 public:
  Links(const Array<Complex<float>>& vectors, const std::vector<double>& energy)
      : n_{static_cast<int>(vectors.extent(3)), static_cast<int>(vectors.extent(2)),
           static_cast<int>(vectors.extent(1))},
        step_{1, n_[0], std::int64_t{n_[0]} * n_[1]},
        points_(step_[2] * n_[2]),
        energy_(energy) {
    const double tissue = energy_of_tissue(energy);
    for (double& e : energy_) e /= tissue;
    for (int axis = 0; axis < 3; ++axis) {
      product_[axis].resize(points_);
      for (std::int64_t c = 0; c < vectors.extent(0); ++c) {
        const Complex<float>* v = vectors.data() + c * points_;
        for (std::int64_t p = 0; p + step_[axis] < points_; ++p)
          product_[axis][p] += conj(v[p]) * v[p + step_[axis]];
      }
    }
  }

  std::int64_t points() const { return points_; }
  const std::array<int, 3>& matrix_size() const { return n_; }
  double energy(std::int64_t p) const { return energy_[p]; }
  Position position(std::int64_t p) const {
    return {static_cast<int>(p % n_[0]), static_cast<int>(p / step_[1] % n_[1]),
            static_cast<int>(p / step_[2])};
  }
  std::int64_t next(std::int64_t p, int axis) const { return p + step_[axis]; }
  bool has_next(const Position& at, int axis) const { return at[axis] + 1 < n_[axis]; }
  /// v(p)^H v(next).
  Complex<float> product(std::int64_t p, int axis) const { return product_[axis][p]; }

  /// visit(neighbour, axis, v(p)^H v(neighbour)) for all neighbours of p.
  template <class Visit>
  void for_neighbours(std::int64_t p, Visit visit) const {
    const Position at = position(p);
    for (int axis = 0; axis < 3; ++axis) {
      if (at[axis] > 0) visit(p - step_[axis], axis, conj(product_[axis][p - step_[axis]]));
      if (has_next(at, axis)) visit(p + step_[axis], axis, product_[axis][p]);
    }
  }

 private:
  std::array<int, 3> n_;
  std::array<std::int64_t, 3> step_;
  std::int64_t points_;
  std::vector<double> energy_;
  std::vector<Complex<float>> product_[3];  ///< v(p)^H v(p + 1 along the axis)
};

/// Aligns each point with its neighbours before it, in the order in which a front from the point of most energy reaches
/// them; the front is slow where there is little signal.
std::vector<Complex<float>> turns_of_front(const Links& links) {
  std::vector<Complex<float>> turns(links.points());
  std::vector<double> time(links.points(), std::numeric_limits<double>::infinity());
  std::vector<char> is_done(links.points());
  using Arrival = std::pair<double, std::int64_t>;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> front;
  std::int64_t first = 0;
  for (std::int64_t p = 1; p < links.points(); ++p)
    if (links.energy(p) > links.energy(first)) first = p;
  front.push({time[first] = 0, first});
  while (!front.empty()) {
    const auto [arrival, p] = front.top();
    front.pop();
    if (is_done[p]) continue;
    Complex<double> sum;
    links.for_neighbours(p, [&, here = arrival](std::int64_t q, int axis, Complex<float> product) {
      if (is_done[q]) {
        sum += (links.energy(q) + 1e-12) * Complex<double>(turns[q] * product);
        return;
      }
      constexpr double slow = 1e-2, slowest = 1e3;
      const double later =
          here + std::min(1 + slow / std::max(links.energy(q), 1e-12), slowest) / links.matrix_size()[axis];
      if (later < time[q]) front.push({time[q] = later, q});
    });
    const double size = abs(sum);
    turns[p] = size > 0 ? Complex<float>((1 / size) * sum) : Complex<float>(1);
    is_done[p] = 1;
  }
  return turns;
}

double angle_of(Complex<float> z) { return z.re == 0 && z.im == 0 ? 0 : std::atan2(z.im, z.re); }

/// Spreads the angles between neighbours that are left.
void relax(const Links& links, std::vector<Complex<float>>& turns) {
  constexpr int sweeps = 40;
  constexpr double over_relaxation = 1.8, least_weight = 1e-3;
  struct Link {
    double weight = 0, angle = 0;
  };
  std::vector<Link> after[3];  // of p and the next point
  for (int axis = 0; axis < 3; ++axis) {
    after[axis].resize(links.points());
    for (std::int64_t p = 0; p < links.points(); ++p)
      if (links.has_next(links.position(p), axis)) {
        const std::int64_t q = links.next(p, axis);
        after[axis][p] = {std::clamp(std::min(links.energy(p), links.energy(q)), least_weight, 1.0),
                          angle_of(conj(turns[p]) * turns[q] * links.product(p, axis))};
      }
  }
  std::vector<double> angle(links.points());
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (std::int64_t p = 0; p < links.points(); ++p) {
      double weights = 0, sum = 0;
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t step = links.next(0, axis);
        if (const Link& link = after[axis][p]; link.weight > 0)
          weights += link.weight, sum += link.weight * (angle[p + step] + link.angle);
        if (p < step) continue;
        if (const Link& link = after[axis][p - step]; link.weight > 0)
          weights += link.weight, sum += link.weight * (angle[p - step] - link.angle);
      }
      if (weights > 0) angle[p] += over_relaxation * (sum / weights - angle[p]);
    }
  for (std::int64_t p = 0; p < links.points(); ++p)
    turns[p] = turns[p] * Complex<float>(Complex<double>(std::cos(angle[p]), std::sin(angle[p])));
}

/// Returns the place of most signal where neighbours are as good as orthogonal or phases wind, if there is one. A square of
/// orthogonal neighbours has no phase: it is a jump.
std::optional<MapDefect> defect_of(const Links& links, const std::vector<Complex<float>>& turns) {
  constexpr double tissue = 0.02;  // of its energy: a seventh of its magnitude
  std::optional<MapDefect> worst;
  double most = 0;
  std::int64_t count = 0;
  const auto take = [&](MapDefect::Kind kind, const Position& at, double energy) {
    ++count;
    if (energy > most) worst = MapDefect{kind, at}, most = energy;
  };
  const auto angle = [&](std::int64_t p, int axis) {
    return angle_of(conj(turns[p]) * turns[links.next(p, axis)] * links.product(p, axis));
  };
  for (std::int64_t p = 0; p < links.points(); ++p) {
    const Position at = links.position(p);
    for (int a = 0; a < 3; ++a) {
      if (!links.has_next(at, a)) continue;
      const std::int64_t along = links.next(p, a);
      const double energy = std::min(links.energy(p), links.energy(along));
      if (energy > tissue && abs(links.product(p, a)) < least_overlap)
        take(MapDefect::Kind::jump, at, energy);
      for (int b = a + 1; b < 3; ++b) {
        if (!links.has_next(at, b)) continue;
        const std::int64_t across = links.next(p, b);
        const double of_square = std::min({energy, links.energy(across), links.energy(links.next(along, b))});
        const double overlap = std::min({abs(links.product(p, a)), abs(links.product(p, b)),
                                         abs(links.product(across, a)), abs(links.product(along, b))});
        if (of_square > tissue && overlap >= least_overlap &&
            std::abs(angle(p, a) + angle(along, b) - angle(across, a) - angle(p, b)) > std::numbers::pi)
          take(MapDefect::Kind::vortex, at, of_square);
      }
    }
  }
  if (worst) worst->count = count;
  return worst;
}

}  // namespace

AlignedPhases align_phases(const Array<Complex<float>>& vectors, const std::vector<double>& energy) {
  const Links links(vectors, energy);
  AlignedPhases phases{turns_of_front(links)};
  relax(links, phases.turns);
  phases.defect = defect_of(links, phases.turns);
  return phases;
}

SmoothReference smooth_reference(const CalibrationRegion& region, const MatrixField& field,
                                 const std::vector<Complex<float>>& component, Device device) {
  auto images = windowed(region);
  centred_fft(images, +1);
  const std::int64_t coils = images.extent(0), points = images.size() / coils;
  std::vector<double> energy(points);
  for (std::int64_t i = 0; i < images.size(); ++i)
    energy[i % points] += norm(Complex<double>(images.data()[i]));
  SmoothReference reference{Array<Complex<float>>(images.shape())};
  const Array<std::uint8_t> everywhere = [&] {
    Array<std::uint8_t> mask({images.extent(1), images.extent(2), images.extent(3)});
    std::fill(mask.begin(), mask.end(), MapMask::tissue);
    return mask;
  }();
  dominant_eigenvectors(field, {region.matrix_size(), everywhere, images, 0}, 0, device, reference.vectors);
  auto phases = align_phases(reference.vectors, energy);
  Complex<double> sum;
  for (std::int64_t i = 0; i < images.size(); ++i) {
    Complex<float>& v = reference.vectors.data()[i];
    v = phases.turns[i % points] * v;
    sum += energy[i % points] * Complex<double>(conj(component[i / points]) * v);
  }
  if (const double size = abs(sum); size > 0)
    for (auto& v : reference.vectors) v = Complex<float>((1 / size) * conj(sum)) * v;
  reference.defect = phases.defect;
  return reference;
}

}  // namespace fhd

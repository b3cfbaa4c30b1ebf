#include "recon/coils/smooth_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>
#include <utility>

namespace fhd {
namespace {

/// Returns the energy that is typical of tissue: its mean weighted by itself.
double energy_of_tissue(const std::vector<double>& energy) {
  double sum = 0, square = 0;
  for (const double e : energy) sum += e, square += e * e;
  return sum > 0 ? square / sum : 1;
}

/// Holds the scalar products of neighbours on a grid, and the energy at its points over that of tissue.
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
  /// Returns v(p)^H v(next).
  Complex<float> product(std::int64_t p, int axis) const { return product_[axis][p]; }

  /// Calls visit(neighbour, axis, v(p)^H v(neighbour)) for all neighbours of p.
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
      constexpr double slow = 1e-4, slowest = 1e3;
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

/// The angle between a point and the next one along each axis, arg(v^H v'), and what it counts.
struct Angles {
  std::vector<double> angle[3], weight[3];  ///< weight 0: there is no next point

  Angles(const Links& links, const std::vector<Complex<float>>& turns) {
    constexpr double least_weight = 1e-3;
    for (int axis = 0; axis < 3; ++axis) {
      angle[axis].resize(links.points()), weight[axis].resize(links.points());
      if (links.matrix_size()[axis] == 1) continue;
      for (std::int64_t p = 0; p < links.points(); ++p) {
        if (!links.has_next(links.position(p), axis)) continue;
        const std::int64_t q = links.next(p, axis);
        const auto z = conj(turns[p]) * turns[q] * links.product(p, axis);
        angle[axis][p] = z.re == 0 && z.im == 0 ? 0 : std::atan2(z.im, z.re);
        weight[axis][p] = std::clamp(std::min(links.energy(p), links.energy(q)), least_weight, 1.0);
      }
    }
  }
};

/// Spreads the angles between neighbours that are left: turns the points, and sets the angles after it, -pi ... pi.
void relax(const Links& links, std::vector<Complex<float>>& turns, Angles& between) {
  constexpr int sweeps = 20;
  constexpr double over_relaxation = 1.8;
  const std::int64_t points = links.points(),
                     margin = links.next(0, 2);  // neighbours that are not there weigh nothing
  const auto each_axis = [&](auto body) {
    for (int axis = 0; axis < 3; ++axis)
      if (links.matrix_size()[axis] > 1)
        body(links.next(0, axis), between.angle[axis].data(), between.weight[axis].data(), axis);
  };
  struct Point {
    float before[3] = {}, after[3] = {};  ///< weights of its neighbours over the sum of them
    float wanted = 0;                     ///< turn, if those of all neighbours were 0
  };
  std::vector<Point> equations(points);
  std::vector<float> sums(points), turn_with_margin(points + 2 * margin);
  float* turn = turn_with_margin.data() + margin;
  each_axis([&](std::int64_t step, const double* angle, const double* weight, int axis) {
    for (std::int64_t p = 0; p < points; ++p) {
      if (weight[p] == 0) continue;
      const auto w = static_cast<float>(weight[p]), moment = static_cast<float>(weight[p] * angle[p]);
      equations[p].after[axis] = equations[p + step].before[axis] = w;
      equations[p].wanted += moment, equations[p + step].wanted -= moment;
      sums[p] += w, sums[p + step] += w;
    }
  });
  for (std::int64_t p = 0; p < points; ++p) {
    const float share = sums[p] > 0 ? 1 / sums[p] : 0;
    equations[p].wanted *= share;
    for (int axis = 0; axis < 3; ++axis)
      equations[p].before[axis] *= share, equations[p].after[axis] *= share;
  }
  const std::int64_t y = links.next(0, 1), z = links.next(0, 2);
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (std::int64_t p = 0; p < points; ++p) {
      const Point& e = equations[p];
      const float wanted = e.wanted + e.before[0] * turn[p - 1] + e.after[0] * turn[p + 1] +
                           e.before[1] * turn[p - y] + e.after[1] * turn[p + y] + e.before[2] * turn[p - z] +
                           e.after[2] * turn[p + z];
      turn[p] += static_cast<float>(over_relaxation) * (wanted - turn[p]);
    }
  each_axis([&](std::int64_t step, double* angle, const double* weight, int) {
    for (std::int64_t p = 0; p < points; ++p)
      if (weight[p] > 0) angle[p] = std::remainder(angle[p] + turn[p + step] - turn[p], 2 * std::numbers::pi);
  });
  for (std::int64_t p = 0; p < links.points(); ++p)
    turns[p] = turns[p] * Complex<float>(Complex<double>(std::cos(turn[p]), std::sin(turn[p])));
}

/// Returns the places where neighbours are as good as orthogonal, or phases wind about a square of them. A square that holds
/// a jump has no phase.
std::vector<MapDefect> defects_of(const Links& links, const Angles& between) {
  constexpr double tissue = 0.02;  // of its energy: a seventh of its magnitude
  std::vector<MapDefect> defects;
  const auto jumps = [&](std::int64_t p, int axis) { return abs(links.product(p, axis)) < least_overlap; };
  for (std::int64_t p = 0; p < links.points(); ++p)
    for (int a = 0; a < 3; ++a) {
      if (between.weight[a][p] == 0 || links.energy(p) <= tissue) continue;
      const std::int64_t along = links.next(p, a);
      const double energy = std::min(links.energy(p), links.energy(along));
      if (energy > tissue && jumps(p, a))
        defects.push_back({MapDefect::Kind::jump, links.position(p), energy});
      for (int b = a + 1; b < 3; ++b) {
        if (between.weight[b][p] == 0) continue;
        const std::int64_t across = links.next(p, b);
        const double of_square = std::min({energy, links.energy(across), links.energy(links.next(along, b))});
        if (of_square <= tissue || jumps(p, a) || jumps(p, b) || jumps(across, a) || jumps(along, b))
          continue;
        const double around =
            between.angle[a][p] + between.angle[b][along] - between.angle[a][across] - between.angle[b][p];
        if (std::abs(around) > std::numbers::pi)
          defects.push_back({MapDefect::Kind::vortex, links.position(p), of_square});
      }
    }
  return defects;
}

/// Returns the images of low resolution at every second point along axes of many, [coil][z][y][x].
Array<Complex<float>> images_of(const CalibrationRegion& region) {
  auto images = windowed(region);
  centred_fft(images, +1);
  const auto n = region.matrix_size();
  constexpr int many = 24;
  std::array<int, 3> m;
  std::array<std::vector<int>, 3> from;
  for (int axis = 0; axis < 3; ++axis) {
    m[axis] = n[axis] < many ? n[axis] : n[axis] / 2;
    for (int i = 0; i < m[axis]; ++i) {
      const double at = static_cast<double>(i - m[axis] / 2) * n[axis] / m[axis];
      from[axis].push_back(std::clamp(n[axis] / 2 + static_cast<int>(std::lround(at)), 0, n[axis] - 1));
    }
  }
  Array<Complex<float>> fewer({images.extent(0), m[2], m[1], m[0]});
  const std::int64_t points = images.size() / images.extent(0), kept = fewer.size() / fewer.extent(0);
  for (std::int64_t coil = 0; coil < fewer.extent(0); ++coil)
    for_each_position(m, [&](const Position& at) {
      fewer.data()[coil * kept + row_major(at, m)] =
          images.data()[coil * points + row_major({from[0][at[0]], from[1][at[1]], from[2][at[2]]}, n)];
    });
  return fewer;
}

}  // namespace

AlignedPhases align_phases(const Array<Complex<float>>& vectors, const std::vector<double>& energy) {
  const Links links(vectors, energy);
  AlignedPhases phases{turns_of_front(links)};
  Angles between(links, phases.turns);
  relax(links, phases.turns, between);
  phases.defects = defects_of(links, between);
  return phases;
}

bool breaks(const Array<Complex<float>>& maps, MapDefect::Kind kind, const Position& first,
            const Position& last) {
  const std::int64_t step[3] = {1, maps.extent(3), maps.extent(3) * maps.extent(2)};
  const std::int64_t volume = step[2] * maps.extent(1);
  const auto product = [&](std::int64_t p, int axis) {
    Complex<float> sum;
    for (std::int64_t at = p; at < maps.size(); at += volume)
      sum += conj(maps.data()[at]) * maps.data()[at + step[axis]];
    return sum;
  };
  const auto angle = [&](std::int64_t p, int axis) {
    const auto z = product(p, axis);
    return z.re == 0 && z.im == 0 ? 0 : std::atan2(z.im, z.re);
  };
  const auto has_map = [&](std::int64_t p) {
    return sum_of_squares(maps.data(), maps.size(), volume, p) > 0;
  };
  bool is_found = false;
  for_each_position(
      {last[0] - first[0] + 1, last[1] - first[1] + 1, last[2] - first[2] + 1}, [&](Position at) {
        for (int axis = 0; axis < 3; ++axis) at[axis] += first[axis];
        const std::int64_t p = at[0] + at[1] * step[1] + at[2] * step[2];
        for (int a = 0; a < 3 && !is_found; ++a) {
          if (at[a] == last[a]) continue;
          const float overlap = abs(product(p, a));
          if (kind == MapDefect::Kind::jump)
            is_found = overlap < least_overlap_of_voxels && has_map(p) && has_map(p + step[a]);
          for (int b = a + 1; b < 3 && kind == MapDefect::Kind::vortex && !is_found; ++b)
            is_found = at[b] < last[b] &&
                       std::abs(angle(p, a) + angle(p + step[a], b) - angle(p + step[b], a) - angle(p, b)) >
                           std::numbers::pi_v<float>;
        }
      });
  return is_found;
}

SmoothReference smooth_reference(const CalibrationRegion& region, const MatrixField& field,
                                 const std::vector<Complex<float>>& component, Device device) {
  const auto images = images_of(region);
  const std::int64_t coils = images.extent(0), points = images.size() / coils;
  std::vector<double> energy(points);
  for (std::int64_t i = 0; i < images.size(); ++i)
    energy[i % points] += norm(Complex<double>(images.data()[i]));
  const std::array n{static_cast<int>(images.extent(3)), static_cast<int>(images.extent(2)),
                     static_cast<int>(images.extent(1))};
  SmoothReference reference{Array<Complex<float>>(images.shape())};
  constexpr double much_darker = 3e-5;  // than tissue: eigenvectors there take long, and nobody asks for them
  const double least = much_darker * energy_of_tissue(energy);
  Array<std::uint8_t> mask({images.extent(1), images.extent(2), images.extent(3)});
  for (std::int64_t p = 0; p < points; ++p)
    mask.data()[p] = energy[p] > least ? MapMask::tissue : MapMask::air;
  dominant_eigenvectors(field, {n, mask, images, 0}, 0, device, reference.vectors);
  for (std::int64_t i = 0; i < images.size(); ++i)
    if (const std::int64_t p = i % points; mask.data()[p] == MapMask::air && energy[p] > 0)
      reference.vectors.data()[i] = static_cast<float>(1 / std::sqrt(energy[p])) * images.data()[i];
  auto phases = align_phases(reference.vectors, energy);
  Complex<double> sum;
  for (std::int64_t i = 0; i < images.size(); ++i) {
    Complex<float>& v = reference.vectors.data()[i];
    v = phases.turns[i % points] * v;
    sum += energy[i % points] * Complex<double>(conj(component[i / points]) * v);
  }
  if (const double size = abs(sum); size > 0)
    for (auto& v : reference.vectors) v = Complex<float>((1 / size) * conj(sum)) * v;
  reference.defects = std::move(phases.defects);
  return reference;
}

}  // namespace fhd

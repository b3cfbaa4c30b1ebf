// Delays that make the centre of k-space consistent: gradient_delays.hpp.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <random>

#include "recon/array/interruption.hpp"
#include "recon/array/linear_algebra.hpp"
#include "recon/domain/text.hpp"
#include "recon/trajectory/gradient_delays.hpp"
#include "recon/trajectory/played_positions.hpp"

namespace fhd {
namespace {

using Index = std::int64_t;
using Matrix = Array<Complex<double>>;

constexpr double damping = 1e-6;     ///< of x_c, relative to the mean eigenvalue of E^H E
constexpr double longest_delay = 8;  ///< samples
constexpr double useful_uncertainty =
    0.05;  ///< samples: a twentieth of a sample moves k by less than noise does
constexpr double largest_inconsistency = 0.25;  ///< noise included
constexpr double largest_disturbance = 0.1;     ///< the same without what noise may have of it

bool is_cartesian(const Trajectory& trajectory) {
  return std::all_of(trajectory.k.begin(), trajectory.k.end(),
                     [](double k) { return std::abs(k - std::round(k)) <= 1e-3; });
}

/// Samples near the centre: where each is in its readout, and its values [sample][coil], the largest of which is 1.
struct CentralReadings {
  std::vector<Index> samples;
  std::vector<std::size_t> readouts;
  Matrix values;
  double edge_energy = 0;  ///< of a sample's values at the edge of k-space, on average: noise has no more
  Index count() const { return static_cast<Index>(samples.size()); }
};

/// Keeps some samples at random: any pattern could be that of the readouts.
void thin_out(std::vector<Index>& samples, std::size_t most) {
  std::mt19937 generator(1952);
  for (std::size_t i = 0; i < most && samples.size() > most; ++i)
    std::swap(samples[i], samples[i + generator() % (samples.size() - i)]);
  samples.resize(std::min(samples.size(), most));
  std::sort(samples.begin(), samples.end());
}

/// sum_c |d_c|^2, the mean over the samples in the outer fifth of k-space.
double energy_at_edge(const Scan& scan) {
  const Index all = scan.trajectory.sample_count(), coils = scan.kspace.coil_count();
  std::vector<double> squares(static_cast<std::size_t>(all));
  for (Index m = 0; m < all; ++m)
    for (int axis = 0; axis < 3; ++axis)
      if (scan.geometry.matrix_size[axis] > 1)
        squares[static_cast<std::size_t>(m)] +=
            std::pow(scan.trajectory.k[axis * all + m] / scan.geometry.matrix_size[axis], 2);
  const double furthest = *std::max_element(squares.begin(), squares.end());
  double sum = 0, count = 0;
  for (Index m = 0; m < all; ++m) {
    if (!(squares[static_cast<std::size_t>(m)] >= 0.8 * 0.8 * furthest)) continue;
    ++count;
    for (Index coil = 0; coil < coils; ++coil)
      sum += norm(Complex<double>(scan.kspace.values[coil * all + m]));
  }
  return sum / count;
}

CentralReadings central_readings(const Scan& scan, const ReadoutStarts& starts, double radius,
                                 std::size_t most) {
  const Index all = scan.trajectory.sample_count(), coils = scan.kspace.coil_count();
  CentralReadings centre;
  for (Index m = 0; m < all; ++m) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (scan.geometry.matrix_size[axis] > 1) square += std::pow(scan.trajectory.k[axis * all + m], 2);
    if (square <= radius * radius) centre.samples.push_back(m);
  }
  thin_out(centre.samples, most);
  double largest = 0;
  centre.values = Matrix({centre.count(), coils});
  for (Index i = 0; i < centre.count(); ++i) {
    const Index m = centre.samples[static_cast<std::size_t>(i)];
    const auto after = std::upper_bound(starts.begin(), starts.end(), m);
    centre.readouts.push_back(static_cast<std::size_t>(after - starts.begin()) - 1);
    for (Index coil = 0; coil < coils; ++coil) {
      const auto value = Complex<double>(scan.kspace.values[coil * all + m]);
      centre.values[i * coils + coil] = value;
      largest = std::max(largest, abs(value));
    }
  }
  for (auto& value : centre.values) value *= largest > 0 ? 1 / largest : 0;
  centre.edge_energy = largest > 0 ? energy_at_edge(scan) / (largest * largest) : 0;
  return centre;
}

/// Where objects are looked for, in FOVs, and which samples are looked at, cycles/FOV.
struct Region {
  double field, radius;
};

/// The voxels of a small matrix over the field, x fastest, wide enough for the radius and a margin.
struct SmallGrid {
  std::array<int, 3> n;
  double field;
  Index count() const { return Index{n[0]} * n[1] * n[2]; }
  /// r of a voxel along an axis, in FOVs.
  double position(int axis, int index) const { return field * (index - n[axis] / 2) / n[axis]; }
  double position(Index voxel, std::size_t axis) const {
    const Index before = axis == 0 ? 1 : axis == 1 ? n[0] : Index{n[0]} * n[1];
    return position(static_cast<int>(axis), static_cast<int>(voxel / before % n[axis]));
  }
};

SmallGrid small_grid(const std::array<int, 3>& matrix_size, const Region& region) {
  const double cells = 2 * region.radius * region.field;
  const int margin = matrix_size[2] > 1 ? 3 : 4, width = static_cast<int>(std::ceil(cells)) + margin;
  SmallGrid grid{{}, region.field};
  for (int axis = 0; axis < 3; ++axis) grid.n[axis] = matrix_size[axis] > 1 ? width : 1;
  return grid;
}

Complex<double> turned_by(double turns) {
  const double phase = 2 * std::numbers::pi * (turns - std::rint(turns));
  return {std::cos(phase), std::sin(phase)};
}

using Positions = std::vector<std::array<double, 3>>;  ///< [sample][axis]

/// exp(i 2 pi k_axis r) of `count` places r = first, first + step, ... for every sample, [sample][place].
Matrix turns_along(const Positions& k, std::size_t axis, double first, double step, int count) {
  Matrix turns({static_cast<Index>(k.size()), count});
  for (std::size_t m = 0; m < k.size(); ++m)
    for (int i = 0; i < count; ++i)
      turns[static_cast<Index>(m) * count + i] = turned_by(k[m][axis] * (first + i * step));
  return turns;
}

/// E, [sample][voxel]: exp(-i 2 pi k r) is a product of the axes'.
Matrix encoding_matrix(const Positions& k, const SmallGrid& grid) {
  const auto& n = grid.n;
  std::array<Matrix, 3> along;
  for (std::size_t axis = 0; axis < 3; ++axis)
    along[axis] =
        turns_along(k, axis, -grid.position(static_cast<int>(axis), 0), -grid.field / n[axis], n[axis]);
  Matrix e({static_cast<Index>(k.size()), grid.count()});
#pragma omp parallel for schedule(static)
  for (Index m = 0; m < e.extent(0); ++m) {
    auto* to = e.data() + m * grid.count();
    for (int z = 0; z < n[2]; ++z)
      for (int y = 0; y < n[1]; ++y) {
        const auto plane = along[2][m * n[2] + z] * along[1][m * n[1] + y];
        for (int x = 0; x < n[0]; ++x) *to++ = plane * along[0][m * n[0] + x];
      }
  }
  return e;
}

/// E^H E, which depends on differences of voxels alone: a sum over the samples for each of those.
Matrix gram_matrix(const Positions& k, const SmallGrid& grid) {
  const auto& n = grid.n;
  const int wx = 2 * n[0] - 1, wy = 2 * n[1] - 1, wz = 2 * n[2] - 1;
  std::array<Matrix, 3> along;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double step = grid.field / n[axis];
    along[axis] = turns_along(k, axis, -(n[axis] - 1) * step, step, 2 * n[axis] - 1);
  }
  Matrix sums({wz, wy, wx});
#pragma omp parallel for collapse(2) schedule(static)
  for (int z = 0; z < wz; ++z)
    for (int y = 0; y < wy; ++y) {
      auto* const row = sums.data() + (Index{z} * wy + y) * wx;
      for (Index m = 0; m < static_cast<Index>(k.size()); ++m) {
        const auto plane = along[2][m * wz + z] * along[1][m * wy + y];
        for (int x = 0; x < wx; ++x) row[x] += plane * along[0][m * wx + x];
      }
    }
  Matrix gram({grid.count(), grid.count()});
#pragma omp parallel for schedule(static)
  for (Index p = 0; p < grid.count(); ++p) {
    const int x = static_cast<int>(p % n[0]), y = static_cast<int>(p / n[0] % n[1]),
              z = static_cast<int>(p / n[0] / n[1]);
    auto* to = gram.data() + p * grid.count();
    for (int qz = 0; qz < n[2]; ++qz)
      for (int qy = 0; qy < n[1]; ++qy) {
        const auto* const row = sums.data() + (Index{z - qz + n[2] - 1} * wy + y - qy + n[1] - 1) * wx;
        for (int qx = 0; qx < n[0]; ++qx) *to++ = row[x - qx + n[0] - 1];
      }
  }
  return gram;
}

Matrix adjoint(const Matrix& a) {
  const Index rows = a.extent(0), columns = a.extent(1);
  Matrix result({columns, rows});
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) result[j * rows + i] = conj(a[i * columns + j]);
  return result;
}

void subtract(const Matrix& b, Matrix& a) {
  for (Index i = 0; i < a.size(); ++i) a[i] -= b[i];
}

double sum_of_squares(const Matrix& a) {
  double sum = 0;
  for (const auto& value : a) sum += norm(value);
  return sum;
}

/// E of positions, [sample][voxel], and the projection away from what objects can explain.
class SmallObject {
 public:
  SmallObject(const Positions& k, const SmallGrid& grid)
      : grid_(grid), e_(encoding_matrix(k, grid)), e_adjoint_(adjoint(e_)) {
    auto normal = gram_matrix(k, grid);
    const auto unknowns = grid.count();
    const double weight = damping * static_cast<double>(k.size());
    for (Index p = 0; p < unknowns; ++p) normal[p * unknowns + p].re += weight;
    auto factor = inverse_cholesky_factor(std::move(normal));
    if (!factor) return;
    explained_ = static_cast<double>(unknowns) - weight * sum_of_squares(*factor);
    factor_adjoint_ = adjoint(*factor);
    factor_ = std::move(*factor);
  }

  bool is_regular() const { return !factor_.empty(); }
  /// How many of the samples' values objects can explain.
  double explained() const { return explained_; }
  /// x of samples [sample][column].
  Matrix object(const Matrix& samples) const {
    return matrix_product(factor_adjoint_, matrix_product(factor_, matrix_product(e_adjoint_, samples)));
  }
  Matrix unexplained(Matrix samples) const {
    subtract(matrix_product(e_, object(samples)), samples);
    return samples;
  }
  /// d (E x) / d k_axis, [sample][coil].
  Matrix derivative(Matrix x, std::size_t axis) const {
    const Index columns = x.extent(1);
    for (Index i = 0; i < x.size(); ++i) {
      const double r = 2 * std::numbers::pi * grid_.position(i / columns, axis);
      x[i] = {r * x[i].im, -r * x[i].re};
    }
    return matrix_product(e_, x);
  }

 private:
  SmallGrid grid_;
  Matrix e_, e_adjoint_, factor_, factor_adjoint_;
  double explained_ = 0;
};

using Element = std::pair<std::size_t, std::size_t>;  ///< of D, the row not behind the column

std::vector<Element> elements_of(const std::array<int, 3>& matrix_size, bool between_axes) {
  std::vector<Element> elements;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b)
      if (matrix_size[a] > 1 && matrix_size[b] > 1 && (a == b || between_axes)) elements.emplace_back(a, b);
  return elements;
}

/// One step of Gauss and Newton.
struct Step {
  std::vector<double> change, uncertainty;  ///< of each element
  double inconsistency = 0;
  double disturbance = 0;  ///< the share of it that is no noise
};

/// Energy of what goes on from sample to sample, which noise does not, [sample][coil]; 0 where too few samples are
/// neighbours.
double lasting_energy(const CentralReadings& centre, const Matrix& rest) {
  constexpr Index fewest = 100;
  const Index coils = rest.extent(1);
  double sum = 0;
  Index pairs = 0;
  for (Index i = 0; i + 1 < centre.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (centre.samples[at + 1] != centre.samples[at] + 1 || centre.readouts[at + 1] != centre.readouts[at])
      continue;
    ++pairs;
    for (Index j = i * coils; j < (i + 1) * coils; ++j) sum += (conj(rest[j]) * rest[j + coils]).re;
  }
  return pairs < fewest
             ? 0
             : std::max(0.0, sum) * static_cast<double>(centre.count()) / static_cast<double>(pairs);
}

/// The solution of H x = g for a symmetric H, and the roots of the diagonal of its inverse; elements that change
/// nothing have none. Empty where H is singular.
std::optional<Step> solved(std::vector<double> h, std::vector<double> g) {
  const std::size_t n = g.size();
  Matrix scaled({static_cast<Index>(n), static_cast<Index>(n)});
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, h[i * n + i]);
  std::vector<double> scale(n);
  for (std::size_t i = 0; i < n; ++i)
    scale[i] = h[i * n + i] > 1e-12 * largest ? 1 / std::sqrt(h[i * n + i]) : 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      scaled[static_cast<Index>(i * n + j)] = {i == j ? 1.0 : scale[i] * scale[j] * h[i * n + j], 0};
  const auto factor = inverse_cholesky_factor(std::move(scaled));
  if (!factor || !(largest > 0)) return {};
  Step step{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t row = 0; row < n; ++row) {
    double sum = 0;
    const auto at = [&](std::size_t i) { return (*factor)[static_cast<Index>(row * n + i)].re * scale[i]; };
    for (std::size_t i = 0; i < n; ++i) sum += at(i) * g[i];
    for (std::size_t i = 0; i < n; ++i) step.change[i] += at(i) * sum, step.uncertainty[i] += at(i) * at(i);
  }
  for (double& value : step.uncertainty) value = std::sqrt(value);
  return step;
}

/// The samples that are looked at, and how they are moved.
struct Search {
  const Scan& scan;
  const ReadoutStarts& starts;
  const CentralReadings& centre;
  SmallGrid grid;
};

/// d (samples of the model) / d D, side by side for every element: [sample][element and coil].
Matrix jacobian(const Search& search, const SmallObject& object, const Positions& steps,
                const std::vector<Element>& elements) {
  const Index samples = search.centre.count(), coils = search.centre.values.extent(1),
              columns = coils * static_cast<Index>(elements.size());
  const auto x = object.object(search.centre.values);
  const auto length = lengths_of_axes(search.scan.geometry);
  Matrix result({samples, columns});
  const auto add = [&](std::size_t along, std::size_t of,
                       Index first) {  // k_along falls with D times step_of
    const auto slope = object.derivative(x, along);
    for (Index m = 0; m < samples; ++m)
      for (Index coil = 0; coil < coils; ++coil)
        result[m * columns + first + coil] -=
            steps[static_cast<std::size_t>(m)][of] * length[along] / length[of] * slope[m * coils + coil];
  };
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto [a, b] = elements[i];
    add(a, b, static_cast<Index>(i) * coils);
    if (a != b) add(b, a, static_cast<Index>(i) * coils);
  }
  return result;
}

/// From D on; empty where the samples do not determine an object, or D.
std::optional<Step> newton_step(const Search& search, const GradientDelays& delays,
                                const std::vector<Element>& elements) {
  Checkpoint().rethrow();  // a step takes a tenth of a second
  const auto& [scan, starts, centre, grid] = search;
  const PlayedPositions positions(scan.trajectory, scan.geometry, delays);
  Positions k, steps;
  for (std::size_t i = 0; i < centre.samples.size(); ++i) {
    const Index first = starts[centre.readouts[i]], last = starts[centre.readouts[i] + 1];
    const auto m = static_cast<double>(centre.samples[i]);
    const auto before = positions.of(first, last, m - 0.5), after = positions.of(first, last, m + 0.5);
    k.push_back(positions.of(first, last, m));
    steps.push_back({after[0] - before[0], after[1] - before[1], after[2] - before[2]});
  }
  const SmallObject object(k, grid);
  if (!object.is_regular()) return {};
  const Index samples = centre.count(), coils = centre.values.extent(1);
  const double excess = static_cast<double>(samples) - object.explained();
  if (!(excess >= 0.2 * static_cast<double>(samples) && excess >= 20)) return {};
  const auto rest = object.unexplained(centre.values);
  const auto slopes = object.unexplained(jacobian(search, object, steps, elements));
  const std::size_t n = elements.size();
  std::vector<double> h(n * n), g(n);
  for (Index m = 0; m < samples; ++m)
    for (Index coil = 0; coil < coils; ++coil)
      for (std::size_t i = 0; i < n; ++i) {
        const auto* row = slopes.data() + m * slopes.extent(1) + coil;
        const auto slope = conj(row[static_cast<Index>(i) * coils]);
        g[i] += (slope * rest[m * coils + coil]).re;
        for (std::size_t j = 0; j < n; ++j) h[i * n + j] += (slope * row[static_cast<Index>(j) * coils]).re;
      }
  auto step = solved(std::move(h), std::move(g));
  if (!step) return {};
  step->inconsistency = std::sqrt(sum_of_squares(rest) / sum_of_squares(centre.values));
  step->disturbance = std::sqrt(lasting_energy(centre, rest) / sum_of_squares(centre.values));
  const double sigma = std::sqrt(sum_of_squares(rest) / (2 * excess * static_cast<double>(coils)));
  for (double& value : step->uncertainty) value *= sigma;
  return step;
}

constexpr auto too_few_samples =
                   "too few samples lie near the centre of k-space, or pass the same places there",
               no_minimum = "no delays make the samples near the centre of k-space agree";

/// The minimum, from `estimate` on; why there is none, or null.
const char* minimise(const Search& search, const std::vector<Element>& elements, DelayEstimate& estimate,
                     std::vector<double>& uncertainty, double& disturbance) {
  constexpr int most_steps = 12, most_long_steps = 4, most_middle_steps = 6;  // more than these find nothing
  auto& d = estimate.delays.samples;
  for (int i = 0; i < most_steps; ++i) {
    const auto step = newton_step(search, estimate.delays, elements);
    if (!step) return too_few_samples;
    if (estimate.delays.are_zero()) estimate.inconsistency_before = step->inconsistency;
    estimate.inconsistency = step->inconsistency;
    disturbance = step->disturbance;
    double longest = 0;
    for (const double change : step->change) longest = std::max(longest, std::abs(change));
    for (std::size_t e = 0; e < elements.size(); ++e) {
      const auto [a, b] = elements[e];
      d[a][b] += step->change[e] / std::max(1.0, longest);
      d[b][a] = d[a][b];
      if (!(std::abs(d[a][b]) <= longest_delay)) return no_minimum;
    }
    uncertainty = step->uncertainty;
    if (longest < 5e-4) return nullptr;
    if ((longest >= 1 && i >= most_long_steps) || (longest >= 0.1 && i >= most_middle_steps))
      return no_minimum;
  }
  return no_minimum;
}

/// Returns whether an element off the diagonal is above its uncertainty.
bool is_turned(const GradientDelays& delays, const std::vector<Element>& elements,
               const std::vector<double>& uncertainty) {
  for (std::size_t e = 0; e < elements.size(); ++e)
    if (const auto [a, b] = elements[e];
        a != b && std::abs(delays.samples[a][b]) > std::max(0.01, 4 * uncertainty[e]))
      return true;
  return false;
}

/// Returns whether something else than noise, off-resonance for one, disturbs the centre so much beside these delays that it may
/// have been taken for them.
bool are_doubtful(const DelayEstimate& estimate, double disturbance) {
  double longest = 0;
  for (const auto& row : estimate.delays.samples)
    for (const double delay : row) longest = std::max(longest, std::abs(delay));
  const double explained = std::pow(estimate.inconsistency_before, 2) - std::pow(estimate.inconsistency, 2);
  constexpr double clear =
      3;  // true delays explain ten times the disturbance and more, false ones about as much
  return longest > 4 * estimate.uncertainty && clear * disturbance * disturbance > explained;
}

/// From delays of `start` samples along every axis on.
DelayEstimate estimate_from(double start, const Search& search) {
  const auto& matrix_size = search.scan.geometry.matrix_size;
  DelayEstimate estimate;
  for (std::size_t axis = 0; axis < 3; ++axis)
    estimate.delays.samples[axis][axis] = matrix_size[axis] > 1 ? start : 0;
  const auto begin = estimate.delays;
  std::vector<double> uncertainty;
  double disturbance = 0;
  auto elements = elements_of(matrix_size, true);
  const char* obstacle = minimise(search, elements, estimate, uncertainty, disturbance);
  if (obstacle || !is_turned(estimate.delays, elements, uncertainty)) {
    const auto& d = estimate.delays.samples;
    estimate.delays = obstacle ? begin : GradientDelays::along_axes({d[0][0], d[1][1], d[2][2]});
    elements = elements_of(matrix_size, false);
    obstacle = minimise(search, elements, estimate, uncertainty, disturbance);
  }
  if (obstacle) {
    estimate.obstacle = obstacle;
    return estimate;
  }
  estimate.uncertainty = *std::max_element(uncertainty.begin(), uncertainty.end());
  const auto& centre = search.centre;
  const double noise =
      centre.edge_energy * static_cast<double>(centre.count()) / sum_of_squares(centre.values);
  if (estimate.inconsistency > largest_inconsistency ||
      std::pow(estimate.inconsistency, 2) - noise > std::pow(largest_disturbance, 2))
    estimate.obstacle =
        "the samples near the centre of k-space contradict each other by " +
        short_number(100 * estimate.inconsistency) +
        " % with any delays that were found (longer ones, contrast or motion between readouts?)";
  else if (!(estimate.uncertainty <= useful_uncertainty))
    estimate.obstacle = "the samples near the centre of k-space do not tell them: uncertain by " +
                        short_number(estimate.uncertainty) + " samples";
  else if (start == 0 && are_doubtful(estimate, disturbance))
    estimate.obstacle =
        "something else, such as off-resonance, disturbs the centre of k-space: it contradicts itself "
        "by " +
        short_number(100 * estimate.inconsistency_before) + " %, and by " +
        short_number(100 * estimate.inconsistency) + " % with the best delays, " +
        in_words(estimate.delays, search.scan.geometry);
  return estimate;
}

/// With the samples inside a radius.
DelayEstimate estimate_inside(const Scan& scan, const ReadoutStarts& starts, const Region& region) {
  const std::size_t most = scan.geometry.matrix_size[2] > 1 ? 3000 : 4000;
  const auto centre = central_readings(scan, starts, region.radius, most);
  if (centre.count() < 20 || sum_of_squares(centre.values) == 0) {
    DelayEstimate none;
    none.obstacle = too_few_samples;
    return none;
  }
  const Search search{scan, starts, centre, small_grid(scan.geometry.matrix_size, region)};
  auto estimate = estimate_from(0, search);
  if (estimate.found() || estimate.obstacle == too_few_samples ||
      estimate.inconsistency < largest_inconsistency)
    return estimate;
  for (const double start : {1.5, -1.5}) {  // long delays of large objects lie behind other minima
    auto other = estimate_from(start, search);
    other.inconsistency_before = estimate.inconsistency_before;
    if (other.found()) return other;
  }
  return estimate;
}

}  // namespace

bool may_be_delayed(const Scan& scan, const ReadoutStarts& starts) {
  if (is_cartesian(scan.trajectory)) return false;
  const auto& matrix_size = scan.geometry.matrix_size;
  const Region region{1, matrix_size[2] > 1 ? 2.0 : 4.0};
  constexpr std::size_t enough = 800;  // a step of them takes 5 MB
  const auto centre = central_readings(scan, starts, region.radius, enough);
  if (centre.count() < 20 || sum_of_squares(centre.values) == 0) return false;
  const auto step = newton_step({scan, starts, centre, small_grid(matrix_size, region)}, {},
                                elements_of(matrix_size, false));
  if (!step) return true;  // of a smaller radius, perhaps
  constexpr double certain = 4, exact = 0.1;
  for (std::size_t e = 0; e < step->change.size(); ++e) {
    const double delay = std::abs(step->change[e]), sigma = step->uncertainty[e];
    if (delay > certain * sigma && sigma <= std::max(useful_uncertainty, exact * delay)) return true;
  }
  return false;
}

DelayEstimate estimate_delays(const Scan& scan, const ReadoutStarts& starts) {
  DelayEstimate estimate;
  if (is_cartesian(scan.trajectory)) {
    estimate.obstacle = "the scan is Cartesian: its readouts do not cross";
    return estimate;
  }
  const bool is_3d = scan.geometry.matrix_size[2] > 1;
  constexpr double least_radius = 2;
  for (double radius = is_3d ? 3 : 6; radius >= least_radius; --radius) {
    estimate = estimate_inside(scan, starts, {1, radius});
    if (estimate.obstacle != too_few_samples) break;
  }
  // An object that does not fit into the field of view may fit into a larger one.
  constexpr double fits = 0.05, larger_field = 1.5;
  if (estimate.obstacle == too_few_samples || (estimate.found() && estimate.inconsistency <= fits))
    return estimate;
  auto larger = estimate_inside(scan, starts, {larger_field, is_3d ? 2.0 : 4.0});
  const bool is_better =
      larger.found() && (!estimate.found() || larger.inconsistency < 0.5 * estimate.inconsistency);
  return is_better ? larger : estimate;
}

}  // namespace fhd

#include "recon/encoding/field_factors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/rows.hpp"

namespace fhd {
namespace {

using Phasor = Complex<double>;
using Indices = std::vector<std::int64_t>;

/// Samples or places, [point][row]: coefficients or values of the basis; then, with decay, the time of a sample, and of a
/// place R, or R, R' and f of each voxel of two components.
struct Points {
  std::int64_t rows = 1;
  std::vector<double> values{};

  std::int64_t count() const { return static_cast<std::int64_t>(values.size()) / rows; }
  const double* operator[](std::int64_t i) const { return values.data() + i * rows; }
  Points at(const Indices& indices) const {
    Points chosen{rows};
    for (const std::int64_t i : indices)
      chosen.values.insert(chosen.values.end(), (*this)[i], (*this)[i] + rows);
    return chosen;
  }
};

/// Returns the columns of [row][column] that are asked for, with further rows that are not empty.
Points points_of(const Array<double>& values, const std::vector<const Array<double>*>& further,
                 const Indices& columns) {
  std::vector<const double*> last;
  for (const auto* row : further)
    if (!row->empty()) last.push_back(row->data());
  const std::int64_t rows = values.extent(0), count = values.extent(1), all = rows + std::ssize(last);
  Points points{all, std::vector<double>(columns.size() * all)};
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::int64_t row = 0; row < rows; ++row)
      points.values[i * all + row] = values.data()[row * count + columns[i]];
    for (std::size_t row = 0; row < last.size(); ++row)
      points.values[i * all + rows + row] = last[row][columns[i]];
  }
  return points;
}

/// Returns the largest minus the smallest value of each row.
std::vector<double> ranges_of(const Points& points) {
  std::vector<double> low(points[0], points[0] + points.rows), high = low;
  for (std::int64_t i = 1; i < points.count(); ++i)
    for (std::int64_t row = 0; row < points.rows; ++row)
      low[row] = std::min(low[row], points[i][row]), high[row] = std::max(high[row], points[i][row]);
  for (std::int64_t row = 0; row < points.rows; ++row) high[row] -= low[row];
  return high;
}

/// Returns the points that are furthest out along each row and along 32 diagonals: corners of what the points span.
Indices extremes_of(const Points& points, const std::vector<double>& scale) {
  const std::int64_t directions = 2 * points.rows + 32;
  std::mt19937_64 generator(3);
  std::vector<double> along(directions * points.rows);
  for (std::int64_t d = 0; d < directions; ++d)
    for (std::int64_t row = 0; row < points.rows; ++row)
      along[d * points.rows + row] = d < 2 * points.rows ? (d / 2 == row ? (d % 2 == 0 ? 1. : -1.) : 0.)
                                                         : scale[row] * ((generator() & 1) != 0 ? 1. : -1.);
  Indices ends(directions);
#pragma omp parallel for schedule(static)
  for (std::int64_t d = 0; d < directions; ++d) {
    double furthest = -1e300;
    for (std::int64_t i = 0; i < points.count(); ++i) {
      double sum = 0;
      for (std::int64_t row = 0; row < points.rows; ++row)
        sum += points[i][row] * along[d * points.rows + row];
      if (sum > furthest) furthest = sum, ends[d] = i;
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

/// Adds points at random until there are `count`: every second one the furthest out of 16, since errors are largest there.
void add_random(const Points& points, const std::vector<double>& scale, std::size_t count, unsigned seed,
                Indices& chosen) {
  std::mt19937_64 generator(seed);
  const auto random = [&] { return static_cast<std::int64_t>(generator() % points.count()); };
  const auto size = [&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t row = 0; row < points.rows; ++row) sum += std::abs(points[i][row]) * scale[row];
    return sum;
  };
  while (chosen.size() < count) {
    std::int64_t next = random();
    for (int i = 1; i < 16 && chosen.size() % 2 == 0; ++i)
      if (const std::int64_t other = random(); size(other) > size(next)) next = other;
    chosen.push_back(next);
  }
}

Indices all_of(const Points& points) {
  Indices all(points.count());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Adds one point of each occupied one of `count` equal intervals of a row's values, so that a small hot spot counts as much as
/// its large background.
void add_intervals(const Points& points, std::int64_t row, std::size_t count, Indices& chosen) {
  double low = points[0][row], high = low;
  for (std::int64_t i = 1; i < points.count(); ++i)
    low = std::min(low, points[i][row]), high = std::max(high, points[i][row]);
  if (!(high > low)) return;
  std::vector<bool> occupied(count);
  for (std::int64_t i = 0; i < points.count(); ++i) {
    const auto interval =
        static_cast<std::size_t>((points[i][row] - low) / (high - low) * static_cast<double>(count - 1));
    if (!occupied[interval]) occupied[interval] = true, chosen.push_back(i);
  }
}

/// Returns all points where these are few, else the extremes, points in all intervals of each row, and, of several rows, random
/// ones to make it `most`: points that only avoid each other would leave out the middle of many dimensions. A row is in units of
/// 1 / scale: radians.
Indices covering(const Points& points, const std::vector<double>& scale, std::size_t most) {
  if (points.count() <= static_cast<std::int64_t>(most)) return all_of(points);
  const auto rows = static_cast<std::size_t>(points.rows);
  Indices chosen = extremes_of(points, scale);
  for (std::size_t row = 0; row < rows; ++row)
    add_intervals(points, static_cast<std::int64_t>(row), rows == 1 ? most : most / (4 * rows), chosen);
  if (rows > 1) add_random(points, scale, most, 4, chosen);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

/// Returns all points where these are few, else extremes and random ones.
Indices fresh(const Points& points, const std::vector<double>& scale, std::size_t most) {
  if (points.count() <= static_cast<std::int64_t>(most)) return all_of(points);
  Indices chosen = extremes_of(points, scale);
  add_random(points, scale, most, 1, chosen);
  return chosen;
}

/// Returns the decay of a place by a time, from its rows of decay: 1 (R), 3, or 6 of a pair of voxels of two components.
double decay_by(double time, const double* place, std::int64_t rows) {
  if (rows == 1) return std::exp(-time * place[0]);
  double size = 1;
  for (std::int64_t i = 0; i < rows; i += 3)
    size *= place[i + 2] * std::exp(-time * place[i]) + (1 - place[i + 2]) * std::exp(-time * place[i + 1]);
  return size;
}

/// Returns w of all samples and places, [sample][place].
Array<Phasor> columns_at(const Points& samples, const Points& places, bool decays) {
  Array<Phasor> columns({samples.count(), places.count()});
  const std::int64_t terms = samples.rows - decays, of_decay = places.rows - terms;
#pragma omp parallel for schedule(static)
  for (std::int64_t m = 0; m < samples.count(); ++m)
    for (std::int64_t p = 0; p < places.count(); ++p) {
      double angle = 0;
      for (std::int64_t l = 0; l < terms; ++l) angle -= samples[m][l] * places[p][l];
      const double size = decays ? decay_by(samples[m][terms], places[p] + terms, of_decay) : 1;
      columns.data()[m * places.count() + p] = {size * std::cos(angle), size * std::sin(angle)};
    }
  return columns;
}

/// A QR decomposition of columns, one pivot after the other: the candidate that is worst represented so far.
class PivotedColumns {
 public:
  PivotedColumns(Array<Phasor> columns, std::int64_t candidates)
      : rest_(std::move(columns)), candidates_(candidates), sizes_(rest_.extent(0)) {
    take_out(nullptr);
  }
  /// Takes the next pivot; false where there is nothing left to represent.
  bool extend() {
    const auto next = std::max_element(sizes_.begin(), sizes_.begin() + candidates_);
    if (!(*next > 1e-14)) return false;
    pivots_.push_back(next - sizes_.begin());
    const Phasor* column = rest_.data() + pivots_.back() * places();
    auto& q = directions_.emplace_back(column, column + places());
    for (auto& value : q) value = (1 / *next) * value;
    take_out(q.data());
    return true;
  }
  std::int64_t count() const { return static_cast<std::int64_t>(pivots_.size()); }
  const Indices& pivots() const { return pivots_; }
  /// Return the largest error of all columns at the places fitted: of a value, and the root mean square of a column.
  double worst_error() const { return worst_; }
  double column_error() const {
    return *std::max_element(sizes_.begin(), sizes_.end()) / std::sqrt(static_cast<double>(places()));
  }
  /// Returns the coefficients of the pivots for column i, or, by a place, those that its value is multiplied with.
  std::vector<Phasor> weights_of_column(std::int64_t i) const {
    return solved([&](std::int64_t j) { return products_[j][i]; });
  }
  std::vector<Phasor> weights_of_place(std::int64_t p) const {
    return solved([&](std::int64_t j) { return conj(directions_[j][p]); });
  }
  std::int64_t places() const { return rest_.extent(1); }

 private:
  /// Removes a direction from all columns, and measures what is left of them.
  void take_out(const Phasor* direction) {
    const auto& rows = rows::kernels<double>();
    std::vector<Phasor> products(sizes_.size());
    double worst = 0;
#pragma omp parallel for schedule(static) reduction(max : worst)
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      Phasor* column = rest_.data() + static_cast<std::int64_t>(i) * places();
      if (direction) {
        products[i] = rows.dot(places(), direction, column);
        rows.subtract(places(), products[i], direction, column);
      }
      double square = 0, largest = 0;
      for (std::int64_t p = 0; p < places(); ++p) {
        const double each = norm(column[p]);
        square += each, largest = std::max(largest, each);
      }
      sizes_[i] = std::sqrt(square), worst = std::max(worst, largest);
    }
    worst_ = std::sqrt(worst);
    if (direction) products_.push_back(std::move(products));
  }
  /// Solves R x = right by the pivots' triangle.
  template <class Right>
  std::vector<Phasor> solved(const Right& right) const {
    std::vector<Phasor> x(pivots_.size());
    for (std::int64_t j = count() - 1; j >= 0; --j) {
      Phasor sum = right(j);
      for (std::int64_t i = j + 1; i < count(); ++i) sum -= products_[j][pivots_[i]] * x[i];
      x[j] = (1 / products_[j][pivots_[j]].re) * sum;
    }
    return x;
  }

  Array<Phasor> rest_;  ///< [column][place]
  std::int64_t candidates_;
  std::vector<double> sizes_;  ///< |rest| of each column
  double worst_ = 0;
  Indices pivots_;
  std::vector<std::vector<Phasor>> directions_, products_;  ///< [pivot][place], [pivot][column]
};

/// The distinct samples, and which of them each sample is: readouts repeat their times.
struct DistinctSamples {
  Points points;
  Indices number;
};
DistinctSamples distinct_samples(const PhaseTerms& terms) {
  Indices all(terms.coefficients.extent(1));
  std::iota(all.begin(), all.end(), 0);
  const Array<double> none;
  const Points points =
      points_of(terms.coefficients, {terms.decay_per_s.empty() ? &none : &terms.sample_time_s}, all);
  const auto compare = [&](std::int64_t a, std::int64_t b) {
    return std::lexicographical_compare_three_way(points[a], points[a] + points.rows, points[b],
                                                  points[b] + points.rows);
  };
  std::sort(all.begin(), all.end(), [&](auto a, auto b) { return compare(a, b) < 0; });
  DistinctSamples found{{points.rows, {}}, Indices(all.size())};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || compare(all[i - 1], all[i]) != 0)
      found.points.values.insert(found.points.values.end(), points[all[i]], points[all[i]] + points.rows);
    found.number[all[i]] = found.points.count() - 1;
  }
  return found;
}

/// Places where factors are fitted, and others where they are checked.
struct Places {
  Points fitted, checked;
};
Places places_of(const Points& voxels, const std::vector<double>& scale, std::size_t most) {
  return {voxels.at(covering(voxels, scale, most)), voxels.at(fresh(voxels, scale, 2048))};
}

/// Returns pairs of voxels as places: differences of the basis; sums of the decay, or, of two components, that of both voxels.
Places pairs_of(const Points& voxels, const std::vector<double>& scale, std::size_t most,
                std::int64_t terms) {
  const std::int64_t of_decay = voxels.rows - terms, rows = voxels.rows + (of_decay == 3 ? 3 : 0);
  const auto add_pair = [&](const double* p, const double* other, Points& pairs) {
    for (std::int64_t row = 0; row < terms; ++row) pairs.values.push_back(other[row] - p[row]);
    if (of_decay == 1) pairs.values.push_back(p[terms] + other[terms]);
    for (const double* voxel : {p, other})
      if (of_decay == 3) pairs.values.insert(pairs.values.end(), voxel + terms, voxel + terms + 3);
  };
  auto of_pairs = scale;
  of_pairs.insert(of_pairs.end(), scale.end() - (rows - voxels.rows), scale.end());
  const Points some = voxels.at(covering(voxels, scale, 512));
  Points half{rows}, fitted{rows}, checked{rows};
  for (std::int64_t i = 0; i < some.count(); ++i)
    for (std::int64_t j = i; j < some.count(); ++j) add_pair(some[i], some[j], half);
  for (const std::int64_t i : covering(half, of_pairs, most / 2))
    for (const double sign : {1., -1.})  // both orders of the pair: so that the weights come out real
      for (std::int64_t row = 0; row < rows; ++row)
        fitted.values.push_back((row < terms ? sign : 1) * half[i][row]);
  const Indices ends = extremes_of(voxels, scale);
  for (const std::int64_t i : ends)
    for (const std::int64_t j : ends) add_pair(voxels[i], voxels[j], checked);
  std::mt19937_64 generator(2);
  for (int i = 0; i < 1024; ++i)
    add_pair(voxels[static_cast<std::int64_t>(generator() % voxels.count())],
             voxels[static_cast<std::int64_t>(generator() % voxels.count())], checked);
  return {std::move(fitted), std::move(checked)};
}

/// Checks columns, whose last ones are those of `samples`, at other places than those fitted.
void measure_errors(const PivotedColumns& columns, std::int64_t first, const Array<Phasor>& exact,
                    const Array<Phasor>& turns, bool is_single, PhaseFactors& factors) {
  const std::int64_t samples = exact.extent(0), count = columns.count();
  Array<Phasor> weights({samples, count});
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto of_sample = columns.weights_of_column(first + i);
    std::copy(of_sample.begin(), of_sample.end(), weights.data() + i * count);
  }
  const auto sums = matrix_product(weights, turns);
  const std::int64_t places = exact.extent(1);
  std::vector<double> of_place(places);
  double worst = 0, of_samples = 0, square = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    double of_sample = 0;
    for (std::int64_t p = 0; p < places; ++p) {
      const double each = norm(exact.data()[i * places + p] - sums.data()[i * places + p]);
      worst = each > worst || each != each ? each : worst, of_sample += each, of_place[p] += each;
    }
    of_samples = std::max(of_samples, of_sample), square += of_sample;
  }
  const double of_places = *std::max_element(of_place.begin(), of_place.end());
  factors.worst_error = std::sqrt(worst);
  factors.rms_error = std::sqrt(square / static_cast<double>(sums.size()));
  const double of_lines = std::sqrt(std::max(of_samples / double(places), of_places / double(samples)));
  factors.error = is_single || std::isnan(worst) ? factors.worst_error : of_lines;
}

/// Exponentials exp(-R t) of places, whose weighted sum is the decay of a place.
struct Exponentials {
  Points points{};                ///< terms and R
  Indices place{};                ///< of each
  std::vector<double> weights{};  ///< of each
};
/// Returns the exponentials of 1 or 3 rows of decay: 1 and 2; of the 6 of a pair 4.
Exponentials exponentials_of(const Points& places, std::int64_t terms) {
  const std::int64_t of_decay = places.rows - terms, components = of_decay == 6 ? 4 : of_decay == 3 ? 2 : 1;
  Exponentials all{{terms + (of_decay > 0)}};
  for (std::int64_t p = 0; p < places.count(); ++p)
    for (std::int64_t c = 0; c < components; ++c) {
      const double* const decay = places[p] + terms;
      double weight = 1, rate = 0;
      for (std::int64_t i = 0; i < of_decay; i += 3) {
        const bool is_second = (c >> (i / 3) & 1) != 0;
        rate += decay[i + is_second];
        if (of_decay > 1) weight *= is_second ? 1 - decay[i + 2] : decay[i + 2];
      }
      all.points.values.insert(all.points.values.end(), places[p], decay);
      if (of_decay > 0) all.points.values.push_back(rate);
      all.place.push_back(p), all.weights.push_back(weight);
    }
  return all;
}

/// Returns u_j of all samples, [j][sample], from the coefficients of values at the places fitted.
Array<Phasor> weights_of(const PivotedColumns& columns, const Points& fitted_places,
                         const DistinctSamples& samples, bool decays) {
  const std::int64_t terms = samples.points.rows - decays;
  const auto [places, number, shares] = exponentials_of(fitted_places, terms);
  const std::int64_t count = columns.count(), place_count = places.count(), distinct = samples.points.count(),
                     all = static_cast<std::int64_t>(samples.number.size());
  Array<Phasor> fits({count, 1, 1, place_count}), of_distinct({count, distinct});
  for (std::int64_t p = 0; p < place_count; ++p) {
    const auto of_place = columns.weights_of_place(number[p]);
    for (std::int64_t j = 0; j < count; ++j) fits[j * place_count + p] = shares[p] * of_place[j];
  }
  const auto rows_of = [](const Points& points, std::int64_t first, std::int64_t rows) {
    Array<double> values({rows, points.count()});
    for (std::int64_t i = 0; i < points.count(); ++i)
      for (std::int64_t row = 0; row < rows; ++row) values[row * points.count() + i] = points[i][first + row];
    return values;
  };
  PhaseTerms at_places{rows_of(samples.points, 0, terms), rows_of(places, 0, terms), {}, {}};
  if (decays) {
    at_places.decay_per_s = rows_of(places, terms, 1).reshaped({place_count});
    at_places.sample_time_s = rows_of(samples.points, terms, 1).reshaped({distinct});
  }
  make_phase_transform<double>(at_places, {static_cast<int>(place_count), 1, 1}, Device::cpu())
      ->forward(fits, of_distinct);
  if (distinct == all && std::is_sorted(samples.number.begin(), samples.number.end())) return of_distinct;
  Array<Phasor> weights({count, all});
#pragma omp parallel for schedule(static)
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t m = 0; m < all; ++m)
      weights.data()[j * all + m] = of_distinct.data()[j * distinct + samples.number[m]];
  return weights;
}

/// Returns the ranges of the rows of voxels for those of samples: of all rates for the time.
std::vector<double> ranges_for_samples(const Points& voxels, std::int64_t terms) {
  auto ranges = ranges_of(voxels);
  if (voxels.rows - terms != 3) return ranges;
  double low = 1e300, high = 0;
  for (std::int64_t i = 0; i < voxels.count(); ++i)
    for (const std::int64_t row : {terms, terms + 1})
      low = std::min(low, voxels[i][row]), high = std::max(high, voxels[i][row]);
  ranges.resize(terms);
  ranges.push_back(high - low);
  return ranges;
}

/// The numbers of places, and of samples among which pivots are sought: more where the terms are many.
constexpr std::size_t coarsest = 768, finest = 2048;

/// Returns the factors for these places; `used_up` where they are too few to tell.
std::optional<PhaseFactors> fitted(const Places& places, const DistinctSamples& samples,
                                   const std::vector<double>& scale, std::size_t most_places, bool decays,
                                   double accuracy, std::int64_t most_terms, bool& used_up) {
  Indices chosen = covering(samples.points, scale, most_places);
  const auto candidates = static_cast<std::int64_t>(chosen.size());
  const Indices others = fresh(samples.points, scale, 1024);
  chosen.insert(chosen.end(), others.begin(), others.end());
  const Points some = samples.points.at(chosen), checked = samples.points.at(others);
  PivotedColumns columns(columns_at(some, places.fitted, decays), candidates);
  const Array<Phasor> exact = columns_at(checked, places.checked, decays);
  PhaseFactors factors{{}, {}, {}, 1e300};
  const bool is_single = some.rows == 1;
  std::int64_t next_look = 0;
  while (columns.count() < most_terms && columns.extend()) {
    used_up = 4 * columns.count() > static_cast<std::int64_t>(most_places);
    if (used_up && most_places < finest) return std::nullopt;
    if (columns.count() < next_look) continue;
    if ((is_single ? columns.worst_error() : columns.column_error()) > accuracy) continue;
    const auto turns = columns_at(some.at(columns.pivots()), places.checked, decays);
    measure_errors(columns, candidates, exact, turns, is_single, factors);
    if (factors.error <= accuracy) break;
    next_look = columns.count() + 1 + columns.count() / 32;
  }
  if (!(factors.error <= accuracy)) return std::nullopt;
  const std::int64_t count = columns.count(), terms = some.rows - decays;
  factors.coefficients = Array<double>({count, terms});
  if (decays) factors.time_s = Array<double>({count});
  for (std::int64_t j = 0; j < count; ++j) {
    const double* sample = some[columns.pivots()[j]];
    std::copy_n(sample, terms, factors.coefficients.data() + j * terms);
    if (decays) factors.time_s[j] = sample[terms];
  }
  factors.weights = weights_of(columns, places.fitted, samples, decays);
  return factors;
}

std::optional<PhaseFactors> factors_of(const PhaseTerms& terms, const std::vector<bool>& seen,
                                       double accuracy, std::int64_t most_terms, bool of_pairs) {
  const bool decays = !terms.decay_per_s.empty();
  Indices counted;
  for (std::int64_t p = 0; p < terms.basis.extent(1); ++p)
    if (seen.empty() || seen[p]) counted.push_back(p);
  if (counted.empty()) counted.push_back(0);
  const std::int64_t rows = terms.basis.extent(0);
  const Points voxels =
      points_of(terms.basis, {&terms.decay_per_s, &terms.second_decay_per_s, &terms.fraction}, counted);
  const DistinctSamples samples = distinct_samples(terms);
  auto of_samples = ranges_of(samples.points);
  const auto of_voxels = ranges_for_samples(voxels, rows);
  if (voxels.rows == rows + 3) of_samples.insert(of_samples.end(), {of_samples.back(), 1.0});
  for (const std::size_t most : {coarsest, finest}) {
    const Places places =
        of_pairs ? pairs_of(voxels, of_samples, most, rows) : places_of(voxels, of_samples, most);
    bool used_up = false;
    auto found = fitted(places, samples, of_voxels, most, decays, accuracy, most_terms, used_up);
    if (found || !used_up) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<PhaseFactors> field_factors(const PhaseTerms& terms, const std::vector<bool>& seen,
                                          double accuracy, std::int64_t most_terms) {
  return factors_of(terms, seen, accuracy, most_terms, false);
}

std::optional<PhaseFactors> difference_factors(const PhaseTerms& terms, const std::vector<bool>& seen,
                                               double accuracy, std::int64_t most_terms) {
  auto factors = factors_of(terms, seen, accuracy, most_terms, true);
  if (factors)
    for (auto& weight : factors->weights) weight.im = 0;
  return factors;
}

}  // namespace fhd

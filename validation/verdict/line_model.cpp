#include "validation/verdict/line_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "recon/array/for_processors.hpp"
#include "recon/array/linear_algebra.hpp"

namespace fhd::validation {
namespace {

using LineValue = Complex<double>;

constexpr std::array<std::array<std::size_t, 2>, 6> line_pairs{
    {{0, 0}, {1, 1}, {2, 2}, {1, 0}, {2, 1}, {2, 0}}};

/// Returns the axis along which all readouts run at the same positions, in either direction as in EPI, while the
/// other one stays; -1: there is none.
int axis_along(const Trajectory& trajectory, const std::vector<Index>& starts) {
  constexpr double tolerance = 1e-3;  // cycles/FOV
  const Index all = trajectory.sample_count(), length = starts[1] - starts[0];
  for (int axis = 0; axis < 2; ++axis) {
    const double *along = trajectory.k.data() + axis * all, *across = trajectory.k.data() + (1 - axis) * all;
    bool fits = std::abs(along[length - 1] - along[0]) > 1;
    for (std::size_t j = 0; fits && j + 1 < starts.size(); ++j) {
      fits = starts[j + 1] - starts[j] == length;
      const bool is_reversed = std::abs(along[starts[j]] - along[0]) > tolerance;
      for (Index n = 0; fits && n < length; ++n)
        fits = std::abs(along[starts[j] + n] - along[is_reversed ? length - 1 - n : n]) < tolerance &&
               std::abs(across[starts[j] + n] - across[starts[j]]) < tolerance;
    }
    if (fits) return axis;
  }
  return -1;
}

/// Returns the numbers of the `most` nearest_to_zero |values|, ascending.
std::vector<Index> nearest_to_zero(const std::vector<double>& values, Index most) {
  std::vector<Index> numbers(values.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::stable_sort(numbers.begin(), numbers.end(), [&](Index a, Index b) {
    return std::abs(values[static_cast<std::size_t>(a)]) < std::abs(values[static_cast<std::size_t>(b)]);
  });
  numbers.resize(std::min(numbers.size(), static_cast<std::size_t>(most)));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Returns the places of lines in steps of the closest two; empty where they lie on no raster.
std::vector<Index> places_of(const std::vector<double>& k) {
  std::vector<double> sorted(k);
  std::sort(sorted.begin(), sorted.end());
  double step = 1e30;
  for (std::size_t j = 0; j + 1 < sorted.size(); ++j)
    if (const double apart = sorted[j + 1] - sorted[j]; apart > 0.1) step = std::min(step, apart);
  std::vector<Index> places;
  for (const double at : k) {
    const double place = (at - sorted[0]) / step;
    if (std::abs(place - std::round(place)) > 0.05) return {};
    places.push_back(static_cast<Index>(std::llround(place)));
  }
  return places;
}

/// Returns sum_n x(n) conj y(n) of numbers whose parts lie apart.
FHD_FOR_PROCESSORS LineValue product_of(const double* x_re, const double* x_im, const double* y_re,
                                        const double* y_im, Index count) {
  double rr = 0, ii = 0, ir = 0, ri = 0;
#pragma omp simd reduction(+ : rr, ii, ir, ri)
  for (Index n = 0; n < count; ++n) {
    rr += x_re[n] * y_re[n], ii += x_im[n] * y_im[n];
    ir += x_im[n] * y_re[n], ri += x_re[n] * y_im[n];
  }
  return {rr + ii, ir - ri};
}

constexpr Index most_lag = 4;  ///< samples: 5 positions of a line

/// The samples of a line, parts apart, with zeros beyond both ends.
struct LineParts {
  Index coils, length;
  std::vector<double> re, im;
  LineParts(const Lines& lines, Index line)
      : coils(lines.coils), length(lines.length), re(static_cast<std::size_t>(coils * width())), im(re) {
    for (Index coil = 0; coil < coils; ++coil)
      for (Index n = 0; n < length; ++n) {
        const auto& d = lines.at(line, coil)[n];
        re[at(coil) + static_cast<std::size_t>(n)] = d.re, im[at(coil) + static_cast<std::size_t>(n)] = d.im;
      }
  }
  Index width() const { return length + 2 * most_lag; }
  std::size_t at(Index coil) const { return static_cast<std::size_t>(coil * width() + most_lag); }
};

/// Adds sum_n d_b,c(n + lag) conj d_a,c'(n) of two lines b and a, [c][c'][lag].
void append_correlations(const LineParts& b, const LineParts& a, std::vector<LineValue>& all) {
  for (Index c = 0; c < b.coils; ++c)
    for (Index other = 0; other < a.coils; ++other)
      for (Index lag = -most_lag; lag <= most_lag; ++lag)
        all.push_back(product_of(b.re.data() + b.at(c) + lag, b.im.data() + b.at(c) + lag,
                                 a.re.data() + a.at(other), a.im.data() + a.at(other), a.length));
}

}  // namespace

Array<LineValue> gram_of(const Lines& lines) {
  const Index coils = lines.coils;
  Array<LineValue> gram({coils, coils});
  for (Index line = 0; line < lines.count; ++line) {
    const LineParts parts(lines, line);
    for (Index a = 0; a < coils; ++a)
      for (Index b = 0; b <= a; ++b) {
        const auto product =
            product_of(parts.re.data() + parts.at(b), parts.im.data() + parts.at(b),
                       parts.re.data() + parts.at(a), parts.im.data() + parts.at(a), lines.length);
        gram[a * coils + b] += product;
        if (b != a) gram[b * coils + a] += conj(product);
      }
  }
  return gram;
}

Array<LineValue> strongest_combinations(Array<LineValue> gram, Index most) {
  const Index coils = gram.extent(0);
  Array<LineValue> some({std::min(coils, most), coils});
  const auto eigen = hermitian_eigen(std::move(gram));
  std::copy_n(eigen.vectors.data(), some.size(), some.data());
  return some;
}

Lines combined(const Lines& lines, const Array<LineValue>& combinations) {
  Lines few(lines);
  few.coils = combinations.extent(0);
  few.values.assign(static_cast<std::size_t>(lines.count * few.coils * lines.length), LineValue{});
  for (Index line = 0; line < lines.count; ++line)
    for (Index a = 0; a < few.coils; ++a)
      for (Index b = 0; b < lines.coils; ++b)
        for (Index n = 0; n < lines.length; ++n)
          few.at(line, a)[n] += combinations[a * lines.coils + b] * lines.at(line, b)[n];
  return few;
}

double Lines::energy(Index line) const {
  double sum = 0;
  for (Index i = 0; i < coils * length; ++i) sum += norm(at(line, 0)[i]);
  return sum;
}

std::optional<Lines> cartesian_lines(const VerifierInput<float>& e, const std::vector<Index>& starts) {
  constexpr Index fewest = 16, most_lines = 160, most_samples = 128;
  const Index readouts = static_cast<Index>(starts.size()) - 1, all = e.trajectory.sample_count();
  if (readouts < fewest || e.coil_count < 2 || e.matrix_size[2] > 1) return {};
  Lines lines;
  lines.axis_along = axis_along(e.trajectory, starts), lines.axis_across = 1 - lines.axis_along;
  if (lines.axis_along < 0) return {};
  lines.voxels_along = e.matrix_size[static_cast<std::size_t>(lines.axis_along)];
  lines.voxels_across = e.matrix_size[static_cast<std::size_t>(lines.axis_across)];
  const double *along = e.trajectory.k.data() + lines.axis_along * all,
               *across = e.trajectory.k.data() + lines.axis_across * all;
  std::vector<double> k_line;
  for (Index j = 0; j < readouts; ++j) k_line.push_back(across[starts[static_cast<std::size_t>(j)]]);
  lines.numbers = nearest_to_zero(k_line, most_lines);
  const auto samples = nearest_to_zero(std::vector<double>(along, along + starts[1]), most_samples);
  for (const Index number : lines.numbers) lines.k_line.push_back(k_line[static_cast<std::size_t>(number)]);
  for (const Index n : samples) lines.k_along.push_back(along[n]);
  lines.places = places_of(lines.k_line);
  if (lines.places.empty()) return {};
  lines.readouts = readouts, lines.coils = e.coil_count,
  lines.count = static_cast<Index>(lines.numbers.size()), lines.length = static_cast<Index>(samples.size());
  for (const Index number : lines.numbers) {
    const Index start = starts[static_cast<std::size_t>(number)];
    const bool is_reversed = std::abs(along[start] - along[0]) > 0.1;
    for (Index coil = 0; coil < e.coil_count; ++coil)
      for (const Index n : samples) {
        const Index i = coil * all + start + (is_reversed ? starts[1] - 1 - n : n);
        lines.values.push_back(e.samples_in_double ? e.samples_in_double[i] : LineValue(e.samples[i]));
      }
  }
  return lines;
}

LineModel::LineModel(Lines lines) : lines_(std::move(lines)) {
  for (Index line = 0; line < lines_.count; ++line) energies_.push_back(lines_.energy(line));
  std::vector<double> sorted(energies_);
  std::sort(sorted.begin(), sorted.end());
  const auto weakest = std::max<std::size_t>(2, sorted.size() / 20);
  if (sorted.size() < weakest || !(sorted.back() > 0)) return;
  noise_ = std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(weakest), 0.0) /
           static_cast<double>(weakest);
  noise_ = std::max(noise_, 1e-12 * sorted.back());
  relate();
  correlate();
  blocks_.resize(relations_.size());
  inverse_.resize(kinds_.size() - 1);
}

/// Relates each line to those at the least equal distance on both sides.
void LineModel::relate() {
  constexpr Index farthest = 4, fewest = 8;
  std::map<Index, Index> line_at;
  for (Index j = 0; j < lines_.count; ++j) line_at[lines_.places[static_cast<std::size_t>(j)]] = j;
  std::array<std::vector<Relation>, farthest> by_distance;
  for (const auto& [place, line] : line_at)
    for (Index step = 1; step <= farthest; ++step) {
      const auto before = line_at.find(place - step), after = line_at.find(place + step);
      if (before == line_at.end() || after == line_at.end()) continue;
      by_distance[static_cast<std::size_t>(step - 1)].push_back({before->second, line, after->second});
      break;
    }
  kinds_ = {0};
  of_line_.resize(static_cast<std::size_t>(lines_.count));
  const auto values = [&](const auto& some) {
    return static_cast<double>(some.size()) * static_cast<double>(lines_.length);
  };
  for (const auto& some : by_distance) {
    if (static_cast<Index>(some.size()) < fewest || values(some) < 8 * unknowns()) continue;
    relations_.insert(relations_.end(), some.begin(), some.end());
    kind_of_.resize(relations_.size(), kinds_.size() - 1);
    kinds_.push_back(relations_.size());
  }
  for (std::size_t r = 0; r < relations_.size(); ++r)
    for (std::size_t place = 0; place < neighbours; ++place)
      of_line_[static_cast<std::size_t>(relations_[r][place])].push_back({r, place});
}

/// Returns the correlations of a relation of lines with other values; those of two lines that are as told are known.
LineModel::Correlations LineModel::correlations_of(std::size_t relation, const Lines& changed) const {
  std::vector<LineParts> parts;
  std::vector<bool> are_told;
  for (const Index line : relations_[relation]) {
    const LineValue *told = lines_.at(line, 0), *now = changed.at(line, 0);
    are_told.push_back(std::equal(told, told + lines_.coils * lines_.length, now));
    parts.emplace_back(changed, line);
  }
  Correlations all = (*correlations_)[relation];
  const std::size_t size = all.size() / line_pairs.size();
  for (std::size_t pair = 0; pair < line_pairs.size(); ++pair) {
    const auto [b, a] = line_pairs[pair];
    if (are_told[b] && are_told[a]) continue;
    Correlations of_pair;
    append_correlations(parts[b], parts[a], of_pair);
    std::ranges::copy(of_pair, all.begin() + static_cast<std::ptrdiff_t>(pair * size));
  }
  return all;
}

/// Fills the correlations of all relations, each pair of lines once.
void LineModel::correlate() {
  std::vector<LineParts> parts;
  for (Index line = 0; line < lines_.count; ++line) parts.emplace_back(lines_, line);
  std::map<std::pair<Index, Index>, Correlations> of_pairs;
  std::vector<Correlations> of_relations;
  for (const auto& relation : relations_) {
    auto& all = of_relations.emplace_back();
    for (const auto& [b, a] : line_pairs) {
      auto& of_pair = of_pairs[{relation[b], relation[a]}];
      if (of_pair.empty())
        append_correlations(parts[static_cast<std::size_t>(relation[b])],
                            parts[static_cast<std::size_t>(relation[a])], of_pair);
      all.insert(all.end(), of_pair.begin(), of_pair.end());
    }
  }
  correlations_ = std::make_shared<const std::vector<Correlations>>(std::move(of_relations));
}

/// Returns B of a relation with these correlations.
LineModel::Block LineModel::block_of(const Correlations& of, std::size_t kind) const {
  Block block{};
  const auto size = static_cast<std::size_t>(lines_.coils * lines_.coils * lags);
  const auto& inverse = inverse_[kind];
  for (std::size_t pair = 0; pair < line_pairs.size(); ++pair) {
    const auto [b, a] = line_pairs[pair];
    double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
    for (std::size_t i = pair * size; i < (pair + 1) * size; ++i) {
      re += inverse[i].re * of[i].re - inverse[i].im * of[i].im;
      im += inverse[i].re * of[i].im + inverse[i].im * of[i].re;
    }
    block[a * neighbours + b] = {re, im};
    if (a != b) block[b * neighbours + a] = {re, -im};
  }
  for (std::size_t a = 0; a < neighbours; ++a) block[a * neighbours + a].re += noise_;
  return block;
}

/// Returns sum conj(h_a) h_b B_ab.
double LineModel::square(const Block& block, const std::array<LineValue, neighbours>& h) {
  double sum = 0;
  for (std::size_t a = 0; a < neighbours; ++a) {
    sum += norm(h[a]) * block[a * neighbours + a].re;
    for (std::size_t b = a + 1; b < neighbours; ++b)
      sum += 2 * (conj(h[a]) * block[a * neighbours + b] * h[b]).re;
  }
  return std::max(sum, 1e-300);
}

/// Calls visit(number in correlations, row, column) for the elements of R that a correlation stands for, once for
/// each pair of lines.
template <class Visit>
void LineModel::for_each_element(const Visit& visit) const {
  const Index coils = lines_.coils;
  const auto at = [&](std::size_t line, Index coil, Index x) {
    return (static_cast<Index>(line) * coils + coil) * positions + x;
  };
  std::size_t n = 0;
  for (const auto& [b, a] : line_pairs)
    for (Index c = 0; c < coils; ++c)
      for (Index other = 0; other < coils; ++other)
        for (Index lag = 1 - positions; lag < positions; ++lag, ++n)
          for (Index x = std::max<Index>(0, -lag); x < std::min(positions, positions - lag); ++x)
            visit(n, at(b, c, x + lag), at(a, other, x));
}

/// Sets R^-1 of a kind from the mean correlations, scaled to a mean diagonal of 1. Returns log det R; nothing where it is
/// singular.
std::optional<double> LineModel::invert(std::size_t kind, const Correlations& mean) {
  constexpr double least = 1e-5;  // of the mean diagonal: noise that is added
  const Index size = neighbours * lines_.coils * positions;
  Array<LineValue> matrix({size, size});
  double trace = 0;
  for_each_element([&](std::size_t n, Index row, Index column) {
    matrix[column * size + row] = conj(mean[n]);
    matrix[row * size + column] = mean[n];
    if (row == column) trace += mean[n].re;
  });
  const double scale = static_cast<double>(size) / trace;
  for (auto& value : matrix) value = scale * value;
  for (Index n = 0; n < size; ++n) matrix[n * size + n].re += least;
  const auto factor = inverse_cholesky_factor(std::move(matrix));
  if (!factor) return {};
  double log_det = 0;
  for (Index n = 0; n < size; ++n) log_det -= 2 * std::log((*factor)[n * size + n].re);
  Array<LineValue> adjoint({size, size});
  for (Index a = 0; a < size; ++a)
    for (Index b = 0; b < size; ++b) adjoint[a * size + b] = conj((*factor)[b * size + a]);
  const auto inverse = matrix_product(adjoint, *factor);
  inverse_[kind].assign(mean.size(), LineValue{});
  for_each_element(
      [&](std::size_t n, Index row, Index column) { inverse_[kind][n] += inverse[column * size + row]; });
  return log_det;
}

/// Finds R^-1 of the relations of a kind by Tyler's iteration, and adds log det R to whole_cost_. Returns whether it
/// could.
bool LineModel::learn_kind(std::size_t kind, const Factors& h) {
  constexpr int iterations = 3;
  const std::size_t first = kinds_[kind], end = kinds_[kind + 1],
                    size = (*correlations_)[first].size() / line_pairs.size();
  std::vector<double> weights;
  for (std::size_t r = first; r < end; ++r) {
    double energy = neighbours * noise_;
    for (const Index line : relations_[r])
      energy += energies_[static_cast<std::size_t>(line)] * norm(h[static_cast<std::size_t>(line)]);
    weights.push_back(1 / energy);
  }
  std::optional<double> log_det;
  for (int i = 0; i < iterations; ++i) {
    Correlations mean((*correlations_)[first].size());
    for (std::size_t r = first; r < end; ++r)
      for (std::size_t pair = 0; pair < line_pairs.size(); ++pair) {
        const auto factor =
            weights[r - first] * (h[static_cast<std::size_t>(relations_[r][line_pairs[pair][0]])] *
                                  conj(h[static_cast<std::size_t>(relations_[r][line_pairs[pair][1]])]));
        for (std::size_t n = pair * size; n < (pair + 1) * size; ++n)
          mean[n] += factor * (*correlations_)[r][n];
      }
    log_det = invert(kind, mean);
    if (!log_det) return false;
    for (std::size_t r = first; r < end; ++r) {
      blocks_[r] = block_of((*correlations_)[r], kind);
      weights[r - first] = unknowns() / square(r, h);
    }
  }
  whole_cost_ += static_cast<double>(end - first) * *log_det;
  return true;
}

void LineModel::learn(const Factors& h) {
  whole_cost_ = 0;
  for (std::size_t kind = 0; kind + 1 < kinds_.size(); ++kind)
    if (!learn_kind(kind, h)) {
      relations_.clear();
      return;
    }
  whole_cost_ += cost(h);
}

double LineModel::cost(const Factors& h) const {
  constexpr double rounding = 1e-14;  // of phases
  const double for_line = unknowns() / neighbours;
  double sum = 0, product = 1;
  for (std::size_t j = 0; j < h.size(); ++j)
    if (const double square_of = norm(h[j]); std::abs(square_of - 1) > rounding)
      sum -= for_line * static_cast<double>(of_line_[j].size()) * std::log(std::max(square_of, 1e-300));
  for (std::size_t r = 0; r < relations_.size(); ++r) {  // a logarithm of a product of many
    const double q = square(r, h);
    constexpr double large = 1e100;
    if (!(product * q < large && large * product * q > 1)) sum += unknowns() * std::log(product), product = 1;
    product *= q;
  }
  return sum + unknowns() * std::log(product);
}

double LineModel::coherence() const {
  const Index coils = lines_.coils;
  const auto before = static_cast<std::size_t>(3 * coils * coils *
                                               lags);  // line_pairs[3]: the line itself and that before it
  LineValue sum;
  double sizes = 0;
  for (std::size_t r = 0; r < kinds_[1]; ++r) {
    LineValue product;
    for (Index coil = 0; coil < coils; ++coil)
      product +=
          (*correlations_)[r][before + static_cast<std::size_t>((coil * coils + coil) * lags + most_lag)];
    double energy = 0;
    for (const Index line : {relations_[r][0], relations_[r][1]})
      energy += energies_[static_cast<std::size_t>(line)];
    if (!(energy > 0)) continue;
    sum += (1 / energy) * product, sizes += std::sqrt(norm(product)) / energy;
  }
  return sizes > 0 ? std::sqrt(norm(sum)) / sizes : 0;
}

/// Adds what each relation costs to the steps between its lines, where it is the same.
std::vector<double> LineModel::costs_of_steps(const Factors& before, const Factors& after) const {
  const auto count = static_cast<Index>(before.size());
  std::vector<double> costs(static_cast<std::size_t>(count) + 2);
  const double for_line = unknowns() / neighbours;
  for (std::size_t r = 0; r < relations_.size(); ++r) {
    Relation sorted = relations_[r];
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t s = 0; s <= neighbours; ++s) {
      const Index low = s == 0 ? 0 : sorted[s - 1] + 1, high = s == neighbours ? count : sorted[s];
      std::array<LineValue, neighbours> h;
      double cost = 0;
      for (std::size_t a = 0; a < neighbours; ++a) {
        const Index line = relations_[r][a];
        h[a] = (line >= low ? after : before)[static_cast<std::size_t>(line)];
        cost -= for_line * std::log(std::max(norm(h[a]), 1e-300));
      }
      cost += unknowns() * std::log(square(blocks_[r], h));
      costs[static_cast<std::size_t>(low)] += cost;
      costs[static_cast<std::size_t>(high) + 1] -= cost;
    }
  }
  for (std::size_t b = 1; b < costs.size(); ++b) costs[b] += costs[b - 1];
  costs.pop_back();
  return costs;
}

/// Minimizes a bound that touches the cost: sum_r n q_r / (q_r before), line by line, which has a closed form.
Factors LineModel::best_factors(Factors h, bool gains) const {
  constexpr int sweeps = 40;
  const double for_line = unknowns() / neighbours;
  std::vector<double> weights(relations_.size());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t r = 0; r < relations_.size(); ++r) weights[r] = unknowns() / square(r, h);
    for (std::size_t j = 0; j < h.size(); ++j) {
      LineValue others{};
      double own = 0;
      for (const auto& [r, place] : of_line_[j]) {
        own += weights[r] * blocks_[r][place * neighbours + place].re;
        for (std::size_t b = 0; b < neighbours; ++b)
          if (b != place)
            others += weights[r] *
                      (blocks_[r][place * neighbours + b] * h[static_cast<std::size_t>(relations_[r][b])]);
      }
      const double size = std::sqrt(norm(others)), count = for_line * static_cast<double>(of_line_[j].size());
      if (!(size > 0) || !(own > 0)) continue;
      const double gain = gains ? (size + std::sqrt(size * size + 4 * own * count)) / (2 * own) : 1;
      h[j] = (-gain / size) * others;
    }
  }
  return h;
}

LineModel::Block LineModel::block_of(std::size_t relation, const Lines& changed) const {
  return block_of(correlations_of(relation, changed), kind_of_[relation]);
}

double LineModel::cost_of(const Block& block, const std::array<LineValue, neighbours>& h) const {
  return unknowns() * std::log(square(block, h));
}

}  // namespace fhd::validation

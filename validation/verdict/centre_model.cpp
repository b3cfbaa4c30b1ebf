#include "validation/verdict/centre_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "recon/array/linear_algebra.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

constexpr Index most_virtual_coils = 4;
constexpr Index fewest_samples = 40;
constexpr int most_blocks = 6;
/// lambda over the mean eigenvalue of E^H E.
constexpr double damping = 1e-5;

Complex<double> datum(const VerifierInput<float>& e, Index i) {
  return e.sample_scale * (e.samples_in_double ? e.samples_in_double[i] : Complex<double>(e.samples[i]));
}

Complex<double> rest_at(const VerifierInput<float>& e, Index i) {
  auto rest = datum(e, i);
  rest -= Complex<double>(e.predicted[i]);
  return rest;
}

/// Returns the numbers of the samples within `radius`.
std::vector<Index> numbers_within(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                                  double radius) {
  const Index all = trajectory.sample_count();
  std::vector<Index> numbers;
  for (Index m = 0; m < all; ++m) {
    double square = 0;
    for (Index axis = 0; axis < 3; ++axis)
      if (matrix_size[static_cast<std::size_t>(axis)] > 1)
        square += trajectory.k[axis * all + m] * trajectory.k[axis * all + m];
    if (square <= radius * radius) numbers.push_back(m);
  }
  return numbers;
}

/// Keeps some at random: any pattern could be that of readouts.
void thin_out_at_random(std::size_t most, std::vector<Index>& numbers) {
  std::mt19937 generator(1952);
  for (std::size_t i = 0; i < most && numbers.size() > most; ++i)
    std::swap(numbers[i], numbers[i + generator() % (numbers.size() - i)]);
  numbers.resize(std::min(numbers.size(), most));
  std::sort(numbers.begin(), numbers.end());
}

/// Finds how much of r' = d - E rho - a E rho of samples does not change from one sample to the next as noise does;
/// a: the factor that explains most, because lambda makes an image a little darker than its data.
void find_lasting_rest(const VerifierInput<float>& e, const std::vector<Index>& numbers, CentralSamples& s) {
  const Index all = e.trajectory.sample_count();
  double lasting = 0, data = 0, rest = 0, square = 0, alike = 0, steps = 0, pairs = 0;
  Complex<double> onto, across;
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
    if (numbers[i + 1] == numbers[i] + 1) {
      for (Index axis = 0; axis < 3; ++axis)
        steps += std::pow(
            e.trajectory.k[axis * all + numbers[i + 1]] - e.trajectory.k[axis * all + numbers[i]], 2);
      ++pairs;
      for (Index at = numbers[i]; at < e.coil_count * all; at += all) {
        const auto r = rest_at(e, at), next = rest_at(e, at + 1);
        const Complex<double> p(e.predicted[at]), p_next(e.predicted[at + 1]);
        lasting += real_product(r, next), alike += real_product(p, p_next);
        onto += conj(p) * r, across += conj(p) * next + conj(p_next) * r;
        data += norm(datum(e, at)), rest += norm(r), square += norm(p);
      }
    }
  if (square > 0) {
    const auto a = (1 / square) * onto;
    lasting += norm(a) * alike - real_product(a, across);
    rest -= norm(onto) / square;
  }
  // Samples resemble each other within half of 1 / FOV; between lines of a Cartesian scan everything may last.
  constexpr double longest_step = 0.7;  // cycles/FOV: also steps of mixed directions
  if (!(steps <= longest_step * longest_step * pairs)) lasting = rest;
  s.lasting_rest = data > 0 ? std::sqrt(std::max(0.0, lasting) / data) : 1;
  s.lasting_share = rest > 0 ? std::clamp(lasting / rest, 0.0, 1.0) : 0;
}

/// Returns maps [coil][voxel] at the voxels of the grid, by linear interpolation between the voxels that have maps,
/// or 0 where most have none; ones without maps. Those of the nearest voxels would be stretched as by a k that is 1 %
/// too short, where they are rounded.
Matrix maps_on(const VerifierInput<float>& e, const SmallGrid& grid) {
  Matrix maps({e.coil_count, grid.count()});
  for (auto& value : maps) value = e.maps ? 0 : 1;
  const auto& n = e.matrix_size;
  const Index voxels = Index{n[0]} * n[1] * n[2];
  for (Index q = 0; e.maps && q < grid.count(); ++q) {
    double all = 0;
    for (unsigned corner = 0; corner < 8; ++corner) {
      double weight = 1;
      Index at = 0;
      for (std::size_t axis = 3; axis-- > 0;) {
        const double place = grid.position(q, axis) * n[axis] + n[axis] / 2, below = std::floor(place);
        const bool is_above = (corner >> axis) % 2 == 1;
        weight *= is_above ? place - below : 1 - (place - below);
        at = at * n[axis] + std::clamp<Index>(static_cast<Index>(below) + is_above, 0, n[axis] - 1);
      }
      double size = 0;
      for (Index coil = 0; weight > 0 && coil < e.coil_count; ++coil)
        size += static_cast<double>(norm(e.maps[coil * voxels + at]));
      if (!(size > 0)) continue;
      all += weight;
      for (Index coil = 0; coil < e.coil_count; ++coil)
        maps[coil * grid.count() + q] += weight * Complex<double>(e.maps[coil * voxels + at]);
    }
    for (Index coil = 0; coil < e.coil_count; ++coil)
      maps[coil * grid.count() + q] = (all < 0.5 ? 0 : 1 / all) * maps[coil * grid.count() + q];
  }
  return maps;
}

/// Mixes the coils to the few that hold most of the data.
void compress(CentralSamples& s) {
  if (s.data.extent(1) <= most_virtual_coils) return;
  const auto mix = strongest_mix(s.data, most_virtual_coils);
  s.data = matrix_product(s.data, mix), s.rest = matrix_product(s.rest, mix);
  Matrix across({mix.extent(1), mix.extent(0)});
  for (Index i = 0; i < mix.size(); ++i)
    across[i % mix.extent(1) * mix.extent(0) + i / mix.extent(1)] = mix[i];
  s.maps = matrix_product(across, s.maps);
}

SmallGrid grid_for(const std::array<int, 3>& matrix_size, int radius) {
  SmallGrid grid{{1, 1, 1}, {1, 1, 1}};
  const int width = 2 * radius + (matrix_size[2] > 1 ? 3 : 4);
  for (std::size_t axis = 0; axis < 3; ++axis) grid.n[axis] = std::min(width, matrix_size[axis]);
  return grid;
}

/// Calls work(group, first sample, count) for the groups that have samples, in parallel.
template <class Work>
void for_each_group(const CentralSamples& s, const Work& work) {
  for_each_small_problem(static_cast<Index>(s.group_count()), [&](Index g) {
    const auto group = static_cast<std::size_t>(g);
    const Index first = s.group_starts[group], count = s.group_starts[group + 1] - first;
    if (count > 0) work(group, first, count);
  });
}

/// Returns the gain by which samples are divided.
double gain_of(const Sizes& size) { return std::max(0.1, 1 + size[change::gain]); }

/// A product of few columns with a triangle costs less than what a library does beforehand.
constexpr Index few_columns = 4;

/// Returns f b for a lower triangle f.
Matrix forward(const Matrix& f, const Matrix& b) {
  const Index n = b.extent(0), columns = b.extent(1);
  if (columns > few_columns) return matrix_product(f, b);
  Matrix result(b.shape());
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j)
      for (Index c = 0; c < columns; ++c) result[i * columns + c] += f[i * n + j] * b[j * columns + c];
  return result;
}
/// Returns f^H b for a lower triangle f.
Matrix backward(const Matrix& f, const Matrix& b) {
  const Index n = b.extent(0), columns = b.extent(1);
  if (columns > few_columns) return matrix_product(adjoint(f), b);
  Matrix result(b.shape());
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j)
      for (Index c = 0; c < columns; ++c) result[j * columns + c] += conj(f[i * n + j]) * b[i * columns + c];
  return result;
}

}  // namespace

CentralSamples central_samples(const VerifierInput<float>& e, const std::vector<Index>& starts,
                               const std::vector<double>& time, int radius, std::size_t most) {
  CentralSamples s;
  if (e.second_maps || (!e.maps && e.coil_count > 1) || e.predicted.empty()) return s;
  if (radius == 0) radius = e.matrix_size[2] > 1 ? 3 : 6;
  s.radius = radius;
  s.grid = grid_for(e.matrix_size, radius);
  auto numbers = numbers_within(e.trajectory, e.matrix_size, radius);
  find_lasting_rest(e, numbers, s);
  thin_out_at_random(most, numbers);
  const auto count = static_cast<Index>(numbers.size()), all = e.trajectory.sample_count();
  if (count < fewest_samples) return s;
  s.trajectory = &e.trajectory;
  s.readout_starts = starts;
  s.readout_count = static_cast<Index>(starts.size()) - 1;
  s.blocks = static_cast<int>(std::clamp<Index>(s.readout_count / 2, 1, most_blocks));
  for (int b = 0; b <= s.blocks; ++b)
    s.block_starts.push_back((b * s.readout_count + s.blocks - 1) / s.blocks);
  std::vector<std::vector<Index>> groups(s.group_count());
  const auto readout_of = [&](Index m) {
    return static_cast<Index>(std::upper_bound(starts.begin(), starts.end(), m) - starts.begin()) - 1;
  };
  for (const Index m : numbers) groups[s.group_of(readout_of(m))].push_back(m);
  for (const auto& group : groups) {
    s.group_starts.push_back(s.count());
    for (const Index m : group) s.numbers.push_back(m), s.readouts.push_back(readout_of(m));
  }
  s.group_starts.push_back(s.count());
  s.data = Matrix({count, e.coil_count}), s.rest = Matrix({count, e.coil_count});
  for (Index i = 0; i < count; ++i) {
    const Index m = s.numbers[static_cast<std::size_t>(i)];
    s.times.push_back(time[static_cast<std::size_t>(m)]);
    for (Index coil = 0; coil < e.coil_count; ++coil) {
      s.data[i * e.coil_count + coil] = datum(e, coil * all + m);
      s.rest[i * e.coil_count + coil] = rest_at(e, coil * all + m);
    }
  }
  s.maps = maps_on(e, s.grid), s.has_maps = e.maps != nullptr;
  if (e.field_map) {
    for (Index q = 0; q < s.grid.count(); ++q)
      s.field.push_back((*e.field_map)[nearest_voxel(s.grid, q, e.matrix_size)]);
    for (const Index m : s.numbers) s.time_s.push_back((*e.sample_time_s)[m]);
  }
  compress(s);
  return s;
}

// --- The problem ---

std::shared_ptr<const CentreModel::Operators> CentreModel::make_operators() const {
  Operators made;
  const Index voxels = s_.grid.count(), coils = s_.data.extent(1);
  made.encoding.resize(s_.group_count());
  for_each_group(s_, [&](std::size_t g, Index first, Index count) {
    made.encoding[g] = encoding_matrix({k_.begin() + first, k_.begin() + first + count}, s_.grid);
  });
  Matrix normal;
  if (s_.field.empty()) {
    normal = gram_matrix(k_, s_.grid);
  } else {
    normal = Matrix({voxels, voxels});
    for (std::size_t g = 0; g < s_.group_count(); ++g) {
      auto& e = made.encoding[g];
      for (Index i = 0; i < e.size(); ++i)
        e[i] = phasor(-s_.field[static_cast<std::size_t>(i % voxels)] *
                      s_.time_s[static_cast<std::size_t>(s_.group_starts[g] + i / voxels)]) *
               e[i];
      if (e.empty()) continue;
      const auto part = matrix_product(adjoint(e), e);
      for (Index i = 0; i < normal.size(); ++i) normal[i] += part[i];
    }
  }
  for (Index p = 0; p < voxels; ++p)
    for (Index q = 0; q <= p; ++q) {  // the factor is made of the lower triangle
      Complex<double> sum;
      for (Index c = 0; c < coils; ++c) sum += conj(s_.maps[c * voxels + p]) * s_.maps[c * voxels + q];
      normal[p * voxels + q] = sum * normal[p * voxels + q];
    }
  if (auto damped = damped_factor(std::move(normal), damping)) {
    made.factor = std::move(damped->inverse), made.lambda = damped->lambda;
    made.freedom = static_cast<double>(data_.size()) - damped->unknowns;
  }
  return std::make_shared<const Operators>(std::move(made));
}

CentreModel::CentreModel(const CentralSamples& samples, const Matrix& data, const Pattern& undone,
                         const CentreModel* like)
    : s_(samples), data_(data) {
  place(undone);
  operators_ = like && like->k_ == k_ ? like->operators_ : make_operators();
  if (!is_regular()) return;
  image_ = image_of(data_);
  std::vector<Matrix> images{image_};
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (s_.grid.n[axis] > 1) {
      axes.push_back(axis), images.push_back(image_);
      for (Index p = 0; p < image_.size(); ++p)
        images.back()[p] = s_.grid.position(p, axis) * images.back()[p];
    }
  auto seen = encoded(images);
  prediction_ = std::move(seen[0]);
  for (std::size_t i = 0; i < axes.size(); ++i) moments_[axes[i]] = std::move(seen[i + 1]);
  rest_ = minus(data_, prediction_);
  const Index coils = s_.data.extent(1);
  for (Index i = 0; i < rest_.size(); ++i) {
    const double gain = gain_of(undone[s_.group_of(s_.readouts[static_cast<std::size_t>(i / coils)])]);
    misfit_ += gain * gain * norm(rest_[i]);
  }
  misfit_ += operators_->lambda * energy(image_);
}

Matrix CentreModel::rest_of(const Matrix& image) const { return minus(data_, encoded({image})[0]); }

/// Finds the positions, and turns the data, as they are without the changes.
void CentreModel::place(const Pattern& undone) {
  const Index all = s_.trajectory->sample_count(), coils = s_.data.extent(1);
  for (Index i = 0; i < s_.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Index readout = s_.readouts[at], first = s_.readout_starts[static_cast<std::size_t>(readout)],
                last = s_.readout_starts[static_cast<std::size_t>(readout) + 1] - 1;
    const Sizes& size = undone[s_.group_of(readout)];
    std::array<double, 3> k{}, step{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double* told = s_.trajectory->k.data() + static_cast<Index>(axis) * all;
      const double m = static_cast<double>(s_.numbers[at]) - size[change::delay + axis];
      const Index low = std::clamp(static_cast<Index>(std::floor(m)), first, std::max(first, last - 1)),
                  high = std::min(low + 1, last);
      k[axis] = between(told, m, first, last) * (1 + size[change::scale + axis]) +
                size[change::drift + axis] * s_.times[at];
      const Index before = std::max(low - 1, first), after = std::min(high, last);
      step[axis] = m == static_cast<double>(low) && after > before
                       ? (told[after] - told[before]) / static_cast<double>(after - before)
                       : told[high] - told[low];
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (auto* vector : {&k, &step}) {
        auto &a = (*vector)[(axis + 1) % 3], &b = (*vector)[(axis + 2) % 3];
        const double told_a = a, theta = size[change::shear + axis];
        a += theta * b, b += theta * told_a;
      }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double angle = size[change::turn + axis], c = std::cos(angle), sine = std::sin(angle);
      for (auto* vector : {&k, &step}) {
        auto &a = (*vector)[(axis + 1) % 3], &b = (*vector)[(axis + 2) % 3];
        const double turned_a = c * a - sine * b;
        b = sine * a + c * b, a = turned_a;
      }
    }
    double phase = -size[change::phase] + size[change::offset] * s_.times[at];
    for (std::size_t axis = 0; axis < 3; ++axis) phase += two_pi * k[axis] * size[change::shift + axis];
    const auto factor = 1 / gain_of(size) * phasor(phase);
    for (Index c = 0; c < coils; ++c) data_[i * coils + c] = factor * data_[i * coils + c];
    k_.push_back(k), steps_.push_back(step);
  }
}

std::array<double, 3> CentreModel::extent() const {
  std::array<double, 3> squares{};
  double all = 0;
  for (Index p = 0; p < image_.size(); ++p) {
    const double weight = norm(image_[p]);
    all += weight;
    for (std::size_t axis = 0; axis < 3; ++axis)
      squares[axis] += weight * s_.grid.position(p, axis) * s_.grid.position(p, axis);
  }
  for (double& square : squares) square = all > 0 ? std::sqrt(square / all) : 0;
  return squares;
}

std::vector<Matrix> CentreModel::encoded(const std::vector<Matrix>& images) const {
  const Index voxels = s_.grid.count(), coils = s_.data.extent(1),
              width = coils * static_cast<Index>(images.size());
  Matrix coil_images({voxels, width});
  for (Index p = 0; p < voxels; ++p)
    for (Index i = 0; i < width; ++i)
      coil_images[p * width + i] =
          s_.maps[i % coils * voxels + p] * images[static_cast<std::size_t>(i / coils)][p];
  std::vector<Matrix> seen(images.size(), Matrix({s_.count(), coils}));
  for_each_group(s_, [&](std::size_t g, Index first, Index count) {
    const auto part = matrix_product(operators_->encoding[g], coil_images);
    for (Index row = 0; row < count; ++row)
      for (std::size_t i = 0; i < images.size(); ++i)
        std::copy_n(part.data() + row * width + static_cast<Index>(i) * coils, coils,
                    seen[i].data() + (first + row) * coils);
  });
  return seen;
}

Matrix CentreModel::conjugate_adjoint(std::size_t group, const Matrix& rows) const {
  const Index voxels = s_.grid.count(), coils = s_.data.extent(1), columns = rows.extent(1) / coils;
  const auto sums = matrix_product(adjoint(rows), operators_->encoding[group]);
  Matrix result({columns, voxels});
  for (Index column = 0; column < columns; ++column)
    for (Index c = 0; c < coils; ++c)
      for (Index p = 0; p < voxels; ++p)
        result[column * voxels + p] += s_.maps[c * voxels + p] * sums[(column * coils + c) * voxels + p];
  return result;
}

Matrix CentreModel::adjoint_of(const std::vector<Matrix>& columns) const {
  const Index coils = s_.data.extent(1), each = static_cast<Index>(columns.size());
  Matrix sum({s_.grid.count(), each});
  std::vector<Matrix> parts(s_.group_count());
  for_each_group(s_, [&](std::size_t g, Index first, Index count) {
    Matrix rows({count, each * coils});
    for (Index i = 0; i < count; ++i)
      for (Index e = 0; e < each; ++e)
        std::copy_n(columns[static_cast<std::size_t>(e)].data() + (first + i) * coils, coils,
                    rows.data() + (i * each + e) * coils);
    parts[g] = conjugate_adjoint(g, rows);
  });
  for (const auto& part : parts)
    for (Index i = 0; i < part.size(); ++i)
      sum[i % s_.grid.count() * each + i / s_.grid.count()] += conj(part[i]);
  return sum;
}

Complex<double> CentreModel::element(std::size_t kind, Index sample, Index coil) const {
  const auto at = static_cast<std::size_t>(sample);
  const Index i = sample * s_.data.extent(1) + coil;
  const auto& p = prediction_[i];
  const auto slope = [&](std::size_t axis, double change_of_k) {  // -i 2 pi E (r x) times it
    const auto& moment = moments_[axis];
    if (moment.empty()) return Complex<double>();
    return Complex<double>(two_pi * change_of_k * moment[i].im, -two_pi * change_of_k * moment[i].re);
  };
  const auto times_i = [&](double factor) { return Complex<double>(-factor * p.im, factor * p.re); };
  const std::size_t axis = kind % 3;  // every kind that has axes begins at a multiple of 3
  if (kind == change::phase) return times_i(1);
  if (kind == change::gain) return p;
  if (kind == change::offset) return times_i(-s_.times[at]);
  if (kind < change::shift + 3) return times_i(-two_pi * k_[at][axis]);
  const std::size_t a = (axis + 1) % 3, b = (axis + 2) % 3;
  if (kind >= change::drift) return slope(axis, s_.times[at]);
  if (kind >= change::shear) return slope(a, k_[at][b]) + slope(b, k_[at][a]);
  if (kind >= change::scale) return slope(axis, k_[at][axis]);
  if (kind >= change::delay) return slope(axis, -steps_[at][axis]);
  return slope(a, -k_[at][b]) + slope(b, k_[at][a]);
}

CentreModel::Products CentreModel::products(const std::vector<std::size_t>& kinds, const Matrix& rest) const {
  const Index coils = s_.data.extent(1), voxels = s_.grid.count();
  const auto each = static_cast<Index>(kinds.size()), groups = static_cast<Index>(s_.group_count()),
             all = each * groups;
  Products result;
  const auto n = static_cast<std::size_t>(all);
  result.count = n, result.gram.resize(n * n), result.bare.resize(n * n), result.onto.resize(n);
  Matrix adjoints({voxels, all});
  for_each_group(s_, [&](std::size_t group, Index first, Index count) {
    const auto g = static_cast<Index>(group);
    Matrix rows({count, each * coils});
    for (Index i = 0; i < count; ++i)
      for (Index e = 0; e < each; ++e)
        for (Index c = 0; c < coils; ++c)
          rows[(i * each + e) * coils + c] = element(kinds[static_cast<std::size_t>(e)], first + i, c);
    for (Index e = 0; e < each; ++e)
      for (Index i = 0; i < count; ++i)
        for (Index c = 0; c < coils; ++c) {
          const auto& v = rows[(i * each + e) * coils + c];
          result.onto[static_cast<std::size_t>(g * each + e)] +=
              real_product(v, rest[(first + i) * coils + c]);
          for (Index f = 0; f <= e; ++f)
            result.bare[static_cast<std::size_t>((g * each + e) * all + g * each + f)] +=
                real_product(v, rows[(i * each + f) * coils + c]);
        }
    const auto part = conjugate_adjoint(group, rows);
    for (Index e = 0; e < each; ++e)
      for (Index p = 0; p < voxels; ++p) adjoints[p * all + g * each + e] = conj(part[e * voxels + p]);
  });
  const auto folded = matrix_product(operators_->factor, adjoints), folded_adjoint = adjoint(folded);
  const auto absorbed = matrix_product(folded_adjoint, folded);
  const auto of_rest = matrix_product(folded_adjoint, forward(operators_->factor, adjoint_of({rest})));
  for (std::size_t a = 0; a < n; ++a) {
    result.onto[a] -= of_rest[static_cast<Index>(a)].re;
    for (std::size_t b = 0; b < n; ++b) {
      if (b > a) result.bare[a * n + b] = result.bare[b * n + a];
      result.gram[a * n + b] = result.bare[a * n + b] - absorbed[static_cast<Index>(a * n + b)].re;
    }
  }
  return result;
}

Matrix CentreModel::change_of(const Pattern& pattern) const {
  const Index coils = s_.data.extent(1);
  Matrix v({s_.count(), coils});
  for (Index i = 0; i < s_.count(); ++i) {
    const auto& sizes = pattern[s_.group_of(s_.readouts[static_cast<std::size_t>(i)])];
    for (std::size_t kind = 0; kind < change::count; ++kind)
      if (sizes[kind] != 0)
        for (Index c = 0; c < coils; ++c) v[i * coils + c] += sizes[kind] * element(kind, i, c);
  }
  return v;
}

std::vector<Matrix> CentreModel::images_of(const std::vector<Matrix>& columns) const {
  const auto all = backward(operators_->factor, forward(operators_->factor, adjoint_of(columns)));
  const auto each = static_cast<Index>(columns.size());
  std::vector<Matrix> images(columns.size(), Matrix({s_.grid.count(), 1}));
  for (Index i = 0; i < all.size(); ++i) images[static_cast<std::size_t>(i % each)][i / each] = all[i];
  return images;
}

std::vector<Matrix> CentreModel::unexplained(std::vector<Matrix> columns) const {
  if (columns.empty()) return columns;
  const auto explained = encoded(images_of(columns));
  for (std::size_t column = 0; column < columns.size(); ++column)
    columns[column] = minus(std::move(columns[column]), explained[column]);
  return columns;
}

const CentreModel* Centre::model() {
  if (samples_.empty()) return nullptr;
  if (!model_) model_.emplace(samples_, samples_.data, Pattern(samples_.group_count()));
  return model_->is_regular() ? &*model_ : nullptr;
}

}  // namespace fhd::validation

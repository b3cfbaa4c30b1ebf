#include "validation/verdict/arms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "recon/array/linear_algebra.hpp"
#include "recon/trajectory/small_grid.hpp"
#include "validation/verdict/energies.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

constexpr Index most_arm_coils = 4, fewest_arms = 4;
/// lambda over the mean eigenvalue of E^H E.
constexpr double arm_damping = 1e-4;

/// Returns the readouts that have the commonest length.
std::vector<Index> readouts_of_one_length(const std::vector<Index>& starts) {
  std::map<Index, std::vector<Index>> by_length;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    by_length[starts[j + 1] - starts[j]].push_back(static_cast<Index>(j));
  std::vector<Index> found;
  for (auto& [length, readouts] : by_length)
    if (readouts.size() > found.size()) found = std::move(readouts);
  return found;
}

/// Keeps every n-th value, number `kept` among them, so that about `most` stay; returns n.
Index thin_out(std::vector<Index>& values, Index most, Index kept = 0) {
  const auto count = static_cast<Index>(values.size()),
             stride = std::max<Index>(1, (count + most - 1) / most), first = kept % stride;
  std::size_t left = 0;
  for (Index i = first; i < count; i += stride) values[left++] = values[static_cast<std::size_t>(i)];
  values.resize(left);
  return stride;
}

}  // namespace

double ArmSamples::radius(Index arm, Index place) const {
  const auto& at_place = k[at(arm, place)];
  return std::hypot(at_place[0], at_place[1], at_place[2]);
}

std::vector<std::array<double, 3>> positions_of(const ArmSamples& arms, const VerifierInput<float>& e,
                                                const std::vector<Index>& starts,
                                                const std::array<double, 3>& delays) {
  const Index all = e.trajectory.sample_count();
  std::vector<std::array<double, 3>> positions;
  for (const Index number : arms.numbers) {
    const Index first = starts[static_cast<std::size_t>(number)],
                last = starts[static_cast<std::size_t>(number) + 1] - first - 1;
    for (const Index n : arms.samples) {
      auto& k = positions.emplace_back();
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (e.matrix_size[axis] < 2) continue;
        k[axis] = between(e.trajectory.k.data() + static_cast<Index>(axis) * all + first,
                          static_cast<double>(n) - delays[axis], 0, last);
      }
    }
  }
  return positions;
}

ArmSamples arms_of(const VerifierInput<float>& e, const std::vector<Index>& starts, double radius,
                   Index values, Index most) {
  ArmSamples arms;
  arms.all = arms.numbers = readouts_of_one_length(starts);
  if (static_cast<Index>(arms.numbers.size()) < fewest_arms) return {};
  arms.stride = thin_out(arms.numbers, most);
  arms.arms = static_cast<Index>(arms.numbers.size());
  const auto start = [&](Index arm) {
    return starts[static_cast<std::size_t>(arms.numbers[static_cast<std::size_t>(arm)])];
  };
  const Index all = e.trajectory.sample_count(),
              length = starts[static_cast<std::size_t>(arms.numbers[0]) + 1] - start(0);
  arms.axes = static_cast<int>(
      std::count_if(e.matrix_size.begin(), e.matrix_size.end(), [](int n) { return n > 1; }));
  Index inside = 0, central = 0;
  double least = std::numeric_limits<double>::infinity();
  for (Index n = 0; n < length; ++n) {
    Index count = 0;
    double sum = 0;
    for (Index arm = 0; arm < arms.arms; ++arm) {
      double square = 0;
      for (Index axis = 0; axis < 3; ++axis)
        if (e.matrix_size[static_cast<std::size_t>(axis)] > 1)
          square += std::pow(e.trajectory.k[axis * all + start(arm) + n], 2);
      count += square <= radius * radius, sum += square;
    }
    if (count == 0) continue;
    if (sum < least) least = sum, central = static_cast<Index>(arms.samples.size());
    arms.samples.push_back(n), inside += count;
  }
  const auto places = static_cast<Index>(arms.samples.size());
  thin_out(arms.samples, std::max<Index>(1, places * values / std::max(values, inside)), central);
  arms.places = static_cast<Index>(arms.samples.size()), arms.coils = e.coil_count;
  arms.k = positions_of(arms, e, starts, {});
  arms.data = samples_at_places(arms, e, starts, arms.numbers);
  if (arms.places > 0 && arms.coils > most_arm_coils) {
    Matrix data({arms.arms * arms.places, arms.coils});
    std::copy(arms.data.begin(), arms.data.end(), data.data());
    arms.mix = strongest_mix(data, most_arm_coils);
    arms.data = matrix_product(data, arms.mix), arms.coils = most_arm_coils;
  }
  return arms;
}

Matrix samples_at_places(const ArmSamples& arms, const VerifierInput<float>& e,
                         const std::vector<Index>& starts, const std::vector<Index>& readouts) {
  const Index all = e.trajectory.sample_count(), coils = e.coil_count;
  Matrix data({static_cast<Index>(readouts.size()), arms.places, coils});
  Index at = 0;
  for (const Index readout : readouts)
    for (const Index n : arms.samples)
      for (Index c = 0; c < coils; ++c, ++at) {
        const auto d = sample_of(e, c * all + starts[static_cast<std::size_t>(readout)] + n);
        data[at] = {d.real(), d.imag()};
      }
  if (arms.mix.empty()) return data;
  Matrix rows({data.size() / coils, coils});
  std::copy(data.begin(), data.end(), rows.data());
  return matrix_product(rows, arms.mix);
}

// --- The model ---

ArmImages::ArmImages(const SmallPositions& k, int axes, double radius, const Matrix& weights, double field) {
  // Wrapped objects are up to 1.5 times as long as the FOV; in 3D as many voxels would take seconds.
  if (!(field > 0)) field = axes > 2 ? 1.25 : 1.5;
  SmallGrid grid{{1, 1, 1}, {1, 1, 1}};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes); ++axis)
    grid.n[axis] = 2 * static_cast<int>(std::ceil(field * radius)) + 2, grid.field[axis] = field;
  const Index rows = static_cast<Index>(k.size()), voxels = grid.count(),
              count = voxels * (weights.empty() ? 1 : weights.extent(1));
  if (rows < count / 2) return;
  encoding = encoding_matrix(k, grid);
  if (!weights.empty()) {
    Matrix weighted({rows, count});
    for (Index i = 0; i < weighted.size(); ++i)
      weighted[i] = weights[i / voxels] * encoding[i / count * voxels + i % voxels];
    encoding = std::move(weighted);
  }
  auto normal = weights.empty() ? gram_matrix(k, grid) : matrix_product(adjoint(encoding), encoding);
  auto damped = damped_factor(std::move(normal), arm_damping);
  if (!damped) return;
  factor = std::move(damped->inverse);
  freedom = static_cast<double>(rows) - damped->unknowns;
}

double ArmImages::misfit(const Matrix& w) const {
  return energy(w) - energy(matrix_product(factor, adjoint(matrix_product(adjoint(w), encoding))));
}

ArmModel::ArmModel(const ArmSamples& arms, double radius, const Matrix& weights, double field) : arms_(arms) {
  SmallPositions k;
  std::vector<Index> of_rows;
  for (Index arm = 0; arm < arms.arms; ++arm) {
    starts_.push_back(rows());
    for (Index i = 0; i < arms.places; ++i) {
      if (!(arms.radius(arm, i) <= radius)) continue;
      places_.push_back(i), k.push_back(arms.k[arms.at(arm, i)]);
      of_rows.push_back(static_cast<Index>(arms.at(arm, i)));
    }
  }
  starts_.push_back(rows());
  images_.emplace(k, arms.axes, radius,
                  weights.empty() ? weights : rows_of(weights, weights.extent(1), of_rows), field);
  if (images_->factor.empty())
    images_.reset();
  else
    freedom_ = images_->freedom;
}

const Matrix& ArmModel::a() const {
  if (a_.empty() && images_) a_ = matrix_product(images_->encoding, adjoint(images_->factor));
  return a_;
}

Matrix ArmModel::arranged(const Matrix& data, const std::vector<Index>& source) const {
  const Index coils = arms_.coils;
  Matrix w({rows(), coils});
  for (Index arm = 0; arm < arms_.arms; ++arm) {
    const Index from = source[static_cast<std::size_t>(arm)];
    for (Index row = first_row(arm); row < end_row(arm); ++row)
      std::copy_n(data.data() + (from * arms_.places + place(row)) * coils, coils, w.data() + row * coils);
  }
  return w;
}

Matrix ArmModel::arranged(const Matrix& data) const {
  std::vector<Index> told(static_cast<std::size_t>(arms_.arms));
  std::iota(told.begin(), told.end(), 0);
  return arranged(data, told);
}

Matrix ArmModel::folded(const Matrix& w) const { return adjoint(matrix_product(adjoint(w), a())); }
Matrix ArmModel::predicted(const Matrix& z) const { return matrix_product(a(), z); }

Matrix ArmModel::rest(const Matrix& w) const { return minus(w, predicted(folded(w))); }

double ArmModel::misfit(const Matrix& w) const {
  if (!images_) return energy(w);
  return a_.empty() ? images_->misfit(w) : energy(w) - energy(folded(w));
}

double ArmModel::misfit_without(const std::vector<Index>& missing, const Matrix& z,
                                double energy_of_w) const {
  const double whole = energy_of_w - energy(z);
  Index n = 0;
  for (const Index arm : missing) n += end_row(arm) - first_row(arm);
  if (n == 0) return whole;
  Matrix part({n, voxels()});  // A_M
  auto* to = part.data();
  for (const Index arm : missing)
    to = std::copy(a().data() + first_row(arm) * voxels(), a().data() + end_row(arm) * voxels(), to);
  const bool is_short = n < voxels();
  auto block = is_short ? matrix_product(part, adjoint(part)) : matrix_product(adjoint(part), part);
  const Index size = block.extent(0);
  constexpr double regular = 1 + 1e-9;
  for (Index i = 0; i < size * size; ++i)
    block[i] = Complex<double>(i % (size + 1) == 0 ? regular : 0.0) - block[i];
  const auto factor = inverse_cholesky_factor(std::move(block));
  if (!factor) return whole;
  return is_short ? whole - energy(matrix_product(*factor, matrix_product(part, z)))
                  : energy_of_w - energy(matrix_product(*factor, z));
}

}  // namespace fhd::validation

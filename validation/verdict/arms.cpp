#include "validation/verdict/arms.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "recon/array/linear_algebra.hpp"
#include "recon/trajectory/small_grid.hpp"
#include "validation/verdict/energies.hpp"

namespace fhd::validation {
namespace {

using Index = std::int64_t;
using Matrix = Array<Complex<double>>;

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

/// Mixes the coils to the few that hold most of the data.
void compress_arms(ArmSamples& arms) {
  if (arms.coils <= most_arm_coils) return;
  const Index rows = arms.arms * arms.places, coils = arms.coils;
  Matrix data({rows, coils});
  std::copy(arms.data.begin(), arms.data.end(), data.data());
  const auto eigen = hermitian_eigen(matrix_product(adjoint(data), data));
  Matrix mix({coils, most_arm_coils});
  for (Index c = 0; c < coils; ++c)
    for (Index j = 0; j < most_arm_coils; ++j) mix[c * most_arm_coils + j] = eigen.vectors[j * coils + c];
  arms.data = matrix_product(data, mix), arms.coils = most_arm_coils;
}

}  // namespace

double energy(const Matrix& a) {
  double sum = 0;
  for (const auto& value : a) sum += norm(value);
  return sum;
}

double ArmSamples::radius(Index arm, Index place) const {
  const auto& at_place = k[at(arm, place)];
  return std::hypot(at_place[0], at_place[1], at_place[2]);
}

template <class T>
ArmSamples arms_of(const VerifierInput<T>& e, const std::vector<Index>& starts, double radius,
                   const std::array<double, 3>& delays, Index values) {
  ArmSamples arms;
  arms.numbers = readouts_of_one_length(starts);
  arms.arms = static_cast<Index>(arms.numbers.size());
  if (arms.arms < fewest_arms) return {};
  const Index all = e.trajectory.sample_count(),
              length = starts[static_cast<std::size_t>(arms.numbers[0]) + 1] -
                       starts[static_cast<std::size_t>(arms.numbers[0])];
  arms.axes = static_cast<int>(
      std::count_if(e.matrix_size.begin(), e.matrix_size.end(), [](int n) { return n > 1; }));
  const auto position = [&](Index arm, Index n) {
    const Index first = starts[static_cast<std::size_t>(arms.numbers[static_cast<std::size_t>(arm)])];
    std::array<double, 3> k{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (e.matrix_size[axis] < 2) continue;
      const double* told = e.trajectory.k.data() + static_cast<Index>(axis) * all + first;
      const double at = static_cast<double>(n) - delays[axis];
      const Index low =
          std::clamp(static_cast<Index>(std::floor(at)), Index{0}, std::max<Index>(0, length - 2));
      k[axis] =
          told[low] + (at - static_cast<double>(low)) * (told[std::min(low + 1, length - 1)] - told[low]);
    }
    return k;
  };
  std::vector<Index> places;
  Index inside = 0;
  for (Index n = 0; n < length; ++n) {
    Index count = 0;
    for (Index arm = 0; arm < arms.arms; ++arm) {
      const auto k = position(arm, n);
      count += k[0] * k[0] + k[1] * k[1] + k[2] * k[2] <= radius * radius;
    }
    if (count > 0) places.push_back(n), inside += count;
  }
  const Index stride = std::max<Index>(1, (inside + values - 1) / values);
  for (std::size_t i = 0; i * static_cast<std::size_t>(stride) < places.size(); ++i)
    places[i] = places[i * static_cast<std::size_t>(stride)];
  places.resize((places.size() + static_cast<std::size_t>(stride) - 1) / static_cast<std::size_t>(stride));
  arms.places = static_cast<Index>(places.size()), arms.coils = e.coil_count;
  arms.data = Matrix({arms.arms, arms.places, arms.coils});
  for (Index arm = 0; arm < arms.arms; ++arm)
    for (Index i = 0; i < arms.places; ++i) {
      const Index n = places[static_cast<std::size_t>(i)],
                  m = starts[static_cast<std::size_t>(arms.numbers[static_cast<std::size_t>(arm)])] + n;
      arms.k.push_back(position(arm, n));
      for (Index c = 0; c < arms.coils; ++c) {
        const auto d = sample_of(e, c * all + m);
        arms.data[(arm * arms.places + i) * arms.coils + c] = {d.real(), d.imag()};
      }
    }
  if (arms.places > 0) compress_arms(arms);
  return arms;
}

template ArmSamples arms_of(const VerifierInput<float>&, const std::vector<Index>&, double,
                            const std::array<double, 3>&, Index);
template ArmSamples arms_of(const VerifierInput<double>&, const std::vector<Index>&, double,
                            const std::array<double, 3>&, Index);

// --- The model ---

ArmModel::ArmModel(const ArmSamples& arms, double radius) : arms_(arms) {
  SmallPositions k;
  for (Index arm = 0; arm < arms.arms; ++arm) {
    starts_.push_back(rows());
    for (Index i = 0; i < arms.places; ++i)
      if (arms.radius(arm, i) <= radius) places_.push_back(i), k.push_back(arms.k[arms.at(arm, i)]);
  }
  starts_.push_back(rows());
  SmallGrid grid{{1, 1, 1}, {1, 1, 1}};
  for (int axis = 0; axis < arms.axes; ++axis)
    grid.n[static_cast<std::size_t>(axis)] = 2 * static_cast<int>(std::ceil(radius)) + 2;
  if (rows() < grid.count() / 2) return;
  auto normal = gram_matrix(k, grid);
  const double lambda = arm_damping * static_cast<double>(rows());  // every diagonal element is rows()
  for (Index p = 0; p < grid.count(); ++p) normal[p * grid.count() + p].re += lambda;
  auto factor = inverse_cholesky_factor(std::move(normal));
  if (!factor) return;
  factor_ = std::move(*factor), back_ = adjoint(factor_);
  encoding_ = encoding_matrix(k, grid);
  freedom_ =
      static_cast<double>(rows() - grid.count()) + lambda * energy(factor_);  // rows less the trace of H
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

Matrix ArmModel::folded(const Matrix& w) const {
  return matrix_product(factor_, adjoint(matrix_product(adjoint(w), encoding_)));
}
Matrix ArmModel::solved(const Matrix& y) const { return matrix_product(factor_, y); }
Matrix ArmModel::predicted(const Matrix& z) const {
  return matrix_product(encoding_, matrix_product(back_, z));
}

Matrix ArmModel::rest(const Matrix& w) const {
  Matrix r = predicted(folded(w));
  for (Index i = 0; i < r.size(); ++i) r[i] = w[i] - r[i];
  return r;
}

double ArmModel::misfit(const Matrix& w) const { return energy(w) - energy(folded(w)); }

double ArmModel::misfit_without(const std::vector<Index>& missing, const Matrix& z,
                                double energy_of_w) const {
  const double whole = energy_of_w - energy(z);
  Index n = 0;
  for (const Index arm : missing) n += end_row(arm) - first_row(arm);
  if (n == 0) return whole;
  Matrix part({n, voxels()});  // E_M
  auto* to = part.data();
  for (const Index arm : missing)
    to = std::copy(encoding_.data() + first_row(arm) * voxels(), encoding_.data() + end_row(arm) * voxels(),
                   to);
  const auto across = matrix_product(part, back_);
  auto block = matrix_product(across, adjoint(across));
  constexpr double regular = 1 + 1e-9;
  for (Index i = 0; i < n * n; ++i) block[i] = Complex<double>(i % (n + 1) == 0 ? regular : 0.0) - block[i];
  const auto factor = inverse_cholesky_factor(std::move(block));
  return factor ? whole - energy(matrix_product(*factor, matrix_product(across, z))) : whole;
}

}  // namespace fhd::validation

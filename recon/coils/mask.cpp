#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/coils/calibration.hpp"

namespace fhd {
namespace {

using Mask = Array<std::uint8_t>;  // [z][y][x]

/// Returns whether at + step is inside the matrix, and sets `to`.
bool step_inside(const Position& at, const Position& step, const std::array<int, 3>& n, Position& to) {
  bool inside = true;
  for (int axis = 0; axis < 3; ++axis) {
    to[axis] = at[axis] + step[axis];
    inside = inside && to[axis] >= 0 && to[axis] < n[axis];
  }
  return inside;
}

/// Marks `seed`, and the positions that are reached from there by `steps` from one to the next and are allowed(index).
template <class Allowed>
void grow(const Position& seed, const std::vector<Position>& steps, const std::array<int, 3>& n, Mask& mask,
          const Allowed& allowed) {
  std::vector<Position> front;
  const auto visit = [&](const Position& at) {
    std::uint8_t& here = mask.data()[row_major(at, n)];
    if (!here) front.push_back(at);
    here = 1;
  };
  visit(seed);
  Position to;
  while (!front.empty()) {
    const Position at = front.back();
    front.pop_back();
    for (const Position& step : steps)
      if (step_inside(at, step, n, to) && allowed(row_major(to, n))) visit(to);
  }
}

/// Probability that noise alone, in `coils` coils of variance 1 (complex), has more energy than this: the tail of a
/// Gamma distribution, exp(-e) sum_{c < coils} e^c / c!.
double exceedance(std::int64_t coils, double energy) {
  double term = std::exp(-energy), sum = 0;
  for (std::int64_t c = 0; c < coils; term *= energy / static_cast<double>(++c)) sum += term;
  return sum;
}

/// The energy that noise alone exceeds with this probability.
double energy_exceeded(std::int64_t coils, double probability) {
  double low = 0, high = 64 + 4.0 * static_cast<double>(coils);  // 1e-20 and less of 1 ... 512 coils
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (exceedance(coils, middle) > probability ? low : high) = middle;
  }
  return low;
}

/// The images of low resolution, summed over coils.
struct Signal {
  std::vector<double> energy;  ///< |m_c|^2
  std::vector<double>
      excess;  ///< |m_c|^2 / variance of the noise of coil c; empty where the noise is not known
};

Signal signal_of(const CalibrationRegion& region, const std::vector<double>& noise) {
  auto images = windowed(region);
  centred_fft(images, +1);
  const std::int64_t coils = images.extent(0), voxels = images.size() / coils;
  const bool knows_noise =
      std::all_of(noise.begin(), noise.end(), [](double v) { return v > 0; }) && !noise.empty();
  Signal signal{std::vector<double>(voxels), std::vector<double>(knows_noise ? voxels : 0)};
  for (std::int64_t i = 0; i < images.size(); ++i) {
    const double energy = norm(Complex<double>(images.data()[i]));
    signal.energy[i % voxels] += energy;
    if (knows_noise) signal.excess[i % voxels] += energy / noise[i / voxels];
  }
  return signal;
}

/// Noise that is estimated too large (of the edge of k-space where there is signal, of the mean of repetitions) cannot be
/// larger than what the darkest tenth of the image holds.
void bound_noise(std::int64_t coils, Signal& signal) {
  constexpr double darkest = 0.1;
  if (signal.excess.empty()) return;
  auto sorted = signal.excess;
  const auto middle =
      sorted.begin() + static_cast<std::int64_t>(darkest * static_cast<double>(sorted.size()));
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double factor = *middle / energy_exceeded(coils, 1 - darkest);
  if (factor >= 1) return;
  if (factor == 0) return signal.excess.clear();
  for (double& excess : signal.excess) excess /= factor;
}

/// Weighted by energy: background does not count.
double typical_energy(const std::vector<double>& energy) {
  double sum = 0, square = 0;
  for (const double e : energy) sum += e, square += e * e;
  return square / sum;
}

constexpr double of_voxels = 1e-3;  ///< the share of noise that is taken for tissue beside tissue

/// Connected voxels above what one voxel of noise in a thousand exceeds, where one of them is above what the
/// highest of an image of noise exceeds once in a hundred images; and nowhere below `share` of the typical magnitude.
Mask tissue_of(const Signal& signal, std::int64_t coils, const std::array<int, 3>& n) {
  constexpr double share = 0.05;
  constexpr double of_images = 1e-2;
  const auto voxels = static_cast<std::int64_t>(signal.energy.size());
  const double least = share * share * typical_energy(signal.energy);
  const double low = energy_exceeded(coils, of_voxels),
               high = energy_exceeded(coils, of_images / static_cast<double>(voxels));
  const auto exceeds = [&](std::int64_t i, double excess) {
    return signal.energy[i] >= least && (signal.excess.empty() || signal.excess[i] >= excess);
  };
  Mask tissue({n[2], n[1], n[0]});
  const auto neighbours = ball(std::array{1, n[1] > 1 ? 1 : 0, n[2] > 1 ? 1 : 0});
  for_each_position(n, [&](const Position& peak) {
    if (exceeds(row_major(peak, n), high))
      grow(peak, neighbours, n, tissue, [&](std::int64_t i) { return exceeds(i, low); });
  });
  return tissue;
}

/// Voxels within this share of the FOV of these, or next to them.
Mask near(const Mask& tissue, double distance, const std::array<int, 3>& n) {
  std::array<double, 3> reach{};
  for (int axis = 0; axis < 3; ++axis)
    if (n[axis] > 1) reach[axis] = std::max(1.0, distance * n[axis]);
  const auto neighbours = ball(reach);
  Mask wanted(tissue.shape());
  Position to;
  for_each_position(n, [&](const Position& at) {
    if (!tissue.data()[row_major(at, n)]) return;
    for (const Position& step : neighbours)
      if (step_inside(at, step, n, to)) wanted.data()[row_major(to, n)] = 1;
  });
  return wanted;
}

/// Tissue, and near it what noise may hide: the image of low resolution is darker at the edge of tissue than
/// inside.
/// What is dark there and yet stands out of the noise is the blur of tissue: the eigenvalue tells it apart.
Mask with_hidden_edge(const Mask& tissue, const Signal& signal, std::int64_t coils,
                      const std::array<int, 3>& n) {
  if (signal.excess.empty()) return tissue;
  constexpr double half_a_resolution = 1.0 / 32;
  const double low = energy_exceeded(coils, of_voxels);
  Mask wanted = near(tissue, half_a_resolution, n);
  for (std::int64_t i = 0; i < wanted.size(); ++i)
    if (!tissue.data()[i] && signal.excess[i] >= low) wanted.data()[i] = 0;
  return wanted;
}

/// Returns the background: voxels that the edge of the FOV along x and y reaches within a plane outside of `wanted`; holes are none.
Mask background_of(const Mask& wanted, const std::array<int, 3>& n) {
  Mask background(wanted.shape());
  const std::vector<Position> sides{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};
  const auto allowed = [&](std::int64_t i) { return !wanted.data()[i]; };
  for_each_position(n, [&](const Position& at) {
    if ((at[0] == 0 || at[0] == n[0] - 1 || at[1] == 0 || at[1] == n[1] - 1) && allowed(row_major(at, n)))
      grow(at, sides, n, background, allowed);
  });
  return background;
}

}  // namespace

Mask signal_mask(const CalibrationRegion& region, const std::vector<double>& noise,
                 std::array<int, 3> matrix_size) {
  const auto n = region.matrix_size();
  const std::int64_t coils = region.kspace.extent(0);
  Signal signal = signal_of(region, noise);
  bound_noise(coils, signal);
  constexpr double of_margin = 1.0 / 16;
  const Mask tissue = tissue_of(signal, coils, n),
             beside_tissue = background_of(with_hidden_edge(tissue, signal, coils, n), n),
             air = background_of(near(tissue, of_margin, n), n);
  std::array<std::vector<int>, 3> nearest;  // of the region, to a voxel of the matrix
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (int at = 0; at < matrix_size[axis]; ++at) {
      const double r = static_cast<double>(at - matrix_size[axis] / 2) / matrix_size[axis];
      nearest[axis].push_back(
          std::clamp(static_cast<int>(std::lround(r * n[axis])) + n[axis] / 2, 0, n[axis] - 1));
    }
  Mask mask({matrix_size[2], matrix_size[1], matrix_size[0]});
  constexpr std::int64_t worth_threads = 1 << 17;
#pragma omp parallel for schedule(static) if (mask.size() >= worth_threads)
  for (std::int64_t row = 0; row < std::int64_t{matrix_size[2]} * matrix_size[1]; ++row) {
    const std::int64_t from =
        row_major({0, nearest[1][row % matrix_size[1]], nearest[2][row / matrix_size[1]]}, n);
    std::uint8_t* to = mask.data() + row * matrix_size[0];
    for (int x = 0; x < matrix_size[0]; ++x) {
      const std::int64_t i = from + nearest[0][x];
      to[x] = air.data()[i] ? MapMask::air : beside_tissue.data()[i] ? MapMask::near_tissue : MapMask::tissue;
    }
  }
  return mask;
}

}  // namespace fhd

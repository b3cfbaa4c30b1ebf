#include "recon/coils/calibration.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {
namespace {

/// Share of the integer positions inside the radius that have a sample within half a cycle/FOV.
constexpr double enough_coverage = 0.9;
/// Of reference lines, whose holes are not scattered but lie all beyond the outermost line.
constexpr double enough_reference_coverage = 0.98;

/// Samples that are looked at once, from which on threads share them.
constexpr std::int64_t worth_threads_to_look = 1 << 17;

/// Cycles/FOV between the radius and the edge of the small matrix: positions near the edge lack neighbours
/// beyond it.
constexpr int margin = 4;

/// The share of the integer positions inside `radius` that have a sample in the cell of one cycle/FOV about
/// them.
double coverage(const Trajectory& trajectory, const std::array<int, 3>& radius) {
  const std::int64_t samples = trajectory.sample_count();
  std::array<int, 3> extent;
  for (int axis = 0; axis < 3; ++axis) extent[axis] = 2 * radius[axis] + 1;
  const auto index_of = [&](const Position& k) {
    return row_major({k[0] + radius[0], k[1] + radius[1], k[2] + radius[2]}, extent);
  };
  std::vector<char> hit(std::size_t(row_major({0, 0, extent[2]}, extent)));
#pragma omp parallel for schedule(static) if (samples >= worth_threads_to_look)
  for (std::int64_t m = 0; m < samples; ++m) {
    const auto at = [&](int axis) { return trajectory.k.data()[axis * samples + m]; };
    bool inside = true;
    for (int axis = 0; axis < 3; ++axis)
      inside = inside && (radius[axis] == 0 || std::abs(at(axis)) < radius[axis] + 0.5);
    if (!inside) continue;
    Position k{};
    for (int axis = 0; axis < 3; ++axis)
      if (radius[axis] != 0) k[axis] = static_cast<int>(std::lround(at(axis)));
    char& here = hit[index_of(k)];
#pragma omp atomic write
    here = 1;
  }
  std::int64_t positions = 0, covered = 0;
  for (const Position& k : ball(radius)) {
    if (square_over(k, radius) > 1) continue;
    ++positions;
    covered += hit[index_of(k)];
  }
  return static_cast<double>(covered) / static_cast<double>(positions);
}

/// At most `radius`, and within the matrix with its smaller side: -N/2 has no partner at +N/2.
std::array<int, 3> radius_within(const std::array<int, 3>& matrix_size, int radius) {
  std::array<int, 3> result;
  for (int axis = 0; axis < 3; ++axis) result[axis] = std::min(radius, (matrix_size[axis] - 1) / 2);
  return result;
}

struct DeterminedRadius {
  std::array<int, 3> radius;
  int largest;  ///< of all axes, before the matrix bounds it
  bool sampled;
};
/// The largest radius down to `least` that the samples determine, then with some axes as short as `least_width`;
/// else `least`.
DeterminedRadius determined_radius(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                                   int largest, int least, int least_width) {
  const double enough = least_width < least ? enough_reference_coverage : enough_coverage;
  const auto covers = [&](const std::array<int, 3>& radius) {
    return coverage(trajectory, radius) >= enough;
  };
  for (int radius = largest;; --radius) {
    if (const auto bounded = radius_within(matrix_size, radius); covers(bounded))
      return {bounded, radius, true};
    if (radius <= least) break;
  }
  for (int width = largest - 1; width >= least_width && least_width < least; --width)
    for (const auto& narrow : {std::array{0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 1}, {1, 1, 0}, {1, 0, 1}}) {
      auto radius = radius_within(matrix_size, largest);
      for (int axis = 0; axis < 3; ++axis)
        if (narrow[axis] != 0) radius[axis] = std::min(radius[axis], width);
      if (covers(radius)) return {radius, largest, true};
    }
  return {radius_within(matrix_size, least), least, false};
}

/// Divided by the largest: maps do not depend on the size of the data, and squares of them stay in the range
/// of float.
void normalize(Array<Complex<float>>& kspace) {
  const std::int64_t samples = kspace.extent(1);
  float largest = 0;
  std::int64_t first_not_finite = kspace.size();
#pragma omp parallel for schedule(static) reduction(max        \
                                                    : largest) \
    reduction(min                                              \
              : first_not_finite) if (kspace.size() >= worth_threads_to_look)
  for (std::int64_t i = 0; i < kspace.size(); ++i) {
    const auto d = kspace.data()[i];
    if (!std::isfinite(d.re) || !std::isfinite(d.im)) first_not_finite = std::min(first_not_finite, i);
    largest = std::max({largest, std::abs(d.re), std::abs(d.im)});
  }
  if (first_not_finite < kspace.size())
    throw Error("k-space of coil " + std::to_string(first_not_finite / samples), "finite numbers",
                "NaN or infinity");
  if (largest == 0)
    throw Error("sensitivity maps", "signal near the centre of k-space",
                samples == 0 ? "no sample there" : "zeros",
                "use settings.coils.maps = none, or give the maps in the file");
  for (auto& d : kspace) d = {d.re / largest, d.im / largest};
}

/// (F^H D F + lambda) m_c = b_c for every coil, on the device of b. On the CPU, where the grids are small, each
/// thread has coils and an operator of its own; a GPU takes one coil after the other.
Array<Complex<float>> solve_coil_by_coil(const MakeNormal& make_normal,
                                         Array<Complex<float>> right_hand_side) {
  constexpr double lambda = 1e-3, tolerance = 1e-3;
  constexpr int iterations = 12, looks_of_gpu = 4;
  const Device device = right_hand_side.device();
  Array<Complex<float>> images(right_hand_side.shape(), device);
  const std::int64_t coils = images.extent(0), voxels = images.size() / coils;
  const auto regularized = [&] {
    return RegularizedNormal<float>(make_normal(), {{identity_term<float>(), lambda}});
  };
  const auto solve = [&](const RegularizedNormal<float>& a, std::int64_t coil) {
    const auto b = Array<Complex<float>>::view(right_hand_side.data() + coil * voxels, a.domain(), device);
    auto image = Array<Complex<float>>::view(images.data() + coil * voxels, a.domain(), device);
    conjugate_gradient(a, b, image, {iterations, tolerance, device.is_cuda() ? looks_of_gpu : 1});
  };
  if (device.is_cuda()) {
    const auto a = regularized();
    for (std::int64_t coil = 0; coil < coils; ++coil) solve(a, coil);
    return images;
  }
#pragma omp parallel
  {
    const auto a = regularized();
#pragma omp for schedule(static)
    for (std::int64_t coil = 0; coil < coils; ++coil) solve(a, coil);
  }
  return images;
}

/// F^H D d_c of every coil, and q of F^H D F, which make_toeplitz_normal takes.
struct WeightedSystem {
  Array<Complex<float>> right_hand_side, point_spread;

  WeightedSystem to(Device device) && {
    if (device == right_hand_side.device()) return std::move(*this);
    return {right_hand_side.to(device), point_spread.to(device)};
  }
};
/// On `device`. The samples are weighted in place.
WeightedSystem weighted_system(CentralSamples& central, const std::array<int, 3>& matrix_size,
                               Device device) {
  const std::int64_t coils = central.kspace.extent(0), samples = central.trajectory.sample_count();
  const Array<double> density = density_compensation(central.trajectory, matrix_size, device);
#pragma omp parallel for schedule(static)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    for (std::int64_t m = 0; m < samples; ++m)
      central.kspace.data()[coil * samples + m] *= static_cast<float>(density.data()[m]);
  // Where the object gives no signal, maps follow differences of the region by some ten times their size.
  constexpr auto kernel = GriddingChoice::of_cpu;
  const auto transform =
      make_gridded_transform<float>(central.trajectory, matrix_size, calibration_accuracy, device, kernel);
  WeightedSystem system{Array<Complex<float>>(transform->images_shape(coils), device), {}};
  if (device.is_cuda()) central.kspace = central.kspace.to(device);
  transform->adjoint(central.kspace, system.right_hand_side);
  system.point_spread = point_spread_gridded<float>(central.trajectory, matrix_size, &density,
                                                    calibration_accuracy, device, kernel);
  return system;
}

}  // namespace

CentralSamples samples_at(const std::vector<std::int64_t>& indices, const Trajectory& trajectory,
                          const Array<Complex<float>>& kspace) {
  const std::int64_t samples = trajectory.sample_count(), coils = kspace.empty() ? 0 : kspace.extent(0),
                     count = static_cast<std::int64_t>(indices.size());
  CentralSamples some{{Array<double>({3, count})}, {}};
  if (coils > 0) some.kspace = Array<Complex<float>>({coils, count});
#pragma omp parallel for schedule(static) if (count * (coils + 6) >= worth_threads_to_look)
  for (std::int64_t row = 0; row < coils + 3; ++row)
    if (row < 3)
      for (std::int64_t i = 0; i < count; ++i)
        some.trajectory.k.data()[row * count + i] = trajectory.k.data()[row * samples + indices[i]];
    else
      for (std::int64_t i = 0; i < count; ++i)
        some.kspace.data()[(row - 3) * count + i] = kspace.data()[(row - 3) * samples + indices[i]];
  return some;
}

CentralSamples samples_inside(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                              std::array<int, 3> matrix_size) {
  const std::int64_t samples = trajectory.sample_count();
  constexpr std::int64_t part = 1 << 14;  // samples, that one thread looks through
  const std::int64_t parts = (samples + part - 1) / part;
  std::vector<std::vector<std::int64_t>> of_part(static_cast<std::size_t>(parts));
#pragma omp parallel for schedule(static) if (samples >= worth_threads_to_look)
  for (std::int64_t i = 0; i < parts; ++i)
    for (std::int64_t m = i * part; m < std::min(samples, (i + 1) * part); ++m) {
      bool is_inside = true;
      for (int axis = 0; axis < 3; ++axis)
        is_inside =
            is_inside && (matrix_size[axis] == 1 ||
                          std::abs(trajectory.k.data()[axis * samples + m]) <= matrix_size[axis] / 2.0);
      if (is_inside) of_part[i].push_back(m);
    }
  std::vector<std::int64_t> inside;
  for (const auto& found : of_part) inside.insert(inside.end(), found.begin(), found.end());
  return samples_at(inside, trajectory, kspace);
}

void centred_fft(Array<Complex<float>>& coils, int sign) {
  const std::array<int, 3> n{static_cast<int>(coils.extent(3)), static_cast<int>(coils.extent(2)),
                             static_cast<int>(coils.extent(1))};
  Array<Complex<float>> volume(Shape{n[2], n[1], n[0]});
  const std::int64_t voxels = volume.size();
  constexpr std::int64_t worth_threads = 1 << 15;
  const ThreadLimit limit(voxels < worth_threads ? 1 : omp_get_max_threads());
  const float factor = sign < 0 ? 1.0f : 1 / static_cast<float>(voxels);
  const auto in_fft = [&](const Position& at) {  // index of the FFT
    Position place;
    for (int axis = 0; axis < 3; ++axis) place[axis] = (at[axis] - n[axis] / 2 + n[axis]) % n[axis];
    return row_major(place, n);
  };
  for (std::int64_t coil = 0; coil < coils.extent(0); ++coil) {
    Complex<float>* centred = coils.data() + coil * voxels;
    for_each_position(n, [&](const Position& at) { volume.data()[in_fft(at)] = centred[row_major(at, n)]; });
    fft_3d(volume, sign);
    for_each_position(
        n, [&](const Position& at) { centred[row_major(at, n)] = factor * volume.data()[in_fft(at)]; });
  }
}

bool calibration_is_sampled(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  const auto radius = radius_within(matrix_size, least_calibration_radius(matrix_size));
  return coverage(trajectory, radius) >= enough_coverage;
}

std::array<int, 3> calibration_matrix(const std::array<int, 3>& matrix_size, int radius) {
  std::array<int, 3> small;
  for (int axis = 0; axis < 3; ++axis)
    small[axis] = std::min(matrix_size[axis], good_fft_size(2 * (radius + margin)));
  return small;
}

CalibrationRegion calibration_region(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                                     std::array<int, 3> matrix_size, int largest_radius, int least_radius,
                                     int least_width, Device device) {
  CalibrationRegion region;
  const auto [radius, largest, sampled] =
      determined_radius(trajectory, matrix_size, largest_radius, least_radius, least_width);
  region.radius = radius;
  region.sampled = sampled;
  const auto small = calibration_matrix(matrix_size, largest);
  CentralSamples central = samples_inside(trajectory, kspace, small);
  normalize(central.kspace);

  constexpr std::int64_t worth_threads = 1 << 20;
  const ThreadLimit limit(central.kspace.size() < worth_threads ? 1 : omp_get_max_threads());
  auto system = weighted_system(central, small, device).to(solving_device(small, sampled, device));
  Array<Complex<float>> ones({1, small[2], small[1], small[0]});
  std::fill(ones.begin(), ones.end(), Complex<float>(1));
  if (system.point_spread.device().is_cuda()) ones = ones.to(device);
  const MakeNormal make_normal = [&] { return make_toeplitz_normal(system.point_spread, ones); };
  region.kspace = sampled ? solve_coil_by_coil(make_normal, std::move(system.right_hand_side))
                          : estimate_jointly(make_normal, system.right_hand_side);
  if (region.kspace.device().is_cuda()) region.kspace = region.kspace.to(Device::cpu());
  centred_fft(region.kspace, -1);
  return region;
}

Array<Complex<float>> windowed(const CalibrationRegion& region) {
  const std::int64_t coils = region.kspace.extent(0), voxels = region.kspace.size() / coils;
  Array<Complex<float>> result(region.kspace.shape());
  for (const Position& k : ball(region.radius)) {
    const double share = std::sqrt(square_over(k, region.radius));
    const auto weight = static_cast<float>(0.5 + 0.5 * std::cos(std::numbers::pi * share));
    for (std::int64_t at = region.index_of(k); at < region.kspace.size(); at += voxels)
      result.data()[at] = weight * region.kspace.data()[at];
  }
  return result;
}

}  // namespace fhd

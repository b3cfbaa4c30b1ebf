#include "recon/coils/calibration.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "recon/array/execution.hpp"
#include "recon/array/fft.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {
namespace {

/// Share of the integer positions inside the radius that have a sample within half a cycle/FOV.
constexpr double enough_coverage = 0.9;
/// Coverage that is enough for reference lines, whose holes are not scattered but lie all beyond the outermost line.
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

/// Divides by the largest, which it returns: maps do not depend on the size of the data, and squares of them stay in the
/// range of float.
float normalize(Array<Complex<float>>& kspace) {
  float largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) if (kspace.size() >= worth_threads_to_look)
  for (std::int64_t i = 0; i < kspace.size(); ++i)
    largest = std::max({largest, std::abs(kspace.data()[i].re), std::abs(kspace.data()[i].im)});
  if (largest == 0)
    throw Error("sensitivity maps", "signal near the centre of k-space",
                kspace.extent(1) == 0 ? "no sample there" : "zeros",
                "use " + option_words("coils", "none") + ", or give the maps in the file");
  for (auto& d : kspace) d = {d.re / largest, d.im / largest};
  return largest;
}

double window_at(double square) {  // of |k| / radius
  return square > 1 ? 0 : 0.5 + 0.5 * std::cos(std::numbers::pi * std::sqrt(square));
}

/// Returns the noise gain of m_c = sum_m D_m window(k_m) d_c(m) exp(i 2 pi k_m r), the windowed images, as F^H D F is near 1.
double noise_gain(const Trajectory& trajectory, const Array<double>& density,
                  const std::array<int, 3>& radius) {
  const std::int64_t samples = trajectory.sample_count();
  double sum = 0;
  for (std::int64_t m = 0; m < samples; ++m) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (radius[axis] > 0) square += std::pow(trajectory.k.data()[axis * samples + m] / radius[axis], 2);
    sum += std::pow(density.data()[m] * window_at(square), 2);
  }
  return sum;
}

/// Threads that work on this many values: waiting for each other costs more below.
int threads_for(std::int64_t values) {
  constexpr std::int64_t worth_threads = 1 << 20;
  return values < worth_threads ? 1 : omp_get_max_threads();
}

}  // namespace

std::vector<std::int64_t> indices_inside(const Trajectory& trajectory,
                                         const std::array<int, 3>& matrix_size) {
  const std::int64_t samples = trajectory.sample_count();
  constexpr std::int64_t part = 1 << 14;  // samples, that one thread looks through
  const std::int64_t parts = (samples + part - 1) / part;
  std::vector<std::vector<std::int64_t>> of_part(parts);
  ParallelFailure failure;
#pragma omp parallel for schedule(static) if (samples >= worth_threads_to_look)
  for (std::int64_t i = 0; i < parts; ++i)
    failure.guard([&] {
      for (std::int64_t m = i * part; m < std::min(samples, (i + 1) * part); ++m) {
        bool is_inside = true;
        for (int axis = 0; axis < 3; ++axis)
          is_inside =
              is_inside && (matrix_size[axis] == 1 ||
                            std::abs(trajectory.k.data()[axis * samples + m]) <= matrix_size[axis] / 2.0);
        if (is_inside) of_part[i].push_back(m);
      }
    });
  failure.rethrow();
  std::vector<std::int64_t> inside;
  for (const auto& found : of_part) inside.insert(inside.end(), found.begin(), found.end());
  return inside;
}

CentralSamples samples_at(const std::vector<std::int64_t>& indices, const Trajectory& trajectory,
                          const Array<Complex<float>>& kspace) {
  CentralSamples some{{columns_of(trajectory.k, indices)}, {}};
  if (!kspace.empty()) some.kspace = columns_of(kspace, indices);
  return some;
}

CentralSamples samples_inside(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                              std::array<int, 3> matrix_size) {
  return samples_at(indices_inside(trajectory, matrix_size), trajectory, kspace);
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

CalibrationSystem::CalibrationSystem(const Trajectory& trajectory, const CalibrationExtent& extent,
                                     Device device)
    : extent_(extent), device_(device) {
  const auto determined = extent.jointly
                              ? DeterminedRadius{radius_within(extent.matrix_size, extent.largest_radius),
                                                 extent.largest_radius, false}
                              : determined_radius(trajectory, extent.matrix_size, extent.largest_radius,
                                                  extent.least_radius, extent.least_width);
  radius_ = determined.radius;
  sampled_ = determined.sampled;
  small_ = calibration_matrix(extent.matrix_size, determined.largest);
  looked_at_ = indices_inside(trajectory, calibration_matrix(extent.matrix_size, extent.largest_radius));
  positions_ = {columns_of(trajectory.k, looked_at_)};
  inside_ = indices_inside(trajectory, small_);
  if (inside_.empty()) return;  // region() refuses
  const Trajectory central{columns_of(trajectory.k, inside_)};
  const ThreadLimit limit(threads_for(8 * central.sample_count()));  // as much work as that of some coils
  const Device gridder = gridding_device(small_, device), solver = solving_device(small_, sampled_, device);
  density_ = density_compensation(central, small_, gridder);
  noise_gain_ = noise_gain(central, density_, radius_);
  // Where the object gives no signal, maps follow differences of the region by some ten times their size.
  constexpr auto kernel = GriddingChoice::of_cpu;
  transform_ = make_gridded_transform<float>(central, small_, calibration_accuracy, gridder, kernel);
  point_spread_ =
      point_spread_gridded<float>(central, small_, &density_, calibration_accuracy, gridder, kernel);
  ones_ = Array<Complex<float>>({1, small_[2], small_[1], small_[0]});
  std::fill(ones_.begin(), ones_.end(), Complex<float>(1));
  if (solver != gridder) point_spread_ = point_spread_.to(solver);
  if (solver.is_cuda()) ones_ = ones_.to(solver);
}

bool CalibrationSystem::is_of(const Trajectory& trajectory, const CalibrationExtent& extent,
                              Device device) const {
  if (extent != extent_ || device != device_) return false;
  const auto looked_at =
      indices_inside(trajectory, calibration_matrix(extent.matrix_size, extent.largest_radius));
  if (looked_at != looked_at_) return false;
  const auto k = columns_of(trajectory.k, looked_at);
  return std::equal(k.begin(), k.end(), positions_.k.begin());
}

std::shared_ptr<const HermitianOperator<float>> CalibrationSystem::make_normal() const {
  return make_toeplitz_normal(point_spread_, ones_);
}

/// (F^H D F + lambda) m_c = b_c for every coil, on the device of b. On the CPU, where the grids are small, each
/// thread has coils and an operator of its own; a GPU takes one coil after the other.
Array<Complex<float>> CalibrationSystem::solve_coil_by_coil(Array<Complex<float>> right_hand_side) {
  constexpr double lambda = 1e-3;
  const Device device = right_hand_side.device();
  // A GPU waits for every look. Of so few iterations later residuals need no help to be orthogonal.
  const ConjugateGradientSettings settings{.iterations = 12,
                                           .tolerance = 1e-3,
                                           .check_every = device.is_cuda() ? 4 : 1,
                                           .kept_residuals = 0,
                                           .from_zero = true};
  Array<Complex<float>> images(right_hand_side.shape(), device);
  const std::int64_t coils = images.extent(0), voxels = images.size() / coils;
  const auto threads =
      static_cast<std::size_t>(device.is_cuda() ? 1 : std::min<std::int64_t>(omp_get_max_threads(), coils));
  while (normals_.size() < threads) {
    const ThreadLimit one_thread(device.is_cuda() ? 0 : 1);  // operators stay on the thread that applies them
    normals_.push_back(make_normal());
  }
  const auto solve = [&](std::size_t thread, std::int64_t coil) {
    const RegularizedNormal<float> a(normals_[thread], {{identity_term<float>(), lambda}});
    const auto b = Array<Complex<float>>::view(right_hand_side.data() + coil * voxels, a.domain(), device);
    auto image = Array<Complex<float>>::view(images.data() + coil * voxels, a.domain(), device);
    conjugate_gradient(a, b, image, settings);
  };
  ParallelFailure failure;
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(threads)) if (threads > 1)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    failure.guard([&] { solve(static_cast<std::size_t>(omp_get_thread_num()), coil); });
  failure.rethrow();
  return images;
}

CalibrationRegion CalibrationSystem::region(const Array<Complex<float>>& kspace) {
  auto samples = columns_of(kspace, inside_);
  const double largest = normalize(samples);
  const std::int64_t coils = samples.extent(0), count = samples.extent(1);
  const ThreadLimit limit(threads_for(samples.size()));
#pragma omp parallel for schedule(static)
  for (std::int64_t coil = 0; coil < coils; ++coil)
    for (std::int64_t m = 0; m < count; ++m)
      samples.data()[coil * count + m] *= static_cast<float>(density_.data()[m]);
  const Device gridder = transform_->device();
  if (gridder.is_cuda()) samples = samples.to(gridder);
  Array<Complex<float>> right_hand_side(transform_->images_shape(coils), gridder);
  transform_->adjoint(samples, right_hand_side);
  if (point_spread_.device() != gridder) right_hand_side = right_hand_side.to(point_spread_.device());

  CalibrationRegion region;
  region.radius = radius_;
  region.sampled = sampled_;
  region.noise_gain = noise_gain_ / largest / largest;
  if (sampled_) {
    region.kspace = solve_coil_by_coil(std::move(right_hand_side));
  } else {
    auto estimate = estimate_jointly([this] { return make_normal(); }, right_hand_side);
    region.kspace = std::move(estimate.coil_images);
    region.smooth = std::move(estimate.smooth);
  }
  if (region.kspace.device().is_cuda()) region.kspace = region.kspace.to(Device::cpu());
  centred_fft(region.kspace, -1);
  return region;
}

CalibrationRegion calibration_region(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                                     const CalibrationExtent& extent, Device device,
                                     std::optional<CalibrationSystem>* kept) {
  // A large system would take memory that plans count on, and making it costs little beside the rest.
  const bool keeps = kept && is_small_region(calibration_matrix(extent.matrix_size, extent.largest_radius));
  std::optional<CalibrationSystem> own;
  auto& system = keeps ? *kept : own;
  if (!system || !system->is_of(trajectory, extent, device)) {
    system.reset();  // its memory
    system.emplace(trajectory, extent, device);
  }
  return system->region(kspace);
}

Array<Complex<float>> windowed(const CalibrationRegion& region) {
  const std::int64_t coils = region.kspace.extent(0), voxels = region.kspace.size() / coils;
  Array<Complex<float>> result(region.kspace.shape());
  for (const Position& k : ball(region.radius)) {
    const auto weight = static_cast<float>(window_at(square_over(k, region.radius)));
    for (std::int64_t at = region.index_of(k); at < region.kspace.size(); at += voxels)
      result.data()[at] = weight * region.kspace.data()[at];
  }
  return result;
}

}  // namespace fhd

#include "recon/coils/calibration.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/coils/joint_estimation.hpp"
#include "recon/transform/transform.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/regularizer.hpp"

namespace fhd {
namespace {

/// Share of the integer positions inside the radius that have a sample within half a cycle/FOV.
constexpr double enough_coverage = 0.9;

/// Cycles/FOV between the radius and the edge of the small matrix: positions near the edge lack neighbours
/// beyond it.
constexpr int margin = 4;
constexpr double gridding_accuracy = 1e-4;

struct CentralSamples {
  Trajectory trajectory;
  Array<Complex<float>> kspace;
};

/// Samples with |k| <= matrix_size / 2 on every axis.
CentralSamples samples_inside(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                              std::array<int, 3> matrix_size) {
  const std::int64_t samples = trajectory.sample_count(), coils = kspace.extent(0);
  std::vector<std::int64_t> inside;
  for (std::int64_t m = 0; m < samples; ++m) {
    bool is_inside = true;
    for (int axis = 0; axis < 3; ++axis)
      is_inside = is_inside && (matrix_size[axis] == 1 ||
                                std::abs(trajectory.k[axis * samples + m]) <= matrix_size[axis] / 2.0);
    if (is_inside) inside.push_back(m);
  }
  const auto count = static_cast<std::int64_t>(inside.size());
  CentralSamples central{{Array<double>({3, count})}, Array<Complex<float>>({coils, count})};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t m = inside[static_cast<std::size_t>(i)];
    for (int axis = 0; axis < 3; ++axis)
      central.trajectory.k[axis * count + i] = trajectory.k[axis * samples + m];
    for (std::int64_t coil = 0; coil < coils; ++coil)
      central.kspace[coil * count + i] = kspace[coil * samples + m];
  }
  return central;
}

/// The share of the integer positions inside `radius` that have a sample in the cell of one cycle/FOV about
/// them.
double coverage(const Trajectory& trajectory, const std::array<int, 3>& radius) {
  const std::int64_t samples = trajectory.sample_count();
  std::int64_t extent[3];
  for (int axis = 0; axis < 3; ++axis) extent[axis] = 2 * radius[axis] + 1;
  std::vector<char> hit(static_cast<std::size_t>(extent[0] * extent[1] * extent[2]));
  for (std::int64_t m = 0; m < samples; ++m) {
    std::int64_t at = 0;
    bool inside = true;
    for (int axis = 2; axis >= 0; --axis) {
      const auto k = radius[axis] == 0 ? 0 : std::llround(trajectory.k[axis * samples + m]);
      inside = inside && std::abs(k) <= radius[axis];
      at = at * extent[axis] + k + radius[axis];
    }
    if (inside) hit[static_cast<std::size_t>(at)] = 1;
  }
  std::int64_t positions = 0, covered = 0;
  for (std::int64_t at = 0; at < extent[0] * extent[1] * extent[2]; ++at) {
    const std::int64_t index[3] = {at % extent[0], at / extent[0] % extent[1], at / (extent[0] * extent[1])};
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (radius[axis] > 0)
        square += std::pow(static_cast<double>(index[axis] - radius[axis]) / radius[axis], 2);
    if (square > 1) continue;
    ++positions;
    covered += hit[static_cast<std::size_t>(at)];
  }
  return static_cast<double>(covered) / static_cast<double>(positions);
}

/// At most `radius`, and within the matrix with its smaller side: -N/2 has no partner at +N/2.
std::array<int, 3> radius_within(const std::array<int, 3>& matrix_size, int radius) {
  std::array<int, 3> result;
  for (int axis = 0; axis < 3; ++axis) result[axis] = std::min(radius, (matrix_size[axis] - 1) / 2);
  return result;
}

}  // namespace

void centred_fft(Array<Complex<float>>& coils, int sign) {
  const std::int64_t n[3] = {coils.extent(3), coils.extent(2), coils.extent(1)}, voxels = n[0] * n[1] * n[2];
  constexpr std::int64_t worth_threads = 1 << 15;
  const ThreadLimit limit(voxels < worth_threads ? 1 : omp_get_max_threads());
  Array<Complex<float>> volume(Shape{n[2], n[1], n[0]});
  const float factor = sign < 0 ? 1.0f : 1 / static_cast<float>(voxels);
  for (std::int64_t coil = 0; coil < coils.extent(0); ++coil) {
    Complex<float>* values = coils.data() + coil * voxels;
    const auto for_each_pair = [&](auto body) {  // centred index, index of the FFT
      for (std::int64_t z = 0; z < n[2]; ++z)
        for (std::int64_t y = 0; y < n[1]; ++y)
          for (std::int64_t x = 0; x < n[0]; ++x) {
            const std::int64_t place[3] = {(x - n[0] / 2 + n[0]) % n[0], (y - n[1] / 2 + n[1]) % n[1],
                                           (z - n[2] / 2 + n[2]) % n[2]};
            body(values[(z * n[1] + y) * n[0] + x], volume[(place[2] * n[1] + place[1]) * n[0] + place[0]]);
          }
    };
    for_each_pair([](Complex<float>& centred, Complex<float>& wrapped) { wrapped = centred; });
    fft_3d(volume, sign);
    for_each_pair([&](Complex<float>& centred, Complex<float>& wrapped) { centred = factor * wrapped; });
  }
}

bool calibration_is_sampled(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  const auto radius = radius_within(matrix_size, least_calibration_radius(matrix_size));
  return coverage(trajectory, radius) >= enough_coverage;
}

CalibrationRegion calibration_region(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                                     std::array<int, 3> matrix_size, int largest_radius, int least_radius) {
  constexpr double lambda = 1e-3, tolerance = 1e-3;
  constexpr int iterations = 12;
  CalibrationRegion region;
  int radius = largest_radius;
  while (radius > least_radius && coverage(trajectory, radius_within(matrix_size, radius)) < enough_coverage)
    --radius;
  region.sampled = coverage(trajectory, radius_within(matrix_size, radius)) >= enough_coverage;
  if (!region.sampled) radius = least_radius;
  region.radius = radius_within(matrix_size, radius);

  std::array<int, 3> small;
  for (int axis = 0; axis < 3; ++axis)
    small[axis] = std::min(matrix_size[axis], good_fft_size(2 * (radius + margin)));
  CentralSamples central = samples_inside(trajectory, kspace, small);
  const std::int64_t coils = kspace.extent(0), samples = central.kspace.extent(1);
  // Maps do not depend on the size of the data, and squares of them stay in the range of float.
  float largest = 0;
  for (std::int64_t i = 0; i < central.kspace.size(); ++i) {
    const auto d = central.kspace[i];
    if (!std::isfinite(d.re) || !std::isfinite(d.im))
      throw Error("k-space of coil " + std::to_string(i / samples), "finite numbers", "NaN or infinity");
    largest = std::max({largest, std::abs(d.re), std::abs(d.im)});
  }
  if (largest == 0)
    throw Error("sensitivity maps", "signal near the centre of k-space",
                samples == 0 ? "no sample there" : "zeros", "use --coils none, or give the maps in the file");
  for (auto& d : central.kspace) d = {d.re / largest, d.im / largest};

  constexpr std::int64_t worth_threads = 1 << 20;
  const ThreadLimit limit(central.kspace.size() < worth_threads ? 1 : omp_get_max_threads());
  const Array<double> density = density_compensation(central.trajectory, small);
  Array<Complex<float>> weighted(central.kspace);
  for (std::int64_t i = 0; i < weighted.size(); ++i) weighted[i] *= static_cast<float>(density[i % samples]);
  const auto transform =
      make_gridded_transform<float>(central.trajectory, small, gridding_accuracy, Device::cpu());
  Array<Complex<float>> right_hand_side(transform->images_shape(coils));
  transform->adjoint(weighted, right_hand_side);
  Array<Complex<float>> ones(transform->images_shape(1));
  std::fill(ones.begin(), ones.end(), Complex<float>(1));
  const auto point_spread =
      point_spread_gridded<float>(central.trajectory, small, &density, gridding_accuracy, Device::cpu());
  const auto make_normal = [&]() -> std::shared_ptr<const HermitianOperator<float>> {
    return make_toeplitz_normal(point_spread, ones);
  };

  if (region.sampled) {
    region.kspace = Array<Complex<float>>(right_hand_side.shape());
    const std::int64_t voxels = ones.size();
    // The grids are small: each thread has coils and an operator of its own.
#pragma omp parallel
    {
      const IdentityRegularized<float> regularized(make_normal(), lambda);
      Array<Complex<float>> b(regularized.domain()), image(regularized.domain());
#pragma omp for schedule(static)
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        std::copy_n(right_hand_side.data() + coil * voxels, voxels, b.data());
        image.fill_zero();
        conjugate_gradient(regularized, b, image, {iterations, tolerance});
        std::copy_n(image.data(), voxels, region.kspace.data() + coil * voxels);
      }
    }
  } else {
    region.kspace = estimate_jointly(make_normal, right_hand_side);
  }
  centred_fft(region.kspace, -1);
  return region;
}

}  // namespace fhd

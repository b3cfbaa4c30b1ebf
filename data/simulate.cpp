#include "data/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace fhd::data {
namespace {

/// SplitMix64's output function.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Draw `counter` of SplitMix64, in (0, 1).
double uniform(std::uint64_t stream, std::uint64_t counter) {
  const std::uint64_t bits = mixed(stream + (counter + 1) * 0x9e3779b97f4a7c15u);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

template <class T>
Image as_image(const Array<T>& values, const Geometry& geometry) {
  Image image{Array<Complex<float>>(values.shape()), geometry};
  for (std::int64_t i = 0; i < values.size(); ++i)
    image.values[i] = static_cast<Complex<float>>(Complex<double>(values[i]));
  return image;
}

/// Mean of |rho| RSS over the object: the voxels above 1 % of the largest |rho|.
double mean_signal(const Image& ideal, const SensitivityMaps& maps) {
  const std::int64_t voxel_count = ideal.values.size(), coil_count = maps.values.extent(0);
  double largest = 0, sum = 0;
  for (const auto& value : ideal.values) largest = std::max(largest, norm(Complex<double>(value)));
  std::int64_t object_voxels = 0;
  for (std::int64_t voxel = 0; voxel < voxel_count; ++voxel) {
    if (norm(Complex<double>(ideal.values[voxel])) <= 1e-4 * largest) continue;
    double square = 0;
    for (std::int64_t coil = 0; coil < coil_count; ++coil)
      square += norm(maps.values[coil * voxel_count + voxel]);
    sum += abs(ideal.values[voxel]) * std::sqrt(square);
    ++object_voxels;
  }
  return object_voxels == 0 ? 0 : sum / static_cast<double>(object_voxels);
}

/// band_limited_image of a phantom that may exceed the FOV, up to twice: from a matrix of twice the size.
Array<Complex<double>> band_limited_beyond_fov(const Phantom& phantom,
                                               const std::array<int, 3>& matrix_size) {
  std::array<int, 3> twice{}, first{};
  for (int axis = 0; axis < 3; ++axis) {
    const int n = matrix_size[axis];
    twice[axis] = n == 1 ? 1 : 2 * n;
    first[axis] = twice[axis] / 2 - n / 2;  // voxel floor(N/2) stays at the centre
  }
  const auto whole = band_limited_image(phantom.scaled(0.5), twice);
  const auto [nx, ny, nz] = matrix_size;
  Array<Complex<double>> image({nz, ny, nx});
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      std::copy_n(whole.data() + (std::int64_t{z + first[2]} * twice[1] + y + first[1]) * twice[0] + first[0],
                  nx, image.data() + (std::int64_t{z} * ny + y) * nx);
  return image;
}

}  // namespace

void add_noise(Array<Complex<float>>& values, double standard_deviation, std::uint64_t seed) {
  const std::uint64_t stream = mixed(seed + 0x9e3779b97f4a7c15u);  // neighbouring seeds: unrelated streams
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const auto counter = static_cast<std::uint64_t>(2 * i);
    const double radius = standard_deviation * std::sqrt(-2 * std::log(uniform(stream, counter)));
    const double angle = 2 * std::numbers::pi * uniform(stream, counter + 1);
    values.data()[i] += Complex<float>(Complex<double>(radius * std::cos(angle), radius * std::sin(angle)));
  }
}

Simulation simulate(const SimulationSettings& settings) {
  if (settings.snr && !(*settings.snr > 0 && std::isfinite(*settings.snr)))
    throw Error("SNR", "a number > 0", std::to_string(*settings.snr), "leave the noise out with --snr none");
  const auto& matrix_size = settings.trajectory.matrix_size;
  const int dimensions = matrix_size[2] > 1 ? 3 : 2;
  const CoilArray coils(dimensions, settings.coil_count);
  auto design = design_trajectory(settings.trajectory);
  if (!(settings.object_scale >= 0.1 && settings.object_scale <= 2))
    throw Error("scale of the object", "0.1 ... 2", std::to_string(settings.object_scale));
  const Phantom phantom = (settings.phantom == PhantomKind::shepp_logan ? Phantom::shepp_logan(dimensions)
                                                                        : Phantom::resolution(dimensions))
                              .scaled(settings.object_scale);

  Simulation simulation;
  simulation.readout_count = design.readout_count;
  simulation.readout_length = design.readout_length;
  simulation.dwell_s = design.dwell_s;
  simulation.undersampling = design.undersampling;
  Scan& scan = simulation.scan;
  scan.geometry.matrix_size = matrix_size;
  scan.geometry.fov_mm = settings.trajectory.fov_mm;
  scan.trajectory = std::move(design.trajectory);
  scan.sample_time_s = std::move(design.sample_time_s);
  scan.sensitivity_maps = coils.maps(matrix_size);

  const std::int64_t sample_count = scan.trajectory.sample_count(), coil_count = coils.coil_count();
  const auto voxel_count = static_cast<double>(scan.geometry.voxel_count());
  const CoilKSpace coil_kspace(phantom, coils);
  scan.kspace.values = Array<Complex<float>>({coil_count, sample_count});
  const double* k = scan.trajectory.k.data();
#pragma omp parallel
  {
    std::vector<Complex<double>> values(coil_count);
#pragma omp for schedule(static)
    for (std::int64_t m = 0; m < sample_count; ++m) {
      coil_kspace.values({k[m], k[sample_count + m], k[2 * sample_count + m]}, values);
      for (std::int64_t coil = 0; coil < coil_count; ++coil)
        scan.kspace.values.data()[coil * sample_count + m] = Complex<float>(voxel_count * values[coil]);
    }
  }

  const auto band_limited = settings.object_scale > 1 ? band_limited_beyond_fov(phantom, matrix_size)
                                                      : band_limited_image(phantom, matrix_size);
  simulation.band_limited = as_image(band_limited, scan.geometry);
  simulation.ideal = as_image(ideal_image(phantom, matrix_size), scan.geometry);
  if (settings.snr) {
    // An inverse DFT with 1/N turns the standard deviation s of samples into s / sqrt(N) of voxels.
    simulation.noise_standard_deviation =
        mean_signal(simulation.ideal, *scan.sensitivity_maps) * std::sqrt(voxel_count) / *settings.snr;
    add_noise(scan.kspace.values, simulation.noise_standard_deviation, settings.seed);
  }
  scan.validate("simulated scan");
  return simulation;
}

}  // namespace fhd::data

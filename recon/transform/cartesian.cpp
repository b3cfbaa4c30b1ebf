#include "recon/transform/cartesian.hpp"

#include <cmath>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/domain/option_words.hpp"

namespace fhd {

bool is_cartesian(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  const std::int64_t samples = trajectory.sample_count();
  for (int axis = 0; axis < 3; ++axis) {
    if (matrix_size[axis] == 1) continue;
    for (std::int64_t m = 0; m < samples; ++m) {
      const double k = trajectory.k[axis * samples + m];
      if (!(std::abs(k - std::rint(k)) <= 1e-3)) return false;
    }
  }
  return samples > 0;
}

namespace {

/// Where the samples of a Cartesian scan lie on the periodic grid, and how often each element is measured.
struct Places {
  std::vector<std::int64_t> of_sample;
  std::vector<int> hits;

  Places(const Trajectory& trajectory, std::array<int, 3> matrix_size)
      : of_sample(trajectory.sample_count()),
        hits(std::int64_t{matrix_size[0]} * matrix_size[1] * matrix_size[2]) {
    const std::int64_t sample_count = trajectory.sample_count();
    for (std::int64_t m = 0; m < sample_count; ++m) {
      std::int64_t at = 0;
      for (int axis = 2; axis >= 0; --axis) {
        const std::int64_t n = matrix_size[axis];
        const std::int64_t k = n == 1 ? 0 : std::llrint(trajectory.k[axis * sample_count + m]) % n;
        at = at * n + (k < 0 ? k + n : k);
      }
      of_sample[m] = at;
      ++hits[at];
    }
  }
};

}  // namespace

Array<double> cartesian_weights(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  const Places places(trajectory, matrix_size);
  Array<double> weights(Shape{trajectory.sample_count()});
  for (std::int64_t m = 0; m < weights.size(); ++m)
    weights[m] = 1.0 / (static_cast<double>(places.hits.size()) * places.hits[places.of_sample[m]]);
  return weights;
}

template <class T>
Array<Complex<T>> inverse_fft_images(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                     const Array<Complex<T>>& samples) {
  if (!is_cartesian(trajectory, matrix_size))
    throw Error(Field{"method", "fft"}, "a Cartesian scan, with every sample on an integer k-space position",
                "samples between the positions",
                "use " + option_words("method", "cg") + " or " + option_words("method", "gridded"));
  const std::int64_t sample_count = trajectory.sample_count();
  if (samples.shape().rank() != 2 || samples.extent(1) != sample_count)
    throw Error("samples", "[coil][" + std::to_string(sample_count) + "]", samples.shape().text());
  const std::int64_t coils = samples.extent(0), nx = matrix_size[0], ny = matrix_size[1], nz = matrix_size[2];
  const std::int64_t voxels = nx * ny * nz;

  const Places places(trajectory, matrix_size);
  Array<Complex<T>> images(Shape{coils, nz, ny, nx}), grid(Shape{nz, ny, nx});
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    grid.fill_zero();
    for (std::int64_t m = 0; m < sample_count; ++m)
      grid[places.of_sample[m]] += samples[coil * sample_count + m];
    for (std::int64_t p = 0; p < voxels; ++p)
      if (places.hits[p] > 0) grid[p] *= T(1) / static_cast<T>(places.hits[p] * voxels);
    fft_3d(grid, +1);
    // Element i of the periodic grid is the voxel n with n - floor(N/2) = i mod N.
    for (std::int64_t z = 0; z < nz; ++z)
      for (std::int64_t y = 0; y < ny; ++y)
        for (std::int64_t x = 0; x < nx; ++x) {
          const std::int64_t from =
              ((z + nz - nz / 2) % nz * ny + (y + ny - ny / 2) % ny) * nx + (x + nx - nx / 2) % nx;
          images[((coil * nz + z) * ny + y) * nx + x] = grid[from];
        }
  }
  return images;
}

template Array<Complex<float>> inverse_fft_images<float>(const Trajectory&, std::array<int, 3>,
                                                         const Array<Complex<float>>&);
template Array<Complex<double>> inverse_fft_images<double>(const Trajectory&, std::array<int, 3>,
                                                           const Array<Complex<double>>&);

}  // namespace fhd

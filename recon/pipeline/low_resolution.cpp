#include "recon/pipeline/low_resolution.hpp"

#include <algorithm>
#include <cmath>

#include "recon/array/execution.hpp"
#include "recon/array/linear_operator.hpp"

namespace fhd {
namespace {

/// Returns the values of maps [coil][z][y][x] at the voxels of a smaller matrix of the same FOV.
template <class Value>
Array<Value> smaller_maps(const Array<Value>& maps, const std::array<int, 3>& matrix) {
  const auto place = [](std::int64_t j, std::int64_t n, std::int64_t all) {
    return all / 2 + std::lround(static_cast<double>((j - n / 2) * all) / static_cast<double>(n));
  };
  const std::int64_t nx = matrix[0], ny = matrix[1], nz = matrix[2];
  Array<Value> small(Shape{maps.extent(0), nz, ny, nx});
  auto* to = small.data();
  for (std::int64_t coil = 0; coil < maps.extent(0); ++coil)
    for (std::int64_t z = 0; z < nz; ++z)
      for (std::int64_t y = 0; y < ny; ++y)
        for (std::int64_t x = 0; x < nx; ++x)
          *to++ = maps[((coil * maps.extent(1) + place(z, nz, maps.extent(1))) * maps.extent(2) +
                        place(y, ny, maps.extent(2))) *
                           maps.extent(3) +
                       place(x, nx, maps.extent(3))];
  return small;
}

}  // namespace

std::array<int, 3> low_resolution(std::array<int, 3> matrix_size, int most) {
  for (int& n : matrix_size) n = std::min(n, most);
  return matrix_size;
}

Scan at_low_resolution(const Scan& scan, const std::array<int, 3>& matrix_size,
                       const std::vector<std::int64_t>& samples) {
  Scan low;
  low.geometry = scan.geometry;
  low.geometry.matrix_size = matrix_size;
  low.trajectory.k = columns_of(scan.trajectory.k, samples);
  low.kspace.values = columns_of(scan.kspace.values, samples);
  if (scan.sensitivity_maps)
    low.sensitivity_maps.emplace().values = smaller_maps(scan.sensitivity_maps->values, matrix_size);
  const auto smaller = [&](const Array<float>& map) {
    const auto image = scan.geometry.image_shape();
    return smaller_maps(one_of(map, Shape{1, image[0], image[1], image[2]}, 0), matrix_size)
        .reshaped(low.geometry.image_shape());
  };
  if (scan.field_map) low.field_map = smaller(*scan.field_map);
  if (scan.decay_per_s) low.decay_per_s = smaller(*scan.decay_per_s);
  if (scan.second_decay)
    low.second_decay.emplace(
        SecondDecay{smaller(scan.second_decay->per_s), smaller(scan.second_decay->fraction)});
  if (scan.fields) {
    const auto& [functions, coefficients, axes, displacement_mm] = *scan.fields;
    low.fields.emplace(Fields{functions, columns_of(coefficients, samples), axes});
    if (!displacement_mm.empty()) low.fields->displacement_mm = smaller_maps(displacement_mm, matrix_size);
  }
  if (scan.sample_time_s) low.sample_time_s = columns_of(*scan.sample_time_s, samples);
  return low;
}

}  // namespace fhd

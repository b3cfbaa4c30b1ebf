#include "recon/encoding/exact_samples.hpp"

#include <numbers>

#include "recon/encoding/sense.hpp"
#include "recon/transform/direct/direct.hpp"

namespace fhd {
namespace {

/// S_c rho, [coil][z][y][x].
template <class T>
Array<Complex<T>> coil_images_of(const Array<Complex<T>>& image, const Scan& scan) {
  if (!scan.sensitivity_maps)
    return Array<Complex<T>>(image).reshaped({1, image.extent(0), image.extent(1), image.extent(2)});
  const auto maps = values_of<T>(*scan.sensitivity_maps);
  Array<Complex<T>> coil_images(maps.shape());
  apply_maps(image, maps, coil_images);
  return coil_images;
}

/// Voxels as points of four axes, x, y, z and omega / 2 pi, [axis][voxel]: k and time are those of the samples.
Array<double> voxel_points(const Scan& scan) {
  const auto [nx, ny, nz] = scan.geometry.matrix_size;
  const std::int64_t voxels = scan.geometry.voxel_count();
  Array<double> points({4, voxels});
  const auto omega = [&](std::int64_t p) {
    return scan.field_map_in_double.empty() ? static_cast<double>((*scan.field_map)[p])
                                            : scan.field_map_in_double[p];
  };
  std::int64_t p = 0;
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x, ++p) {
        points[p] = static_cast<double>(x - nx / 2) / nx;
        points[voxels + p] = static_cast<double>(y - ny / 2) / ny;
        points[2 * voxels + p] = static_cast<double>(z - nz / 2) / nz;
        points[3 * voxels + p] = omega(p) / (2 * std::numbers::pi);
      }
  return points;
}

Array<double> sample_points(const Scan& scan) {
  const auto& k = scan.trajectory.k;
  Array<double> points({4, k.extent(1)});
  std::copy(k.begin(), k.end(), points.begin());
  std::copy(scan.sample_time_s->begin(), scan.sample_time_s->end(), points.begin() + k.size());
  return points;
}

}  // namespace

template <class T>
Array<Complex<T>> exact_samples(const Array<Complex<T>>& image, const Scan& scan, Device device) {
  require_shape(image, scan.geometry.image_shape(), "image");
  auto coil_images = coil_images_of(image, scan);
  const std::int64_t coils = coil_images.extent(0);
  if (scan.field_map && scan.sample_time_s) {
    const auto values = std::move(coil_images).reshaped({coils, image.size()});
    return converted<Complex<T>>(general_sum(voxel_points(scan), sample_points(scan), -1, values));
  }
  const auto transform =
      make_direct_transform<T>(scan.trajectory, scan.geometry.matrix_size, device, {GpuSums::accurate});
  Array<Complex<T>> samples(transform->samples_shape(coils), device);
  transform->forward(coil_images.to(device), samples);
  return samples.to(Device::cpu());
}

template Array<Complex<float>> exact_samples(const Array<Complex<float>>&, const Scan&, Device);
template Array<Complex<double>> exact_samples(const Array<Complex<double>>&, const Scan&, Device);

}  // namespace fhd

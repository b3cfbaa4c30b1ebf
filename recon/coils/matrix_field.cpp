#include "recon/coils/matrix_field.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/coils/matrix_field_backends.hpp"

namespace fhd {

std::array<double, 3> neighbourhood_radius(const CalibrationRegion& region, double wanted) {
  std::array<double, 3> radius{};
  for (int axis = 0; axis < 3; ++axis)
    if (region.radius[axis] != 0) radius[axis] = std::min(wanted, std::max(1.0, 0.4 * region.radius[axis]));
  return radius;
}

std::vector<Complex<float>> axis_phases(int degree, int voxels) {
  std::vector<Complex<float>> phases;
  for (int difference = -degree; difference <= degree; ++difference)
    for (int n = 0; n < voxels; ++n) {
      const double angle = -2 * std::numbers::pi * difference * static_cast<double>(n - voxels / 2) /
                           static_cast<double>(voxels);
      phases.push_back(Complex<float>(Complex<double>(std::cos(angle), std::sin(angle))));
    }
  return phases;
}

FieldSlab::FieldSlab(std::int64_t coils, const std::array<int, 3>& terms,
                     const std::array<int, 3>& matrix_size) {
  const double pairs = static_cast<double>(coils * (coils + 1) / 2), rows = matrix_size[1],
               voxels = rows * matrix_size[0];
  bytes_of_plane = 8 * (pairs * terms[0] * (terms[1] + rows) + voxels * static_cast<double>(coils)) + voxels;
  constexpr double most_bytes = 96 << 20;
  planes =
      static_cast<int>(std::clamp(most_bytes / bytes_of_plane, 1.0, static_cast<double>(matrix_size[2])));
  scratch_bytes = EigenvectorWork(coils).most_scratch_bytes();
  field_bytes = 8 * (pairs * terms[0] * terms[1] * terms[2] + static_cast<double>(coils));
  for (std::size_t axis = 0; axis < 3; ++axis) field_bytes += 8.0 * terms[axis] * matrix_size[axis];
}

double eigenvector_device_bytes(std::int64_t coils, const std::array<int, 3>& terms,
                                const std::array<int, 3>& matrix_size) {
  const FieldSlab slab(coils, terms, matrix_size);
  return slab.field_bytes + slab.scratch_bytes + slab.planes * slab.bytes_of_plane;
}

void dominant_eigenvectors(const MatrixField& field, const EigenvectorRequest& request,
                           std::int64_t first_plane, Device device, Array<Complex<float>>& vectors) {
  const Shape& all = vectors.shape();
  require_shape(request.mask, {all[1], all[2], all[3]}, "mask of the maps");
  if (request.beside != nullptr) require_shape(*request.beside, all, "maps of the first set");
  if (device.is_cpu() || request.beside != nullptr)
    return dominant_eigenvectors_cpu(field, request, first_plane, vectors);
  if constexpr (built_with_cuda)
    return dominant_eigenvectors_cuda(field, request, first_plane, device, vectors);
  refuse_cuda();
}

}  // namespace fhd

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

void dominant_eigenvectors(const MatrixField& field, const EigenvectorRequest& request,
                           std::int64_t first_plane, Device device, Array<Complex<float>>& vectors) {
  if (device.is_cpu() || request.beside != nullptr)
    return dominant_eigenvectors_cpu(field, request, first_plane, vectors);
  if constexpr (built_with_cuda)
    return dominant_eigenvectors_cuda(field, request, first_plane, device, vectors);
  refuse_cuda();
}

}  // namespace fhd

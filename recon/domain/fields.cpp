#include "recon/domain/fields.hpp"

#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd {

double value_of(FieldFunction function, const std::array<double, 3>& position_m) {
  const auto [x, y, z] = position_m;
  const double r2 = x * x + y * y + z * z;
  switch (function) {
    case FieldFunction::one:
      return 1;
    case FieldFunction::x:
      return x;
    case FieldFunction::y:
      return y;
    case FieldFunction::z:
      return z;
    case FieldFunction::xy:
      return x * y;
    case FieldFunction::zy:
      return z * y;
    case FieldFunction::z2:
      return 3 * z * z - r2;
    case FieldFunction::xz:
      return x * z;
    case FieldFunction::x2_y2:
      return x * x - y * y;
    case FieldFunction::yx2:
      return 3 * y * x * x - y * y * y;
    case FieldFunction::xyz:
      return x * y * z;
    case FieldFunction::yz2:
      return (5 * z * z - r2) * y;
    case FieldFunction::z3:
      return 5 * z * z * z - 3 * z * r2;
    case FieldFunction::xz2:
      return (5 * z * z - r2) * x;
    case FieldFunction::zx2_zy2:
      return x * x * z - y * y * z;
    case FieldFunction::x3:
      return x * x * x - 3 * x * y * y;
    case FieldFunction::maxwell_z2:
      return z * z;
    case FieldFunction::maxwell_x2_y2:
      return x * x + y * y;
    case FieldFunction::maxwell_xz:
      return x * z;
    case FieldFunction::maxwell_yz:
      return y * z;
  }
  throw Error("field", "a function of the table", "another");
}

Array<double> positions_in_magnet_m(const Geometry& geometry, const Fields& fields) {
  for (int axis = 0; axis < 3; ++axis)
    if (geometry.matrix_size[axis] > 1 && !(geometry.fov_mm[axis] > 0))
      throw Error("field of view", "millimetres: the fields of the scan are functions of the position",
                  "unknown", "give it with " + option_words("fov-mm", "X,Y,Z"));
  const Affine to_lps = voxel_to_lps_mm(geometry);
  const auto [nx, ny, nz] = geometry.matrix_size;
  Array<double> positions(Shape{3, geometry.voxel_count()});
  std::int64_t voxel = 0;
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x, ++voxel) {
        std::array<double, 3> lps{};
        for (int row = 0; row < 3; ++row)
          lps[row] = to_lps[row][0] * x + to_lps[row][1] * y + to_lps[row][2] * z + to_lps[row][3];
        for (int axis = 0; axis < 3; ++axis) {
          const auto& direction = fields.axes[axis];
          positions.data()[axis * positions.extent(1) + voxel] =
              1e-3 * (direction[0] * lps[0] + direction[1] * lps[1] + direction[2] * lps[2]);
        }
      }
  return positions;
}

}  // namespace fhd

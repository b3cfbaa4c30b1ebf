#include "recon/array/work.hpp"

namespace fhd {
namespace {

/// Operations of a unit: a complex multiply-add with a phasor of which a share is made anew; FFTs count
/// 5 n log2 n; a kernel point multiplies and adds a complex number by a real one.
double operations_of(WorkUnit unit) {
  switch (unit) {
    case WorkUnit::adjoint_pair:
    case WorkUnit::forward_pair:
    case WorkUnit::map_voxel:
    case WorkUnit::mixed_value:
    case WorkUnit::eigenvalue:
      return 8;
    case WorkUnit::adjoint_row:
    case WorkUnit::forward_row:
    case WorkUnit::projection:
      return 16;
    case WorkUnit::spread_2d:
    case WorkUnit::spread_3d:
    case WorkUnit::interpolate_2d:
    case WorkUnit::interpolate_3d:
      return 4;
    case WorkUnit::fft_2d:
    case WorkUnit::fft_3d:
      return 1;
    default:
      return 0;
  }
}

double bytes_of(WorkUnit unit, Precision precision) {
  switch (unit) {
    case WorkUnit::touched_byte:
    case WorkUnit::transferred_byte:
      return 1;
    case WorkUnit::copied_byte:
      return 2;
    case WorkUnit::projection:
      return 2.0 * static_cast<double>(bytes_of_complex(precision));
    default:
      return 0;
  }
}

}  // namespace

double Work::operations() const {
  double sum = 0;
  for (const auto precision : {Precision::single_precision, Precision::double_precision})
    for (std::size_t unit = 0; unit < units; ++unit)
      sum += at(static_cast<WorkUnit>(unit), precision) * operations_of(static_cast<WorkUnit>(unit));
  return sum;
}

double Work::bytes() const {
  double sum = 0;
  for (const auto precision : {Precision::single_precision, Precision::double_precision})
    for (std::size_t unit = 0; unit < units; ++unit)
      sum += at(static_cast<WorkUnit>(unit), precision) * bytes_of(static_cast<WorkUnit>(unit), precision);
  return sum;
}

}  // namespace fhd

#include "recon/array/work.hpp"

namespace fhd {
namespace {

/// Operations of a unit: a complex multiply-add with a phasor of which a share is made anew; FFTs count
/// 5 n log2 n; a kernel point multiplies and adds a complex number by a real one.
double operations_of(WorkUnit unit) {
  using enum WorkUnit;
  constexpr struct {
    WorkUnit unit;
    double operations;
  } table[] = {{adjoint_pair, 8},   {forward_pair, 8},   {map_voxel, 8},   {mixed_value, 8}, {eigenvalue, 8},
               {adjoint_row, 16},   {forward_row, 16},   {adjoint_product, 4}, {forward_product, 4},   {projection, 16}, {spread_2d, 4},   {spread_3d, 4},
               {interpolate_2d, 4}, {interpolate_3d, 4}, {fft_2d, 1},      {fft_3d, 1}};
  for (const auto& row : table)
    if (row.unit == unit) return row.operations;
  return 0;
}

}  // namespace

double Work::operations() const {
  double sum = 0;
  for (const auto precision : {Precision::single_precision, Precision::double_precision})
    for (std::size_t unit = 0; unit < units; ++unit)
      sum += at(static_cast<WorkUnit>(unit), precision) * operations_of(static_cast<WorkUnit>(unit));
  return sum;
}

}  // namespace fhd

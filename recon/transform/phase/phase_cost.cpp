#include <omp.h>

#include <algorithm>

#include "recon/transform/phase/phase_backends.hpp"

namespace fhd {

std::int64_t phase_parts(std::int64_t targets, std::int64_t sources, Device device) {
  // A multiprocessor works on about 512 targets at a time; ten times as many leave little of it idle at the end.
  constexpr std::int64_t targets_wanted = 5120, most_parts = 64;
  const std::int64_t wanted = (targets_wanted * device::multiprocessor_count(device) + targets - 1) / targets,
                     most = std::min((sources + phase_part_unit - 1) / phase_part_unit, most_parts);
  return std::clamp<std::int64_t>(wanted, 1, most);
}

double PhaseCost::voxels() const {
  return static_cast<double>(sizes_.matrix_size[0]) * sizes_.matrix_size[1] * sizes_.matrix_size[2];
}

double PhaseCost::factor_bytes() const {
  return (voxels() + static_cast<double>(sizes_.samples.all)) * bytes_of_item_;
}

Work PhaseCost::forward(std::int64_t coils) const {
  // A pair of any phase takes as long as about 20 pairs of a sum on a grid on two cores, and one for each coil; on a GPU 4, and a
  // fifth for each coil.
  const double pairs = voxels() * static_cast<double>(sizes_.samples.all),
               of_grid = sizes_.device.is_cpu() ? 20.0 + static_cast<double>(coils)
                                                : 4 + 0.2 * static_cast<double>(coils);
  return Work(WorkUnit::pair, pairs * of_grid, sizes_.precision);
}

std::size_t PhaseCost::scratch_bytes(std::int64_t coils) const {
  const double element = static_cast<double>(bytes_of_complex(sizes_.precision));
  if (sizes_.device.is_cpu()) {
    const auto at_once = static_cast<double>(std::min(coils, phase_cpu_coils));
    return whole_bytes(omp_get_max_threads() * at_once * phase_cpu_bytes_of_coil(element));
  }
  const auto count = static_cast<std::int64_t>(voxels());
  const double at_once = static_cast<double>(std::min<std::int64_t>(coils, 32));
  const auto of = [&](std::int64_t targets, std::int64_t sources) {
    const auto parts = static_cast<double>(phase_parts(targets, sources, sizes_.device));
    // Values in two parts of half precision, for real and imaginary sums; partial sums.
    return at_once * (2 * element * static_cast<double>(sources) +
                      (parts > 1 ? parts * element * static_cast<double>(targets) : 0.0));
  };
  return whole_bytes(std::max(of(count, sizes_.samples.all), of(sizes_.samples.all, count)));
}

Work PhaseCost::point_spread() const {
  throw Error("phases", "a trajectory alone for a point spread", "terms of any form");
}

}  // namespace fhd

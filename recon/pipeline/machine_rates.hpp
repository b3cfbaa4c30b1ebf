#pragma once
// How fast a machine does each unit of work, measured on it with the functions that do the work: constants of
// another machine predict nothing here.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/device.hpp"
#include "recon/array/work.hpp"

namespace fhd {

/// Seconds for each unit of work of one backend; of a CPU, of one thread. Units that know no precision stand in
/// single precision.
struct MachineRates {
  std::array<std::array<double, Work::units>, 2> seconds_of_unit{};
  double speedup = 1;  ///< of all threads over one

  double& of(WorkUnit unit, Precision precision = Precision::single_precision) {
    return seconds_of_unit[static_cast<std::size_t>(precision)][static_cast<std::size_t>(unit)];
  }
  double of(WorkUnit unit, Precision precision = Precision::single_precision) const {
    return seconds_of_unit[static_cast<std::size_t>(precision)][static_cast<std::size_t>(unit)];
  }
  /// By all threads; starting them is no faster for being shared.
  double seconds(const Work& work) const;
  /// For files: every number under its name.
  std::vector<std::pair<std::string, double*>> fields();
};

/// Measured now, in about half a second on the CPU and two on a GPU. On the CPU one thread is measured, and how
/// much faster the OpenMP threads of this process are together: the smallest time of several repetitions, so
/// that what else the machine does disturbs little.
MachineRates measure_rates(Device device);
/// Of one H100 (validation/results), for a machine whose GPU is not at hand; what the CPU does there comes
/// from `cpu`.
MachineRates assumed_gpu_rates(const MachineRates& cpu);

}  // namespace fhd

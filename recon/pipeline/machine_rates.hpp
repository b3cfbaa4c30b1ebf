#pragma once
// How fast a machine does each unit of work: measured on it with the functions that do the work.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/device.hpp"
#include "recon/array/work.hpp"

namespace fhd {

/// Seconds of each unit of work, by all threads of the CPU or by one GPU.
struct MachineRates {
  std::array<std::array<double, Work::units>, 2> seconds_of_unit{};  ///< [precision][unit], undisturbed
  double slowdown = 1;  ///< times as long all work takes now, because other processes share the processor

  double& of(WorkUnit unit, Precision precision = Precision::single_precision) {
    return seconds_of_unit[static_cast<std::size_t>(precision)][static_cast<std::size_t>(unit)];
  }
  /// Returns the seconds of this work, as slow as the machine is now.
  double seconds(const Work& work) const;
  /// Returns every number with its name, for files.
  std::vector<std::pair<std::string, double*>> fields();
};

/// Measures a device, in about a tenth of a second: how long its own work takes and, on a CPU, how much longer other
/// processes make it.
MachineRates measure_rates(Device device);
/// Returns the rates of one H100 (validation/results), for a machine whose GPU is not at hand, or of some two cores: for decisions
/// that are the same on every machine.
MachineRates assumed_rates(Device device);

}  // namespace fhd

#pragma once
// The rates of this machine, measured once and cached on disk.
#include <optional>
#include <string>

#include "recon/pipeline/machine_rates.hpp"

namespace fhd::app {

/// Returns the rates of the CPU with the threads of this process, or of the selected GPU of that name: from the cache
/// ($XDG_CACHE_HOME/fhd, else ~/.cache/fhd), where a file of this processor, number of threads and program version is
/// valid; else measures them and tries to cache them.
MachineRates machine_rates(Device device, const std::string& gpu_name = {});
/// Returns the cached rates; empty where there are none.
std::optional<MachineRates> known_rates(Device device, const std::string& gpu_name = {});

}  // namespace fhd::app

#pragma once
// The rates of this machine, measured once and kept on disk.
#include <optional>
#include <string>

#include "recon/pipeline/machine_rates.hpp"

namespace fhd::app {

/// Rates of the CPU with the threads of this process, or of the selected GPU of that name. Taken from
/// $XDG_CACHE_HOME/fhd (else ~/.cache/fhd), where a file of this processor, number of threads and program
/// version is; else measured, in about a third of a second, and kept there. A file that is damaged or cannot
/// be written does no harm.
MachineRates machine_rates(Device device, const std::string& gpu_name = {});
/// The same, but never measured: empty when no earlier run has kept them.
std::optional<MachineRates> known_rates(Device device, const std::string& gpu_name = {});

}  // namespace fhd::app

#pragma once
// The time and memory of a reconstruction, all its images counted: `fhd plan` and `fhd check` print them in the same words.
#include <cstdint>
#include <optional>
#include <string>

#include "app/options/values.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/machine_rates.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {

/// Returns the memory of this machine; 0 where it does not say.
std::size_t machine_memory_bytes();
/// Returns the rates of the CPU with the threads of this process, measured once.
const MachineRates& cpu_rates();

/// Returns the sizes that the header of a scan tells.
ScanSizes header_sizes(const io::ScanSummary& summary);
/// Returns the sizes of the first selected volume that the scan has readouts of: its trajectory tells how much of the
/// direct sums is shared, its values whether the object reaches beyond the field of view. A large scan is not read; its
/// header tells the rest. Throws Error where the selection is not of this scan.
ScanSizes sizes_of(io::ScanFile& file, const Settings& settings, const VolumeSelection& selection = {});
/// Returns the settings of the gridded image that is made as well; empty where `settings` are not least squares.
std::optional<Settings> companion_settings(const Settings& settings);
/// Returns the number of images selected. Throws Error when the selection is not of this scan.
std::int64_t image_count(const io::ScanSummary& summary, const VolumeSelection& selection);

/// The bytes of an estimate, with room for its error of 25 %.
struct PlannedBytes {
  std::uint64_t host = 0, device = 0;
};
PlannedBytes planned_bytes(const Estimate& made);

/// "120.4 MiB", "1.53 GiB"
std::string memory_text(double bytes);
/// "0.532 s", "3.1 min", "2.4 h", "1.2 days"
std::string duration_text(double seconds);
/// "6 images: 12.3 s, 120.4 MiB"
std::string cost_text(std::int64_t images, double seconds, double bytes);

/// Returns the cost of `fhd recon SCAN` on the CPU with default settings, on a machine of `memory_bytes`.
ReconstructionCost default_cost(io::ScanFile& file, std::size_t memory_bytes);

}  // namespace fhd::app

#pragma once
// Plans the memory of a run in a batch, and writes its results and manifest.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/run/scan_run.hpp"
#include "io/result/manifest.hpp"

namespace fhd::app {

/// Returns how many bytes of host memory the run takes at most, until it is written.
std::uint64_t planned_host_bytes(const ScanRun& run);
/// Returns how many bytes of a GPU the run takes at most, where `available` can be had; 0 for the CPU.
std::uint64_t planned_device_bytes(const ScanRun& run, Device device, std::uint64_t available);

/// Throws Error where a file of the results `prefix` is there that is neither a product of `manifest` nor a result of this
/// scan, whatever its content was.
void require_replaceable_in_batch(const ScanRun& run, const std::string& prefix,
                                  const io::Manifest& manifest);
/// Writes the results, and adds what became of the run to its manifest.
void write_results(ScanRun& run, const std::string& prefix, io::Manifest& manifest);

}  // namespace fhd::app

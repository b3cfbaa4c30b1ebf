#pragma once
// What a reconstruction takes of a GPU, checked before it starts.
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/model.hpp"

namespace fhd {

/// The arrays on the device with the most coils at once that fit into `available_bytes`, which `how` is given (0:
/// all of them).
/// Throws DeviceError with the figure needed when not even one coil at a time fits.
MemoryLedger fit_device_memory(const ScanSizes& scan, EstimateSettings& how, std::size_t available_bytes);

/// Coils that a GPU takes together (0: all, on the CPU); the plan goes to the report.
std::int64_t planned_coils_at_once(const Scan& scan, const TransformSettings& transform,
                                   const std::optional<OffResonance>& off_resonance, const Context& context);

}  // namespace fhd

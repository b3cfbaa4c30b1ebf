#pragma once
// How much fits into the memory of a device, planned before the work.
#include <optional>

#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/model.hpp"

namespace fhd {

/// Returns the coils that a GPU takes together (0: all, on the CPU); the plan goes to the report.
std::int64_t planned_coils_at_once(const Scan& scan, const TransformSettings& transform,
                                   const std::optional<FieldModel>& fields, const Context& context);
/// Throws Error where the frames of a scan with its coils as prepared do not fit into the memory of their device.
void require_memory_of_frames(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                              const std::optional<FieldModel>& fields, const Context& context);
/// Returns the volumes of a series like `scan`, with its coils as prepared, that a GPU takes together; on the CPU one.
std::int64_t planned_volumes_at_once(const Scan& scan, const Context& context);
/// Returns the most that each of them takes there, in addition to what they share.
double device_bytes_of_volume(const Scan& scan, const Settings& settings, Device device);

}  // namespace fhd

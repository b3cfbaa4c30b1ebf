#include "recon/pipeline/device_memory.hpp"

#include <unistd.h>

#include <algorithm>

#include "recon/array/memory.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

/// Returns the bytes of which the estimate knows nothing: a second set of maps, coil images before and after the product
/// with all sets, and as many vectors of the solver and verifier again; the two arrays of a share of an image in which each
/// device of a group sums.
std::size_t unestimated_bytes(const Scan& scan, const Context& context) {
  constexpr double of_coils = 3, vectors = 16, of_sum = 2;
  const auto coils = static_cast<double>(scan.kspace.coil_count()),
             image = static_cast<double>(scan.geometry.voxel_count()) *
                     static_cast<double>(bytes_of_complex(context.settings.precision));
  return whole_bytes((scan.second_maps ? (of_coils * coils + vectors) * image : 0) +
                     (context.processes().is_shared() ? of_sum * image / context.processes().size() : 0));
}

/// Returns the sizes of a scan with its coils as prepared, as far as arrays on the device of each process depend on them.
ScanSizes sizes_as_prepared(const Scan& scan, const std::optional<FieldModel>& fields,
                            const ProcessGroup& processes) {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  sizes.samples.all = share_of(scan.trajectory.sample_count(), processes).size();
  sizes.coils = scan.kspace.coil_count();
  sizes.has_maps = scan.sensitivity_maps.has_value();
  if (fields) {
    sizes.has_field_map = sizes.has_sample_time = true;
    sizes.sums_exactly = fields->is_exact();
    sizes.time_segments = static_cast<int>(fields->factors.count());
    sizes.difference_segments = static_cast<int>(fields->differences.count());
  }
  return sizes;
}

EstimateSettings settings_as_prepared(const TransformSettings& transform, const Context& context) {
  EstimateSettings how{context.settings, context.device()};
  if (auto* solved = std::get_if<LeastSquares>(&how.settings.method)) solved->transform = transform;
  if (auto* adjoint = std::get_if<PlainAdjoint>(&how.settings.method)) adjoint->transform = transform;
  how.settings.coils = CoilSettings::as_they_are();
  return how;
}

}  // namespace

std::size_t fit_device_memory(const ScanSizes& scan, EstimateSettings& how, std::size_t available_bytes) {
  how.coils_at_once = 0;
  const Estimate whole = estimate(scan, how);
  std::size_t bytes = whole.device.peak_bytes();
  if (bytes <= available_bytes) return bytes;
  const bool in_parts = least_squares(how.settings) && whole.coil_decision.uses_maps();
  const auto fits = [&](std::int64_t coils) {
    how.coils_at_once = coils;
    bytes = estimate(scan, how).device.peak_bytes();
    return bytes <= available_bytes;
  };
  const std::int64_t coils = in_parts ? whole.coils : 1;
  how.coils_at_once = coils_at_once(coils, fits);
  if (how.coils_at_once == 0)
    throw DeviceError("GPU memory", mebibytes(bytes) + " for this scan and these settings",
                      mebibytes(available_bytes) + " available",
                      "use fewer coils, a smaller matrix, " + option_words("precision", "single") +
                          ", a larger GPU, or " + option_words("device", "cpu"));
  return bytes;
}

std::int64_t planned_coils_at_once(const Scan& scan, const TransformSettings& transform,
                                   const std::optional<FieldModel>& fields, const Context& context) {
  if (context.device().is_cpu()) return 0;
  // The plan includes what is cached from the scan before.
  device::reset_peak_memory(context.device());
  const auto use = device::memory_use(context.device());
  EstimateSettings how = settings_as_prepared(transform, context);
  how.settings.coils.maps = scan.sensitivity_maps ? CoilMaps::file : CoilMaps::none;
  how.companion = context.services.gridded_accuracy.has_value();
  const std::size_t unestimated = unestimated_bytes(scan, context), all = use.free_bytes + use.used_bytes;
  context.log.report.device_planned_bytes =
      unestimated + fit_device_memory(sizes_as_prepared(scan, fields, context.processes()), how,
                                      all - std::min(all, unestimated));
  if (scan.sensitivity_maps && least_squares(context.settings) && how.coils_at_once > 0 &&
      how.coils_at_once < scan.kspace.coil_count())
    context.log.note("memory", "GPU memory: " + std::to_string(how.coils_at_once) + " of " +
                                   std::to_string(scan.kspace.coil_count()) + " coils at a time");
  return how.coils_at_once;
}

void require_memory_of_frames(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                              const std::optional<FieldModel>& fields, const Context& context) {
  const Device device = context.device();
  EstimateSettings how = settings_as_prepared(transform, context);
  how.frames = sizes_of(layout);
  how.images = 0;  // files are written later
  const Estimate made = estimate(sizes_as_prepared(scan, fields, SingleProcess()), how);
  const std::size_t needed = (device.is_cpu() ? made.host : made.device).peak_bytes();
  std::size_t available = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (device.is_cuda()) {
    const auto use = device::memory_use(device);
    available = use.free_bytes + use.used_bytes;
  }
  if (needed <= available) return;
  const std::string found = mebibytes(available) + " available",
                    expected = mebibytes(needed) + " for " + std::to_string(layout.frames) + " frames",
                    remedy = "use fewer frames, a smaller matrix, fewer coils or " +
                             option_words("precision", "single");
  if (device.is_cpu()) throw Error("memory", expected, found, remedy);
  throw DeviceError("GPU memory", expected, found, remedy + ", or " + option_words("device", "cpu"));
}

double device_bytes_of_volume(const Scan& scan, const Settings& settings, Device device) {
  const auto element = static_cast<double>(bytes_of_complex(settings.precision)),
             voxels = static_cast<double>(scan.geometry.voxel_count()),
             coils = static_cast<double>(scan.kspace.coil_count()),
             samples = static_cast<double>(scan.trajectory.sample_count());
  const auto* method = least_squares(settings);
  // Vectors of the solver and of the verifier, coil images, samples as measured and as predicted.
  return (method ? conjugate_gradient_bytes(voxels, {.iterations = method->iterations}, settings.precision,
                                            device, 1, uses_preconditioner(*method, false))
                 : 0) +
         (4 * voxels + 3 * voxels * coils + 3 * samples * coils) * element;
}

std::int64_t planned_volumes_at_once(const Scan& scan, const Context& context) {
  if (context.device().is_cpu()) return 1;
  constexpr std::int64_t most = 16;
  const auto free = static_cast<double>(device::memory_use(context.device()).free_bytes);
  const double of_volume = device_bytes_of_volume(scan, context.settings, context.device());
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes_of_volumes_together(free) / of_volume), 1,
                                  most);
}

}  // namespace fhd

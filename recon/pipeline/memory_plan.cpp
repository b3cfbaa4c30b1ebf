#include "recon/pipeline/memory_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "recon/error.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/gridded/gridded_cuda.hpp"
#include "recon/transform/toeplitz/toeplitz_cuda.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

using Step = MemoryPlan::Step;

std::string mebibytes(std::size_t bytes) { return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB"; }

MemoryPlan plan_with(const MemoryDemand& demand, const Settings& settings, std::int64_t coils_at_once) {
  const std::size_t element = settings.precision == Precision::single_precision ? 8 : 16;
  const auto& n = demand.matrix_size;
  const auto grid = difference_grid(n);
  const ToeplitzExtents extents({n[0], n[1], n[2]}, {grid[0], grid[1], grid[2]});
  const auto voxels = static_cast<std::size_t>(std::int64_t{n[0]} * n[1] * n[2]);
  const auto points = static_cast<std::size_t>(extents.grid());
  const auto samples = static_cast<std::size_t>(demand.samples),
             coils = static_cast<std::size_t>(demand.coils),
             together = static_cast<std::size_t>(coils_at_once);

  MemoryPlan plan;
  plan.coils_at_once = coils_at_once;
  const auto add = [&](const char* what, std::size_t bytes, Step first = Step::copy,
                       Step last = Step::residual) {
    if (bytes > 0) plan.items.push_back({what, bytes, first, last});
  };
  // Positions of the samples, and their k in double while these are made; tiles and partial sums.
  constexpr std::size_t direct_tiles = std::size_t{32} << 20;
  // The oversampled grid is at most 2.2 times the image on each axis. Grids and rows of partial sums of the
  // coils side by side take some ten times that, below a bound; then FFT work areas, sorted samples and
  // tables.
  const auto gridding = [&](std::size_t image_points, std::size_t images) {
    std::size_t cells = image_points * element;
    for (int size : n)
      if (size > 1) cells = cells * 11 / 5;
    return std::max(2 * cells, std::min(16 * cells * images, default_gridding_bytes)) + cells +
           samples * 128 + (std::size_t{8} << 20);
  };
  const bool direct = demand.transform == TransformKind::direct;
  const auto transform_bytes = [&](std::size_t image_points, std::size_t images) {
    return direct ? samples * (24 + 2 * element) + direct_tiles : gridding(image_points, images);
  };

  add("k-space data", samples * coils * element);
  if (settings.method != Method::cg) {
    add("coil images", voxels * coils * element);
    add("sensitivity maps", demand.has_maps ? voxels * coils * element : 0);
    add("image", voxels * element);
    add("transform", transform_bytes(voxels, coils));
    return plan;
  }
  const std::size_t channels = demand.has_maps ? coils : 1;  // solved together
  add("sensitivity maps", voxels * channels * element);
  add("coil images", voxels * together * element);
  if (together < channels)
    add("maps and data of a part of the coils", (voxels * (together + 1) + samples * together) * element);
  if (!demand.has_maps) add("images of all coils", voxels * (coils + 1) * element);
  add("transform", transform_bytes(voxels, together));
  if (settings.normal == NormalKind::toeplitz) {
    add("Q", points * element);
    add("half of Q and its transform", points / 2 * element + transform_bytes(points, 1) + samples * element,
        Step::q, Step::q);
    add("sensitivity maps of the Toeplitz operator", voxels * channels * element, Step::transfer);
    add("transfer function", points * element / 2, Step::transfer);
    const std::int64_t padded_together =
        extents.flat() ? coils_at_once : std::min(coils_at_once, ToeplitzBatch::most_coils_3d);
    add("padded grids", static_cast<std::size_t>(padded_together * extents.coil()) * element, Step::transfer);
    // A group of columns and cuFFT's work area: at most the grid each.
    add("FFT work areas", 2 * points * element, Step::transfer);
  } else {
    add("predicted data of the explicit product", samples * channels * element, Step::transfer);
  }
  const auto kept =
      static_cast<std::size_t>(std::min(settings.iterations, ConjugateGradientSettings{}.kept_residuals));
  if (demand.time_segments > 0) {
    // Maps and coil images of every segment of E, weights on the host; maps, transfer function and grids of
    // every segment of E^H E.
    const auto segments = static_cast<std::size_t>(demand.time_segments - 1);
    add("time segments of the encoding", segments * voxels * (channels + together) * element, Step::q);
    const auto terms = static_cast<std::size_t>(std::max(demand.difference_segments, 1) - 1);
    add("time segments of the Toeplitz operator",
        terms * (voxels * channels + points / 2 + static_cast<std::size_t>(extents.coil()) + 2 * points) *
            element,
        Step::transfer);
  }
  if (settings.prior) add("weights of the prior", voxels * 3 * element / 2, Step::transfer);
  add("image and products", voxels * 3 * element, Step::transfer);
  add("images of the solver", voxels * 3 * element, Step::transfer, Step::solve);
  add("residuals of the solver", voxels * kept * element + kept * 529 * 16, Step::solve, Step::solve);
  add("predicted data", samples * channels * element, Step::residual);
  if (direct && predicts_by_gridding(settings))
    add("gridding of the data residual", gridding(voxels, together), Step::residual);
  return plan;
}

}  // namespace

std::size_t MemoryPlan::peak_bytes() const {
  std::size_t peak = 0;
  for (const Step step : {Step::read, Step::prepare, Step::copy, Step::q, Step::transfer, Step::solve,
                          Step::residual, Step::gridded}) {
    std::size_t sum = 0;
    for (const auto& item : items)
      if (item.first <= step && step <= item.last && __builtin_add_overflow(sum, item.bytes, &sum))
        return std::numeric_limits<std::size_t>::max();
    peak = std::max(peak, sum);
  }
  return peak;
}

MemoryPlan plan_device_memory(const MemoryDemand& demand, const Settings& settings,
                              std::size_t available_bytes) {
  const std::int64_t most = settings.method == Method::cg && !demand.has_maps ? 1 : demand.coils;
  for (std::int64_t coils = most;; --coils) {
    if (most % coils != 0) continue;
    MemoryPlan plan = plan_with(demand, settings, coils);
    const std::size_t needed = plan.peak_bytes();
    if (needed <= available_bytes) return plan;
    if (coils == 1 || settings.method != Method::cg)
      throw DeviceError(
          "GPU memory", mebibytes(needed) + " for this scan and these settings",
          mebibytes(available_bytes) + " available",
          "use fewer coils, a smaller matrix, --precision single, a larger GPU, or --device cpu");
  }
}

}  // namespace fhd

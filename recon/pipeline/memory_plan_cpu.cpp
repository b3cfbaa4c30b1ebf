// The host's side of memory_plan.hpp. Arrays are counted where reconstruct.cpp and what it calls make them.
#include <algorithm>
#include <cmath>

#include "recon/pipeline/memory_plan.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

constexpr double mebibyte = 1 << 20;

MemoryPlan plan_arrays(const Workload& work, const Settings& settings, const Settings* gridded) {
  using Step = MemoryPlan::Step;
  const ScanSizes& scan = work.scan;
  const double element = settings.precision == Precision::single_precision ? 8 : 16, voxels = scan.voxels(),
               samples = static_cast<double>(scan.samples), all = static_cast<double>(scan.coils),
               coils = static_cast<double>(work.coils);
  const auto& n = scan.matrix_size;
  const bool volume = n[2] > 1;

  MemoryPlan plan;
  plan.coils_at_once = work.coils;
  const auto add = [&](const char* what, double bytes, Step first, Step last = Step::residual) {
    constexpr double most = 9.2e18;  // below 2^63
    if (bytes >= 1)
      plan.items.push_back({what, static_cast<std::size_t>(std::min(bytes, most)), first, last});
  };
  // Measured as the peak of a run on a scan of a few kilobytes: code and tables of the program and of HDF5,
  // FFTW and NIfTI. OpenBLAS is there when maps are sought or coils mixed.
  add("program and libraries", 27 * mebibyte, Step::read, Step::gridded);
  if (work.whitens || work.compresses || work.estimates_maps)
    add("OpenBLAS and its buffers", 14 * mebibyte, Step::prepare, Step::gridded);

  add("k-space data as read", samples * all * 8, Step::read, Step::gridded);
  add("trajectory as read", samples * 24, Step::read, Step::gridded);
  add("trajectory in the order of the file", samples * 24, Step::read, Step::read);
  if (scan.has_maps) add("sensitivity maps as read", voxels * all * 8, Step::read, Step::gridded);
  add("noise readouts", static_cast<double>(scan.noise_samples) * all * 8, Step::read, Step::gridded);
  if (scan.has_field_map) add("field map", voxels * 4, Step::read, Step::gridded);
  if (scan.has_sample_time) add("sample times", samples * 8, Step::read, Step::gridded);

  // --- Coils
  if (work.copies_scan) {
    const double kept_maps = scan.has_maps && !work.estimates_maps && work.uses_maps ? voxels : 0;
    add("scan after the preparation of its coils",
        samples * (coils * 8 + 24) + (kept_maps + static_cast<double>(scan.noise_samples)) * coils * 8,
        Step::prepare, Step::gridded);
    if (work.whitens || work.compresses)
      add("coils before mixing", (samples + kept_maps) * all * 8, Step::prepare, Step::prepare);
  }
  if (work.estimates_maps) {
    add("sensitivity maps found", voxels * coils * 8, Step::prepare, Step::gridded);
    // The calibration region: its samples with a weighted copy, grids and images of the coils, then the
    // neighbourhoods of k-space with matrices of their size for LAPACK.
    const bool in_planes = n[2] < 10;
    const double small = volume ? 32 : 40, share = std::min(1.0, small / n[0]);
    const double region = small * small * (volume ? std::min<double>(small, n[2]) : 1);
    const double count = coils * (in_planes ? 29 : 81), blocks = in_planes ? 550 : 3600;
    add("calibration",
        share * samples * (64 + 16 * coils) + region * coils * 8 * (volume ? 10 : 6) +
            region * (volume ? 64 : 16) * 8,
        Step::prepare, Step::prepare);
    if (settings.coils.maps != CoilMaps::adaptive)
      add("neighbourhoods of k-space", count * (blocks + 5 * count) * 8, Step::prepare, Step::prepare);
    add("eigenvalues and mask", voxels * 5, Step::prepare, Step::prepare);
  }

  // --- What every method takes
  const bool direct = work.transform == TransformKind::direct;
  add("trajectory of the transform", samples * (direct ? 48 : 24), Step::copy, Step::gridded);
  add("k-space data", samples * coils * element, Step::copy);
  if (work.uses_maps) add("sensitivity maps", voxels * coils * element, Step::copy);
  // Points of an oversampled grid of the image, or of the difference grid; see oversampling_for in
  // gridded_cpu.cpp.
  const auto grid_points = [&](double sizes, double accuracy) {
    double twofold = 1, smaller = 1;
    for (const int size : n)
      if (size > 1) {
        twofold *= 2 * sizes * size;
        smaller *= (accuracy >= 1e-4 ? 1.25 : 1.5) * sizes * size;
      }
    constexpr double large_grid = 1 << 25;
    return twofold <= large_grid ? twofold : smaller;
  };
  const double sorted = samples * (16 + 1.5 * element);
  const auto together = [](double count, double bytes_of_one, double most) {
    return bytes_of_one * std::clamp(std::floor(most / bytes_of_one), 1.0, count);
  };
  // Sums of the direct transform, or oversampled grids, of the coils that are transformed together.
  const auto scratch = [&](double count) {
    return direct ? together(std::min(count, 64.0), voxels * element, 1 << 28) + samples * element
                  : together(count, grid_points(1, settings.accuracy) * element, 1 << 29);
  };
  if (settings.method != Method::cg) {
    add("coil images", voxels * coils * element * (settings.method == Method::fft ? 2 : 1), Step::solve);
    if (settings.method != Method::fft) {
      add("transform", scratch(coils), Step::solve);
      if (!direct) add("sorted samples", 2 * sorted, Step::solve);
    }
    add("image", voxels * (element + 8), Step::solve);
    return plan;
  }

  // --- Conjugate gradient
  double points = 1;  // of the difference grid
  for (const int size : n) points *= size == 1 ? 1 : 2.0 * size;
  const double channels = work.uses_maps ? coils : 1;
  if (!work.uses_maps) add("images of all coils", voxels * coils * element, Step::transfer);
  add("coil images", voxels * channels * element, Step::copy);
  if (!direct) {
    add("sorted samples", sorted, Step::copy, Step::gridded);
    add("oversampled grids", scratch(channels), Step::solve, Step::gridded);
  }
  if (settings.normal == NormalKind::toeplitz) {
    const double terms = std::max(1, work.difference_segments);
    add("Q", points * element, Step::q, work.time_segments > 0 ? Step::transfer : Step::gridded);
    add("Q in the making",
        direct ? (points + samples) * element
               : (grid_points(2, settings.accuracy) + points + samples) * element + 2 * sorted + samples * 24,
        Step::q, Step::q);
    add("FFT of Q", points * element, Step::transfer, Step::transfer);
    const double padded = n[1] > 1 ? points / 2 : points;
    add("transfer function and padded coil", terms * (points / 2 + padded) * element, Step::transfer);
    add("sensitivity maps of the Toeplitz operator", terms * voxels * channels * element, Step::transfer);
  } else {
    add("predicted data of the explicit product", samples * channels * element, Step::transfer);
  }
  if (work.time_segments > 0)
    add("time segments of the encoding",
        (2.0 * work.time_segments - 1) * voxels * channels * element +
            (work.time_segments + work.difference_segments) * samples * 16 + 4 * samples * channels * element,
        Step::q);
  if (settings.prior)
    add("prior image and its weights",
        static_cast<double>(settings.prior->values.size()) * 4 + voxels * (4 + 1.5 * element), Step::copy);
  const double kept = std::min(settings.iterations, ConjugateGradientSettings{}.kept_residuals);
  add("images of the solver", voxels * 5 * element, Step::solve);
  add("residuals of the solver", voxels * kept * element, Step::solve, Step::solve);
  add("predicted data", samples * channels * element, Step::residual);
  if (direct && predicts_by_gridding(settings))
    add("gridding of the data residual",
        sorted + together(channels, grid_points(1, prediction_accuracy) * element, 1 << 29), Step::residual);
  else if (direct)
    add("sums of the transform", scratch(channels), Step::residual);
  if (settings.verifier)
    add("input of the certificate", (samples * channels + 2 * voxels) * element, Step::residual);
  if (gridded != nullptr) {
    // Image and Q of the reconstruction are still there; the coils and maps are the same.
    if (work.uses_maps)
      add("sensitivity maps of the gridded image", voxels * coils * element, Step::gridded, Step::gridded);
    add("gridded image",
        samples * (coils * element + 24 + 8) + 2 * sorted + voxels * (coils + 3) * element +
            together(coils, grid_points(1, gridded->accuracy) * element, 1 << 29),
        Step::gridded, Step::gridded);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_host_memory(const Workload& work, const Settings& settings, const Settings* gridded) {
  MemoryPlan plan = plan_arrays(work, settings, gridded);
  // Smaller arrays go back to the C library, which keeps them between others that are still in use: 5 ... 25
  // % of the arrays of 2D scans, and no more of larger ones.
  const double kept =
      std::min(0.15 * (static_cast<double>(plan.peak_bytes()) - 27 * mebibyte), 12 * mebibyte);
  plan.items.push_back({"freed, and kept by the C library", static_cast<std::size_t>(std::max(kept, 0.0)),
                        MemoryPlan::Step::read, MemoryPlan::Step::gridded});
  return plan;
}

}  // namespace fhd

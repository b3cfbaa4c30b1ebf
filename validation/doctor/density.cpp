// Checks whether enough of k-space is sampled.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "recon/domain/option_words.hpp"
#include "recon/pipeline/decisions.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd {
namespace {

constexpr std::uint8_t sampled = 1, between = 2;

/// Returns the first and the last sampled cell of a line, and how many are sampled; -1, -1, 0 if none is.
struct SampledRun {
  std::int64_t first = -1, last = -1, count = 0;
};
SampledRun sampled_run(const std::vector<std::uint8_t>& grid, std::int64_t begin, std::int64_t stride,
                       std::int64_t cells) {
  SampledRun run;
  for (std::int64_t i = 0; i < cells; ++i)
    if (grid[static_cast<std::size_t>(begin + i * stride)] & sampled) {
      if (run.first < 0) run.first = i;
      run.last = i;
      ++run.count;
    }
  return run;
}

}  // namespace

std::optional<SamplingDensity> sampling_density(const Trajectory& trajectory,
                                                std::array<int, 3> matrix_size) {
  // One cell for each integer k from -floor(N/2) - 1 to floor(N/2) + 1.
  std::array<std::int64_t, 3> cells{};
  for (int axis = 0; axis < 3; ++axis)
    cells[axis] = matrix_size[axis] == 1 ? 1 : 2 * (matrix_size[axis] / 2 + 1) + 1;
  const std::int64_t total = cells[0] * cells[1] * cells[2];
  if (total > (std::int64_t{1} << 30)) return std::nullopt;
  std::vector<std::uint8_t> grid(static_cast<std::size_t>(total));
  const auto samples = trajectory.sample_count();
  for (std::int64_t m = 0; m < samples; ++m) {
    std::int64_t at = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const std::int64_t half = cells[axis] / 2;
      const auto cell = cells[axis] == 1 ? 0 : std::llround(trajectory.k[axis * samples + m]) + half;
      at = at * cells[axis] + std::clamp<std::int64_t>(cell, 0, cells[axis] - 1);
    }
    grid[static_cast<std::size_t>(at)] = sampled;
  }
  SamplingDensity density;
  std::int64_t stride = 1;
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t span = 0, steps = 0;
    for (std::int64_t line = 0; line < total / cells[axis] && cells[axis] > 1; ++line) {
      const std::int64_t begin = line / stride * stride * cells[axis] + line % stride;
      const auto [first, last, count] = sampled_run(grid, begin, stride, cells[axis]);
      if (count < 2) continue;
      span += last - first;
      steps += count - 1;
      for (std::int64_t i = first; i <= last; ++i)
        grid[static_cast<std::size_t>(begin + i * stride)] |= between;
    }
    if (steps > 0) density.spacing[axis] = static_cast<double>(span) / static_cast<double>(steps);
    stride *= cells[axis];
  }
  const auto touched = std::count_if(grid.begin(), grid.end(), [](auto c) { return c != 0; });
  const auto visited = std::count_if(grid.begin(), grid.end(), [](auto c) { return (c & sampled) != 0; });
  if (visited > 0) density.undersampling = static_cast<double>(touched) / static_cast<double>(visited);
  return density;
}

}  // namespace fhd

namespace fhd::doctor {
namespace {

/// Returns how many positions differ, to 1e-5 cycles/FOV. A table of 64-bit hashes takes a tenth of the time of a sort.
std::int64_t distinct_positions(const Scan& scan) {
  const auto samples = scan.kspace.sample_count();
  std::vector<std::uint64_t> table(std::bit_ceil(2 * static_cast<std::size_t>(samples) + 1));
  const std::size_t mask = table.size() - 1;
  std::int64_t distinct = 0;
  for (std::int64_t m = 0; m < samples; ++m) {
    std::uint64_t hash = 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (scan.geometry.matrix_size[axis] == 1) continue;
      hash ^= static_cast<std::uint64_t>(std::llround(scan.trajectory.k[axis * samples + m] * 1e5));
      hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    if (hash == 0) hash = 1;  // 0: an empty place
    std::size_t at = hash & mask;
    while (table[at] != 0 && table[at] != hash) at = (at + 1) & mask;
    distinct += table[at] == 0;
    table[at] = hash;
  }
  return distinct;
}

/// Counts positions that occur again, beyond one (the centre of k-space) for each readout.
void check_repeated_positions(const Scan& scan, std::int64_t readout_length, Findings& findings) {
  const auto samples = scan.kspace.sample_count();
  const auto distinct = distinct_positions(scan);
  const auto readouts = readout_length > 0 ? samples / readout_length : 0;
  const auto repeated = samples - distinct;
  if (distinct == 1 && samples > 1)
    findings.add(Severity::problem, "trajectory", "All samples lie at one k-space position.",
                 "write the true trajectory into the file");
  else if (repeated > readouts + samples / 10)
    findings.add(
        Severity::note, "trajectory",
        fmt::format("{} of {} samples lie where another one does; they are averaged.", repeated, samples));
}

/// Adds a warning for a regular lattice that nothing unfolds.
void check_folding(const Scan& scan, Findings& findings) {
  const auto lattice = lattice_sampling(scan.trajectory, scan.geometry.matrix_size);
  const auto coils = scan.kspace.coil_count();
  const bool has_maps = scan.sensitivity_maps.has_value();
  const FoldingFacts facts{lattice, coils, has_maps || coils > 1, !has_maps, scan.calibration.has_value()};
  if (decide_folding(facts, Settings{}) != Folding::refused) return;
  findings.add(
      Severity::problem, "density",
      fmt::format(
          "One in {} places of a Cartesian k-space is sampled, and nothing tells the folded copies of the "
          "image "
          "apart: {} coil{} without maps, without calibration readouts, with {} line{} without gaps at the "
          "centre.",
          lattice.reduction, coils, plural(coils), lattice.reference_width, plural(lattice.reference_width)),
      "keep the calibration readouts in the file, or supply maps; " + flag_words("allow-folding") +
          " shows the folded image");
}

}  // namespace

void check_density(const Scan& scan, std::int64_t readout_length, Findings& findings) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  const auto voxels = scan.geometry.voxel_count();
  if (samples * coils < voxels)
    findings.add(
        Severity::warning, "density",
        fmt::format(
            "{} voxels are sought from {} samples of {} coil{}: fewer values than unknowns, so lambda "
            "decides what the data leave open.",
            voxels, samples, coils, plural(coils)),
        "a smaller " + option_words("matrix") + ", a larger " + option_words("lambda") + ", or " +
            option_words("regularizer", "roughness"));
  const auto density = sampling_density(scan.trajectory, scan.geometry.matrix_size);
  if (!density) return;
  std::vector<std::string> spacings;
  for (int axis = 0; axis < 3; ++axis)
    if (scan.geometry.matrix_size[axis] > 1)
      spacings.push_back(fmt::format("{:.2f} along {}", density->spacing[axis], axis_names[axis]));
  const auto text =
      fmt::format("one of {:.2f} cells of 1 cycle/FOV has a sample; mean distance of these cells {}",
                  density->undersampling, fmt::join(spacings, ", "));
  // Rounding to cells leaves a few holes in k-space that is fully sampled.
  if (density->undersampling < 1.3)
    findings.add(Severity::ok, "density", "k-space is sampled without gaps: " + text + ".");
  else if (density->undersampling <= static_cast<double>(coils))
    findings.add(Severity::note, "density",
                 "k-space is undersampled: " + text + ". Sensitivity maps and lambda fill the gaps.");
  else
    findings.add(Severity::warning, "density",
                 fmt::format("k-space is undersampled more than {} coil{} can unfold: {}.", coils,
                             plural(coils), text),
                 "expect streaks or aliases; " + option_words("regularizer", "roughness") + ", " +
                     option_words("prior") + " or a smaller " + option_words("matrix") + " helps");
  check_repeated_positions(scan, readout_length, findings);
  check_folding(scan, findings);
}

}  // namespace fhd::doctor

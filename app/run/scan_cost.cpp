#include "app/run/scan_cost.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "io/scan/scan_parts.hpp"
#include "validation/certificate.hpp"

namespace fhd::app {
std::size_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
}

const MachineRates& cpu_rates() {
  static const MachineRates rates = measure_rates(Device::cpu());
  return rates;
}

ScanSizes header_sizes(const io::ScanSummary& summary) {
  ScanSizes sizes;
  sizes.matrix_size = summary.geometry.matrix_size;
  sizes.samples.all = summary.samples_per_scan;
  sizes.coils = summary.coil_count;
  sizes.readout_length = summary.readout_length;
  sizes.has_maps = summary.has_sensitivity_maps;
  sizes.has_field_map = summary.has_field_map;
  sizes.has_sample_time = summary.has_sample_time;
  return sizes;
}

/// Returns the first selected volume that is not missing; the first one where all are.
static Scan first_volume(io::ScanFile& file, const VolumeSelection& selection) {
  const auto& summary = file.summary();
  const auto slices = parse_selection(selection.slices, summary.slice_count, "--slices"),
             repetitions = parse_selection(selection.repetitions, summary.repetition_count, "--repetitions");
  for (const auto slice : slices)
    for (const auto repetition : repetitions)
      if (Scan volume = file.read(slice, repetition);
          !holds(volume.messages, io::missing_volume, Severity::warning))
        return volume;
  return file.read(slices.front(), repetitions.front());
}

ScanSizes sizes_of(io::ScanFile& file, const Settings& settings, const VolumeSelection& selection) {
  const io::ScanSummary& summary = file.summary();
  ScanSizes sizes = header_sizes(summary);
  constexpr double most_values = 1 << 27;  // a GiB
  if (static_cast<double>(summary.samples_per_scan) * static_cast<double>(summary.coil_count) <= most_values)
    sizes = sizes_of(first_volume(file, selection), settings);
  sizes.readout_length = summary.readout_length;
  return sizes;
}

std::optional<Settings> companion_settings(const Settings& settings) {
  const auto* solved = least_squares(settings);
  if (solved == nullptr) return std::nullopt;
  return Settings{ConventionalGridding{std::max(solved->transform.accuracy, 1e-4)}, settings.precision,
                  CoilSettings::as_they_are()};
}

std::int64_t image_count(const io::ScanSummary& summary, const VolumeSelection& selection) {
  return selected_count(selection.slices, summary.slice_count, "--slices") *
         selected_count(selection.repetitions, summary.repetition_count, "--repetitions");
}

PlannedBytes planned_bytes(const Estimate& made) {
  constexpr double margin = 1.25;
  const auto planned = [](const MemoryLedger& memory) {
    return static_cast<std::uint64_t>(std::min(margin * static_cast<double>(memory.peak_bytes()), 9e18));
  };
  return {planned(made.host), planned(made.device)};
}

std::string memory_text(double bytes) {
  constexpr double mebibyte = 1 << 20, gibibyte = 1 << 30;
  return bytes < gibibyte ? fmt::format("{:.1f} MiB", bytes / mebibyte)
                          : fmt::format("{:.2f} GiB", bytes / gibibyte);
}

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return seconds < 172800 ? fmt::format("{:.1f} h", seconds / 3600)
                          : fmt::format("{:.3g} days", seconds / 86400);
}

std::string cost_text(std::int64_t images, double seconds, double bytes) {
  return fmt::format("{} image{}: {}, {}", images, images == 1 ? "" : "s", duration_text(seconds),
                     memory_text(bytes));
}

ReconstructionCost default_cost(io::ScanFile& file, std::size_t memory_bytes) {
  const auto verifier = validation::make_verifier();
  EstimateSettings how;
  how.verifier = verifier.get();
  how.companion = true;
  how.images = image_count(file.summary(), {});
  const ScanSizes sizes = sizes_of(file, how.settings);
  const MachineRates& rates = cpu_rates();
  const auto bytes = static_cast<double>(estimate(sizes, how).host.peak_bytes());
  return {bytes, cost_text(how.images, predict(sizes, how, rates, rates).seconds_of_all(), bytes),
          memory_text(static_cast<double>(memory_bytes))};
}

}  // namespace fhd::app

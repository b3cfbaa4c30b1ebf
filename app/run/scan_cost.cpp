#include "app/run/scan_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/options/devices.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/json_text.hpp"
#include "validation/certificate.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the file of the rates; empty where there is no folder for it. Whatever is not a letter or digit becomes '-'.
std::string path_of(Device device, const std::string& gpu_name) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::string path;
  if (cache != nullptr && cache[0] == '/')
    path = std::string(cache) + "/fhd/rates-";
  else if (home != nullptr && home[0] == '/')
    path = std::string(home) + "/.cache/fhd/rates-";
  else
    return {};
  std::string machine;
  for (const auto& [what, value] : host_environment()) machine += value + "-";
  if (device.is_cuda()) machine += gpu_name + "-";
  for (char& c : machine)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  return path + machine.substr(0, 160) + program_version + ".json";
}

/// Returns the cached rates; empty where there are none.
std::optional<MachineRates> known_rates(Device device, const std::string& gpu_name) {
  constexpr std::size_t longest = std::size_t{1} << 16;
  const auto text = io::text_of_file(path_of(device, gpu_name), longest);
  const Json json = text ? io::flat_json(*text) : Json();
  MachineRates rates;
  for (const auto& [name, value] : rates.fields()) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    if (found == json.end() || !found->is_number()) return {};
    *value = found->get<double>();
    if (!(*value >= 0 && *value < 4096)) return {};
  }
  return rates;
}

}  // namespace

MachineRates machine_rates(Device device, const std::string& gpu_name) {
  if (const auto known = known_rates(device, gpu_name)) return *known;
  MachineRates rates = measure_rates(device);
  Json json = Json::object();
  for (const auto& [name, value] : rates.fields()) json[name] = *value;
  const std::string text = json.dump(2) + "\n", path = path_of(device, gpu_name);
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    io::write_atomically(path, text.data(), text.size());
  } catch (const std::exception&) {
    // The next process measures again.
  }
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

ScanSizes sizes_of(io::ScanFile& file, const Settings& settings) {
  const io::ScanSummary& summary = file.summary();
  ScanSizes sizes = header_sizes(summary);
  constexpr double most_values = 1 << 27;  // a GiB
  if (static_cast<double>(summary.samples_per_scan) * static_cast<double>(summary.coil_count) <= most_values)
    sizes = sizes_of(file.read(0, 0), settings);
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
  const MachineRates rates = machine_rates(Device::cpu());
  const auto bytes = static_cast<double>(estimate(sizes, how).host.peak_bytes());
  return {bytes, cost_text(how.images, predict(sizes, how, rates, rates).seconds_of_all(), bytes),
          memory_text(static_cast<double>(memory_bytes))};
}

}  // namespace fhd::app

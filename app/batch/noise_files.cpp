#include "app/batch/noise_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "io/scan/mrd/noise_readouts.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using io::mrd::MeasurementKind;

struct NoiseFile {
  BatchScan* file;
  MeasurementKind kind;
  std::vector<std::string> served{};  ///< names of scans
};

std::uintmax_t size_of(const BatchScan& scan) {
  std::error_code status;
  const auto size = fs::file_size(scan.path, status);
  return status ? 0 : size;
}

std::vector<NoiseFile> noise_files_of(const std::vector<BatchScan*>& folder) {
  constexpr std::size_t few = 32;  // milliseconds each
  std::uintmax_t longest = 0;
  for (const auto* scan : folder) longest = std::max(longest, size_of(*scan));
  std::vector<NoiseFile> noise;
  for (auto* scan : folder)
    if (const auto size = size_of(*scan); size > 0 && (size <= longest / 4 || folder.size() <= few))
      if (auto kind = io::mrd::kind_of_measurement(scan->path); kind && kind->is_noise_alone)
        noise.push_back({scan, std::move(*kind)});
  return noise;
}

NoiseFile* noise_of(std::vector<NoiseFile>& files, const MeasurementKind& scan) {
  if (scan.has_noise) return nullptr;
  for (auto& file : files)
    if (!file.kind.id.empty() &&
        std::ranges::find(scan.noise_measurements, file.kind.id) != scan.noise_measurements.end())
      return &file;
  return scan.noise_measurements.empty() && files.size() == 1 && files[0].kind.coil_count == scan.coil_count
             ? &files[0]
             : nullptr;
}

}  // namespace

bool holds_only_noise(const std::string& path) {
  const auto kind = io::mrd::kind_of_measurement(path);
  return kind && kind->is_noise_alone;
}

void serve_noise(BatchList& list) {
  std::map<fs::path, std::vector<BatchScan*>> folders;
  for (auto& scan : list.scans)
    if (scan.found) folders[fs::path(scan.path).parent_path()].push_back(&scan);
  std::vector<std::string> taken;
  for (const auto& [name, folder] : folders) {
    auto noise = noise_files_of(folder);
    for (auto* scan : folder) {
      const auto is_it = [&](const NoiseFile& each) { return each.file == scan; };
      if (noise.empty() || std::ranges::any_of(noise, is_it)) continue;
      const auto kind = io::mrd::kind_of_measurement(scan->path);
      auto* const file = kind ? noise_of(noise, *kind) : nullptr;
      if (file == nullptr) continue;
      scan->noise = file->file->path;
      file->served.push_back(scan->name);
    }
    for (const auto& [file, kind, served] : noise) {
      taken.push_back(file->path);
      list.names.erase(file->name);  // stacks of slices may have it
      list.notes.push_back(
          served.empty()
              ? fmt::format("{}: holds noise alone, which no scan names: skipped", file->path)
              : fmt::format("{}: holds noise alone, that of {} scan{}: {}{}", file->path, served.size(),
                            served.size() == 1 ? "" : "s", served.front(), served.size() > 1 ? ", ..." : ""));
    }
  }
  std::erase_if(list.scans,
                [&](const BatchScan& scan) { return std::ranges::find(taken, scan.path) != taken.end(); });
}

}  // namespace fhd::app

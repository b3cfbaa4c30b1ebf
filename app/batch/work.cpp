#include "app/batch/work.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/batch/noise_files.hpp"
#include "app/options/recipe.hpp"
#include "io/files/file_set.hpp"
#include "io/files/folder.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {

BatchWork plan_work(const CLI::App& app, const RunOptions& options, const std::string& recipe,
                    const std::string& output, std::vector<BatchScan> scans) {
  BatchWork work;
  work.directory = output;
  RunOptions common = options;
  common.threads = 0;  // of the whole batch: shared out over the scans
  const auto entries = recipe.empty() ? std::vector<RecipeEntry>{} : read_recipe(recipe, app, in_batch);
  // Each line is set by itself first, so that an error names it.
  for (const auto& entry : entries) {
    RunOptions alone;
    set_option(alone, entry, in_batch);
  }

  std::map<std::map<std::string, std::string>, std::size_t> known;
  for (const auto& scan : scans) {
    BatchSettings settings{common, {}};
    if (!scan.noise.empty() && common.read_options.outside.noise.empty())
      set_option(settings.options, *find_option("--noise", in_batch), scan.noise);
    std::string where;
    for (const auto& entry : entries)
      if (fits_recipe(entry.pattern, scan.path)) {
        set_option(settings.options, entry, in_batch);
        where += (where.empty() ? "" : ", ") + entry.where;
      }
    const auto [place, is_new] = known.emplace(settings.options.given, work.settings.size());
    work.settings_of.push_back(place->second);
    if (!is_new) continue;
    for (const auto& [flag, value] : settings.options.given)
      if (const auto* row = find_option(flag, in_batch); row->effect != Effect::machine)
        settings.recorded.emplace(flag, recorded_value(*row, value));
    try {
      static_cast<void>(settings.options.settings());
    } catch (const Error& error) {
      throw Error(where.empty() ? scan.path : scan.path + " with " + where, "", error.what());
    }
    work.settings.push_back(std::move(settings));
  }
  work.scans = std::move(scans);
  return work;
}

// --- Workers

std::vector<std::string> devices_of(const std::string& asked, int gpus) {
  std::vector<int> numbers = gpu_numbers_of(asked);
  if (asked == "auto" || asked == "cuda" || asked == "cuda:all")
    for (int number = 0; number < gpus; ++number) numbers.push_back(number);
  std::vector<std::string> devices;
  for (const int number : numbers) devices.push_back("cuda:" + std::to_string(number));
  return devices;
}

std::vector<WorkerPlan> plan_workers(const std::string& asked, int gpus, int threads, int at_once) {
  const int scans = at_once > 0 ? at_once : threads;
  auto devices = devices_of(asked, gpus);
  if (devices.empty())
    return std::vector<WorkerPlan>(static_cast<std::size_t>(scans),
                                   WorkerPlan{asked == "cuda:all" ? "cuda" : asked});
  // A small scan takes five times as long on the CPU (maps, checks, verdict) as on the GPU, where engines do not wait for
  // each other: as many as threads, at least two.
  constexpr int least_engines = 2, most_engines = 16, most_files = 4;
  if (at_once > 0) devices.resize(std::min(devices.size(), static_cast<std::size_t>(at_once)));
  const int count = static_cast<int>(devices.size()), share = threads / count;
  const int most = at_once > 0 ? std::min(most_engines, at_once / count) : most_engines;
  const int engines = std::min(std::max(least_engines, share), most);
  const int files = std::clamp(share / 4, 1, most_files);
  std::vector<WorkerPlan> plans;
  for (const auto& device : devices) plans.push_back({device, engines, engines + 2 * files});
  if (asked == "auto")
    plans.insert(plans.end(), static_cast<std::size_t>(std::min(scans, threads)),
                 WorkerPlan{.device = "cpu", .is_last_resort = true});
  return plans;
}

int engine_count(const std::vector<WorkerPlan>& workers, bool last_resort) {
  int count = 0;
  for (const auto& plan : workers)
    if (plan.is_last_resort == last_resort) count += plan.engines;
  return std::max(1, count);
}

std::uint64_t memory_to_use(std::uint64_t limit_mib) {
  if (limit_mib > 0) return limit_mib << 20;
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (file >> name >> kib && name != "MemAvailable:") file.ignore(1 << 10, '\n');
  const std::uint64_t bytes =
      name == "MemAvailable:" ? kib * 1024
                              : static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return bytes / 5 * 4;
}

// --- The folder

std::optional<Missing> missing_of(const BatchWork& work, std::size_t scan, const io::Manifest& manifest) {
  if (manifest.status == io::Manifest::Status::failed) return Missing{"failed", "failed before"};
  if (manifest.settings != work.settings[work.settings_of[scan]].recorded)
    return Missing{"settings_changed", "settings changed"};
  if (manifest.version != program_version && !work.accepts_version)
    return Missing{"version_changed", "made by version " + manifest.version};
  if (const auto product = io::missing_product(work.directory, manifest))
    return Missing{"results_changed", *product + " is missing or changed"};
  try {
    if (io::same_stamps(manifest, io::stamps_of(work.scans[scan].path))) return {};
  } catch (const Error&) {  // the scan is gone: its worker reports that
  }
  return Missing{input_changed, "input changed"};
}

std::optional<Missing> missing_in_folder(const BatchWork& work, std::size_t scan) {
  const auto& [path, name, found, noise] = work.scans[scan];
  const auto manifest = io::read_manifest(io::manifest_path(work.directory, name));
  if (!manifest && found && (holds_only_images(path) || holds_only_noise(path))) return {};
  if (!manifest) return Missing{"new", ""};
  auto missing = missing_of(work, scan, *manifest);
  if (missing && missing->code == input_changed) try {
      if (manifest->input_checksum == io::checksum_of(path)) missing.reset();
    } catch (const Error&) {
    }
  return missing;
}

void remove_leftovers(const std::string& directory) {
  const auto folder = io::Folder::of((std::filesystem::path(directory) / "batch.log").string());
  bool complete = true;  // else files that a commit log names are among the temporary ones
  for (const auto& file : folder->names())
    if (const auto name = io::OutputLock::name_in(file); !name.empty()) try {
        const io::OutputLock completes((std::filesystem::path(directory) / name).string());
      } catch (const io::OutputLock::Held&) {  // by a run that is alive
      } catch (const Error&) {                 // whoever writes it next reports that
        complete = false;
      }
  for (const auto& file : folder->names())
    if (complete && io::final_name_of_temporary(file)) folder->remove_abandoned(file);
}

}  // namespace fhd::app

#include "app/batch/work.hpp"

#include <map>

#include "app/commands/commands.hpp"
#include "app/options/recipe.hpp"
#include "recon/error.hpp"

namespace fhd::app {

BatchWork plan_work(const CLI::App& app, const RunOptions& options, const std::string& recipe,
                    const std::string& output, std::vector<BatchScan> scans) {
  BatchWork work;
  work.directory = output;
  work.command_line = command_line();
  work.device = options.device.name;
  work.cpu_stands_in = work.device == "auto";
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
    BatchSettings settings{common, {}, {}};
    for (const auto& entry : entries)
      if (fits_recipe(entry.pattern, scan.path)) {
        set_option(settings.options, entry, in_batch);
        settings.where += (settings.where.empty() ? "" : ", ") + entry.where;
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
      throw Error(settings.where.empty() ? scan.path : scan.path + " with " + settings.where, "",
                  error.what());
    }
    work.settings.push_back(std::move(settings));
  }
  work.scans = std::move(scans);
  return work;
}

}  // namespace fhd::app

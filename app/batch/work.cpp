#include "app/batch/work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "app/commands/commands.hpp"
#include "app/options/nearest_word.hpp"
#include "app/options/recipe.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// "--lambda", ...: the options that may differ between the scans of a batch, and those that may not.
struct JobOptionNames {
  std::set<std::string> of_scans, of_batch;
  std::set<std::string> of_recipes;  ///< those of scans that a recipe may give
};

/// The recipe of a batch, of `command`. Throws Error for keys that are not among those of scans.
std::vector<RecipeEntry> read_recipe_of_scans(const std::string& path, const JobOptionNames& known,
                                              const CLI::App& command) {
  auto entries = read_recipe(path);
  const auto& options = known.of_recipes;
  for (const auto& entry : entries) {
    if (options.count(entry.option)) continue;
    std::vector<std::string> names;
    for (const auto& option : options)
      if (option.starts_with("--")) names.push_back(option.substr(2));
    const auto name = entry.option.substr(2), hint = did_you_mean(name, names);
    throw Error(entry.where, "an option of 'fhd batch' that may differ between scans", "'" + name + "'",
                known.of_batch.count(entry.option) ? "give it on the command line, for all scans"
                : command.get_option_no_throw(entry.option) != nullptr ? not_of_recipes
                : hint.empty()                                         ? "see 'fhd batch --help'"
                                                                       : hint);
  }
  return entries;
}

// --- The options

JobOptionNames job_option_names() {
  CLI::App app;
  RunOptions options;
  options.add_to(app);
  JobOptionNames names;
  for (const auto* option : app.get_options()) {
    const auto name = option->get_name();
    if (name == "--help") continue;
    const bool shared = name == "--device" || name == "--device-memory" || name == "--device-memory-mib" ||
                        name == "--threads" || name == "--verbose" || name == "--cache";
    (shared ? names.of_batch : names.of_scans).insert(name);
    if (!shared && is_for_recipes(*option)) names.of_recipes.insert(name);
  }
  return names;
}

/// "--name=value" of every option that was given and is among `names`.
std::map<std::string, std::vector<std::string>> given(const CLI::App& app,
                                                      const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto* option : app.get_options())
    if (option->count() > 0 && names.count(option->get_name()))
      values[option->get_name()] = option->results();
  return values;
}

}  // namespace

BatchWork plan_work(const CLI::App& app, const std::string& recipe, const std::string& output, Ranks& ranks,
                    std::vector<BatchScan> scans) {
  BatchWork work;
  work.directory = output;
  work.command_line = command_line();
  const auto names = job_option_names();
  const auto common = given(app, names.of_scans);
  auto shared = given(app, names.of_batch);
  shared.erase("--threads");  // of the whole batch: shared out over the scans
  shared.erase("--verbose");
  shared.erase("--device");  // that of each worker
  const auto asked = app.get_option("--device")->as<std::string>(), own = ranks.choose_device(asked);
  work.device = own.empty() ? asked : own;
  work.gpus = ranks.gpus();
  work.cpu_stands_in = asked == "auto";
  const auto entries = recipe.empty() ? std::vector<RecipeEntry>{} : read_recipe_of_scans(recipe, names, app);
  // Every line by itself first: its mistakes are its own.
  for (const auto& entry : entries) try {
      RunOptions{{entry.option + "=" + entry.value}};
    } catch (const Error& error) {
      throw Error(entry.where, "", error.what());
    }

  std::map<std::vector<std::string>, std::size_t> known;
  for (const auto& scan : scans) {
    BatchSettings settings;
    auto values = common;
    for (const auto& entry : entries)
      if (fits_recipe(entry.pattern, scan.path)) {
        values[entry.option] = {entry.value};
        settings.where += (settings.where.empty() ? "" : ", ") + entry.where;
      }
    for (const auto& [name, texts] : values)
      for (const auto& text : texts) settings.arguments.push_back(name + "=" + text);
    const auto [place, is_new] = known.emplace(settings.arguments, work.settings.size());
    work.settings_of.push_back(place->second);
    if (!is_new) continue;
    for (const auto& [name, texts] : values)
      settings.recorded.emplace(name, with_content(fmt::format("{}", fmt::join(texts, " "))));
    for (const auto& [name, texts] : shared)
      for (const auto& text : texts) settings.arguments.push_back(name + "=" + text);
    try {
      const RunOptions parsed(settings.arguments);
      static_cast<void>(parsed.settings());
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

#include "app/options/recipe.hpp"

#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/batch/scans.hpp"
#include "app/options/nearest_word.hpp"
#include "io/files/input_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr unsigned with_recipes = in_recon | in_batch | in_plan | in_compare | in_check;

/// Returns whether recipes may give an option. The scans of a batch share the machine.
bool is_for_recipes(const OptionRow& row, Scope command) {
  return row.in_recipes && (command != in_batch || row.effect != Effect::machine);
}

/// Returns whether a recipe may give the option to some command.
bool is_of_other_commands(const std::string& option) {
  const auto& table = option_table();
  return std::any_of(table.begin(), table.end(), [&](const OptionRow& row) {
    return row.flag == option && (row.commands & with_recipes) != 0 && row.in_recipes;
  });
}

[[noreturn]] void refuse(const RecipeEntry& entry, const CLI::App& app, Scope command) {
  const auto name = entry.option.substr(2), program = "fhd " + app.get_name();
  std::vector<std::string> names;
  for (const auto& row : option_table())
    if ((row.commands & command) != 0 && is_for_recipes(row, command)) names.push_back(row.flag.substr(2));
  const auto hint = did_you_mean(name, names);
  throw UsageError(
      Error(entry.where,
            "an option of '" + program + "'" + (command == in_batch ? " that may differ between scans" : ""),
            "'" + name + "'",
            hint.empty() ? "give it on the command line, if '" + program + " --help' has it" : hint));
}

}  // namespace

std::vector<RecipeEntry> read_recipe(const std::string& path, const CLI::App& app, Scope command) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 20;  // of many thousand scans
  const auto text = io::content_of_file(path, longest, "a TOML or JSON file");
  const auto all = path.ends_with(".json") ? entries_of_json(text, path) : entries_of_toml(text, path);
  std::vector<RecipeEntry> entries;
  for (const auto& entry : all) {
    const auto* const row = find_option(entry.option, command);
    if (row && is_for_recipes(*row, command))
      entries.push_back(entry);
    else if (row || !is_of_other_commands(entry.option))
      refuse(entry, app, command);
  }
  return entries;
}

bool fits_recipe(const std::string& pattern, const std::string& scan) {
  const auto file = std::filesystem::path(absolute_path(scan)).filename().string();
  const auto match = [&](const std::string& text) { return fnmatch(pattern.c_str(), text.c_str(), 0) == 0; };
  if (pattern.empty()) return true;
  return pattern.find('/') == std::string::npos ? match(file) || match(plain_name(scan)) : match(scan);
}

void set_option(RunOptions& options, const RecipeEntry& entry, Scope command) {
  try {
    set_option(options, *find_option(entry.option, command), entry.value);
  } catch (const Error& error) {
    throw UsageError(Error(entry.where, "", error.what()));
  }
}

void apply_recipe(RunOptions& options, const std::string& path, const std::string& scan, const CLI::App& app,
                  Scope command) {
  const RunOptions typed = options;
  for (const auto& entry : read_recipe(path, app, command))
    if (!typed.is_given(entry.option) && fits_recipe(entry.pattern, scan))
      set_option(options, entry, command);
}

void add_recipe_option(CLI::App& app, std::string& path) {
  app.add_option(
         "--recipe", path,
         "TOML or JSON file with options, some of them for scans whose name fits a pattern; those on the "
         "command line go before them")
      ->type_name("FILE");
}

Run with_recipe(CLI::App& app, RunOptions& options, Scope command, Run run) {
  const auto path = std::make_shared<std::string>();
  add_recipe_option(app, *path);
  return [&app, &options, command, path, run] {
    if (!path->empty()) apply_recipe(options, *path, app.get_option("SCAN")->as<std::string>(), app, command);
    return run();
  };
}

}  // namespace fhd::app

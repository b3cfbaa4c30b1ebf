#pragma once
// --recipe FILE: options in a TOML or JSON file, some of them for scans whose name fits a pattern:
//
//   iterations = 40              # for every scan
//   ["*_radial*"]                # for scans whose name, or path if there is a / in the pattern, fits
//   lambda = 1e-3
//   matrix = [64, 64, 16]
//
// Where several patterns fit, the later ones win.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/commands.hpp"

namespace CLI {
class Option;
}

namespace fhd::app {

/// One option of a recipe.
struct RecipeEntry {
  std::string pattern;  ///< empty: every scan
  std::string option;   ///< "--lambda"
  std::string value;    ///< "1e-3"; "true" or "false" of a flag
  std::string where;    ///< "recipe.toml:4"
};

/// In the order of the text; options as keys name them, '-' in the place of '_', patterns as tables do. `path`: what errors call the text. Throws
/// Error with the line of what cannot be read.
std::vector<RecipeEntry> entries_of_toml(const std::string& text, const std::string& path);
std::vector<RecipeEntry> entries_of_json(const std::string& text, const std::string& path);

/// Of a file, as its name tells which. Throws Error with the line of what cannot be read.
std::vector<RecipeEntry> read_recipe(const std::string& path);

/// Whether a pattern with * ? [ ] fits a scan: its name with or without ending or, when there is a '/' in the
/// pattern, its path as given.
bool fits_recipe(const std::string& pattern, const std::string& scan);

/// Whether a recipe may give it: a list of what may, beside which everything is of the command line.
bool is_for_recipes(const CLI::Option& option);
/// What to do with an option that is not.
inline constexpr auto not_of_recipes =
    "give it on the command line: recipes say how to reconstruct, not what is written where or trusted";

/// What a recipe says of a scan, by name, where the command has the option and the command line does not say it. What
/// only other commands have is passed over, so that one recipe serves all. Throws UsageError for what none has.
std::map<std::string, RecipeEntry> recipe_of(const CLI::App& app, const std::string& path,
                                             const std::string& scan);

/// Gives a value to an option of a parser that has parsed. Throws UsageError with the line of a value that is refused.
void give(CLI::Option& option, const RecipeEntry& entry);

/// Gives these options to the command as if they had been typed; `app` has been parsed. Throws UsageError with the line
/// of a value that is refused.
void apply_recipe(CLI::App& app, const std::string& path, const std::string& scan);

/// Adds --recipe alone: the path, empty for none.
std::shared_ptr<std::string> add_recipe_option(CLI::App& app);

/// Adds --recipe to a command with one SCAN, which then runs `run` with what the recipe says.
Run with_recipe(CLI::App& app, Run run);

}  // namespace fhd::app

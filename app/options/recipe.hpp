#pragma once
// --recipe FILE: options from a TOML or JSON file (recipe_text.hpp).
#include <string>
#include <vector>

#include "app/commands/commands.hpp"
#include "app/options/recipe_text.hpp"
#include "app/options/table.hpp"

namespace fhd::app {

/// Reads a recipe, and returns its entries for one command: options of other commands are left out, so that one recipe
/// serves all. `app` is the parser of the command. Throws Error with the line of what cannot be read, and UsageError for
/// an option that no command has, or that recipes may not give: they say how to read and to reconstruct, name no place
/// where something is written, replace nothing, and take no protection away.
std::vector<RecipeEntry> read_recipe(const std::string& path, const CLI::App& app, Scope command);

/// Returns whether a pattern with * ? [ ] fits a scan: its name with or without ending or, when there is a '/' in the
/// pattern, its path as given.
bool fits_recipe(const std::string& pattern, const std::string& scan);

/// Sets the option of an entry. Throws UsageError with the line.
void set_option(RunOptions& options, const RecipeEntry& entry, Scope command);
/// Sets what a recipe says of a scan and the options do not say already.
void apply_recipe(RunOptions& options, const std::string& path, const std::string& scan, const CLI::App& app,
                  Scope command);

/// Adds --recipe.
void add_recipe_option(CLI::App& app, std::string& path);
/// Adds --recipe to a command with one SCAN, which then runs `run` with what the recipe says. `options` are in the same
/// object as `run` and outlive it.
Run with_recipe(CLI::App& app, RunOptions& options, Scope command, Run run);

}  // namespace fhd::app

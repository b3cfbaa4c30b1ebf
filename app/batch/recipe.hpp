#pragma once
// Options of `fhd recon` in TOML or JSON: a batch's recipe (work.hpp), a session's configuration (app/server).
#include <string>
#include <vector>

namespace fhd::app {

/// One option of a recipe.
struct RecipeEntry {
  std::string pattern;  ///< empty: every scan
  std::string option;   ///< "--lambda"
  std::string value;    ///< "1e-3"; "true" or "false" of a flag
  std::string where;    ///< "recipe.toml:4"
};

/// In the order of the text; options as keys name them, patterns as tables do. `path`: what errors call the text. Throws
/// Error with the line of what cannot be read.
std::vector<RecipeEntry> entries_of_toml(const std::string& text, const std::string& path);
std::vector<RecipeEntry> entries_of_json(const std::string& text, const std::string& path);

}  // namespace fhd::app

#pragma once
// Options as TOML or JSON text, some of them for scans whose name fits a pattern:
//
//   iterations = 40              # for every scan
//   ["*_radial*"]                # for scans whose name, or path if there is a / in the pattern, fits
//   lambda = 1e-3
//   matrix = [64, 64, 16]
//
// If several patterns fit, the later ones win.
#include <string>
#include <vector>

namespace fhd::app {

/// One option of a recipe.
struct RecipeEntry {
  std::string pattern;  ///< empty: every scan
  std::string option;   ///< "--lambda"
  std::string value;    ///< "1e-3"; "true" or "false" of a flag
  std::string where;    ///< "recipe.toml:4", "recipe.json: lambda"
};

/// Returns the entries in the order of the text; '_' in keys is '-' in options. Errors call the text `path`. Throws Error
/// with the place of what cannot be read.
std::vector<RecipeEntry> entries_of_toml(const std::string& text, const std::string& path);
std::vector<RecipeEntry> entries_of_json(const std::string& text, const std::string& path);

}  // namespace fhd::app

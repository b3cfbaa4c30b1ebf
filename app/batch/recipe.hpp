#pragma once
// --recipe: options for some of the scans of a batch, in a TOML or JSON file.
//
//   iterations = 40              # for every scan
//   ["*_radial*"]                # for scans whose name, or path if there is a / in the pattern, fits
//   lambda = 1e-3
//   matrix = [64, 64, 16]
//
// Keys are the options of `fhd recon` without their dashes. Where several patterns fit, the later ones win.
#include <set>
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

/// In the order of the file. Throws Error with the line of what cannot be read, and of keys that are not
/// among `options`.
std::vector<RecipeEntry> read_recipe(const std::string& path, const std::set<std::string>& options);

/// Whether a pattern with * ? [ ] fits a scan: its name with or without ending or, when there is a '/' in the
/// pattern, its path as given.
bool fits(const std::string& pattern, const std::string& scan);

}  // namespace fhd::app

// Recipes, and configurations of sessions. The first byte of the input says what the others are: TOML or JSON.
#include "app/options/recipe.hpp"

#include <toml++/toml.h>

#include <algorithm>

#include "app/options/toml_text.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

namespace {

int depth_of(const toml::node& node) {
  int deepest = 0;
  if (const auto* table = node.as_table())
    for (const auto& [key, value] : *table) deepest = std::max(deepest, depth_of(value));
  if (const auto* list = node.as_array())
    for (const auto& value : *list) deepest = std::max(deepest, depth_of(value));
  return deepest + 1;
}

/// Checks that accepted text is as flat as promised, with a small bound, so that short inputs reach it.
void require_flat(const std::string& text) {
  constexpr int most = 4;
  if (app::line_nesting_deeper_than(most, text) > 0) return;
  try {
    const toml::table table = toml::parse(text);
    fuzz::require(depth_of(table) <= 2 * most + 2);  // a header, what is below it, the value, and the root
  } catch (const toml::parse_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = fuzz::text_of({data + 1, size - 1});
  if (data[0] % 2 == 0) require_flat(text);
  fuzz::succeeds([&] {
    const auto entries =
        data[0] % 2 == 0 ? app::entries_of_toml(text, "x.toml") : app::entries_of_json(text, "x.json");
    for (const auto& entry : entries) {
      fuzz::require(entry.option.starts_with("--") && !entry.where.empty());
      app::fits_recipe(entry.pattern, "folder/scan_radial.h5");
    }
  });
  return 0;
}

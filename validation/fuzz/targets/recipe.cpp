// Recipes, and configurations of sessions. The first byte of the input says what the others are: TOML or JSON.
#include "app/options/recipe_text.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = fuzz::text_of({data + 1, size - 1});
  fuzz::succeeds([&] {
    const auto entries =
        data[0] % 2 == 0 ? app::entries_of_toml(text, "x.toml") : app::entries_of_json(text, "x.json");
    for (const auto& entry : entries) fuzz::require(entry.option.starts_with("--") && !entry.where.empty());
  });
  return 0;
}

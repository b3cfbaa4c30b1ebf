#include "app/options/recipe_text.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/files/json_text.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr const char* value_kinds = "text, a number, true, false, or a list of them";

RecipeEntry entry_of(const std::string& pattern, std::string key, const std::string& value,
                     const std::string& where) {
  std::replace(key.begin(), key.end(), '_', '-');
  if (value.find('\0') != std::string::npos) throw Error(where, "a value without a NUL character", "one");
  return {pattern, "--" + key, value, where};
}

// --- TOML

/// Throws Error where a key could have many dots. Each makes a table of toml++, which goes through tables by recursion:
/// 30,000 inside each other are the end of the stack. The library itself bounds how deep values lie in each other.
void require_few_dots(const std::string& text, const std::string& path) {
  constexpr int most = 32;
  std::istringstream lines(text);
  std::size_t number = 1;
  for (std::string line; std::getline(lines, line); ++number)
    if (std::count(line.begin(), line.end(), '.') > most)
      throw Error(fmt::format("{}:{}", path, number), fmt::format("at most {} dots in a line", most), "more");
}

std::string toml_value(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* list = node.as_array()) {
    std::string joined;
    for (const auto& element : *list) {
      if (element.is_array()) throw Error(where, value_kinds, "a list of lists");
      joined += (joined.empty() ? "" : ",") + toml_value(element, where);
    }
    return joined;
  }
  throw Error(where, value_kinds, "something else");
}

}  // namespace

std::vector<RecipeEntry> entries_of_toml(const std::string& text, const std::string& path) {
  using Numbered = std::pair<std::size_t, RecipeEntry>;
  std::vector<Numbered> found;
  const auto add = [&](const std::string& pattern, const toml::key& key, const toml::node& node) {
    const std::size_t line = key.source().begin.line;
    const auto where = fmt::format("{}:{}", path, line);
    found.emplace_back(line, entry_of(pattern, std::string(key.str()), toml_value(node, where), where));
  };
  require_few_dots(text, path);
  try {
    const toml::table recipe = toml::parse(text, path);
    for (const auto& [key, node] : recipe) {
      const auto* table = node.as_table();
      if (!table) {
        add({}, key, node);
        continue;
      }
      for (const auto& [option, value] : *table) add(std::string(key.str()), option, value);
    }
  } catch (const toml::parse_error& error) {
    throw Error(fmt::format("{}:{}", path, error.source().begin.line), "TOML",
                std::string(error.description()));
  }
  // Tables come sorted by name; the order of the file decides.
  std::stable_sort(found.begin(), found.end(),
                   [](const Numbered& a, const Numbered& b) { return a.first < b.first; });
  std::vector<RecipeEntry> entries;
  for (auto& [line, entry] : found) entries.push_back(std::move(entry));
  return entries;
}

// --- JSON

namespace {

using Json = nlohmann::ordered_json;

std::string json_value(const Json& node, const std::string& where) {
  if (node.is_string()) return node.get<std::string>();
  if (node.is_number() || node.is_boolean()) return node.dump();
  if (!node.is_array()) throw Error(where, value_kinds, node.type_name());
  std::string joined;
  for (const auto& element : node) {
    if (element.is_array()) throw Error(where, value_kinds, "a list of lists");
    joined += (joined.empty() ? "" : ",") + json_value(element, where);
  }
  return joined;
}

}  // namespace

std::vector<RecipeEntry> entries_of_json(const std::string& text, const std::string& path) {
  if (io::nests_too_deep(text))
    throw Error(path, fmt::format("lists and objects at most {} deep", io::deepest_json),
                "more inside each other");
  Json recipe;
  try {
    recipe = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(path, "JSON", error.what());
  }
  if (!recipe.is_object()) throw Error(path, "an object", recipe.type_name());
  std::vector<RecipeEntry> entries;
  const auto add = [&](const std::string& pattern, const std::string& key, const Json& node) {
    const auto where = path + ": " + (pattern.empty() ? "" : pattern + ": ") + key;
    entries.push_back(entry_of(pattern, key, json_value(node, where), where));
  };
  for (const auto& [key, node] : recipe.items()) {
    if (node.is_object())
      for (const auto& [option, value] : node.items()) add(key, option, value);
    else
      add({}, key, node);
  }
  return entries;
}

}  // namespace fhd::app

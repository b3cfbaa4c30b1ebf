#include "io/files/json_text.hpp"

#include <algorithm>

namespace fhd::io {

namespace {

/// Measures a document without making it.
struct Outline {
  int deepest = 0;
  std::size_t values = 1;  ///< at most
};

/// Measures a text to its end, or to where it nests too deep.
Outline outline_of(std::string_view text) {
  Outline outline;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && outline.deepest <= deepest_json; ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;  // what it escapes
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      outline.deepest = std::max(outline.deepest, ++depth);
      ++outline.values;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      ++outline.values;
    }
  }
  return outline;
}

}  // namespace

bool nests_too_deep(std::string_view text) { return outline_of(text).deepest > deepest_json; }

nlohmann::ordered_json flat_json(std::string_view text, std::size_t characters_of_value) {
  using Json = nlohmann::ordered_json;
  constexpr std::size_t few = 10000;
  const auto outline = outline_of(text);
  if (outline.deepest > deepest_json) return Json(Json::value_t::discarded);
  if (characters_of_value > 0 && outline.values > few + text.size() / characters_of_value)
    return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace fhd::io

#pragma once
// Fields of JSON that others wrote: of any type, or absent.
#include <nlohmann/json.hpp>
#include <string>

namespace fhd::io {

/// Returns null where `json` has no such field.
inline const nlohmann::ordered_json& field_of(const nlohmann::ordered_json& json, const char* name) {
  static const nlohmann::ordered_json none;
  return json.is_object() && json.contains(name) ? json[name] : none;
}
/// Returns an empty list where the field is no list.
inline nlohmann::ordered_json list_of(const nlohmann::ordered_json& json, const char* name) {
  const auto& field = field_of(json, name);
  return field.is_array() ? field : nlohmann::ordered_json::array();
}
/// Returns item `i` of a list, null where there is none.
inline const nlohmann::ordered_json& item_of(const nlohmann::ordered_json& list, std::size_t i) {
  static const nlohmann::ordered_json none;
  return list.is_array() && i < list.size() ? list[i] : none;
}
inline std::string text_or(const nlohmann::ordered_json& json, const char* name,
                           const std::string& other = {}) {
  const auto& field = field_of(json, name);
  return field.is_string() ? field.get<std::string>() : other;
}
inline std::int64_t integer_or(const nlohmann::ordered_json& json, const char* name, std::int64_t other) {
  const auto& field = field_of(json, name);
  return field.is_number_integer() ? field.get<std::int64_t>() : other;
}

}  // namespace fhd::io

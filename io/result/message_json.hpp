#pragma once
// Messages as JSON: {code, severity, text, remedy, field}; and other types, as their fields.
#include <nlohmann/json.hpp>

#include "recon/domain/message.hpp"
#include "recon/domain/scan.hpp"

/// Defines the JSON of a type, in its namespace: an object of these fields, by their names. What is absent, or of another type,
/// is a Json::exception. (The macro of nlohmann itself is for unordered JSON.)
#define FHD_JSON_FIELDS(Type, ...)                                                              \
  inline void to_json(nlohmann::ordered_json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))                    \
  }                                                                                             \
  inline void from_json(const nlohmann::ordered_json& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))                  \
  }

namespace fhd {

inline void to_json(nlohmann::ordered_json& json, const Message& message) {
  json = {{"code", message.code},
          {"severity", name_of(message.severity)},
          {"text", message.text},
          {"remedy", message.remedy},
          {"field", message.field}};
}

/// Reads a message that may come from a file of others: what is absent or no text stays empty.
inline void from_json(const nlohmann::ordered_json& json, Message& message) {
  const auto text = [&](const char* name) {
    return json.is_object() && json.contains(name) && json[name].is_string() ? json[name].get<std::string>()
                                                                             : std::string();
  };
  message = {text("code"), Severity::note, text("text"), text("remedy"), text("field")};
  for (const auto severity : {Severity::ok, Severity::warning, Severity::suspicion, Severity::problem})
    if (text("severity") == name_of(severity)) message.severity = severity;
}

/// Returns the messages json[name]; none where there is no such list.
inline std::vector<Message> messages_in(const nlohmann::ordered_json& json, const char* name = "messages") {
  const bool is_list = json.is_object() && json.contains(name) && json[name].is_array();
  return is_list ? json[name].get<std::vector<Message>>() : std::vector<Message>();
}

FHD_JSON_FIELDS(Geometry, matrix_size, fov_mm, position_mm, read_direction, phase_direction, slice_direction)

}  // namespace fhd

#pragma once
// Messages as JSON: {code, severity, text, remedy, field}.
#include <nlohmann/json.hpp>

#include "recon/domain/message.hpp"

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

}  // namespace fhd

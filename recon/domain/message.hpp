#pragma once
// Messages to a user, as values. Programs decide by code and severity; nobody searches the text.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "recon/error.hpp"

namespace fhd {

/// ok: a check found nothing wrong. note: a decision that was made. warning: the input is probably wrong.
/// suspicion: the image may be wrong. problem: there is nothing to reconstruct.
enum class Severity { ok, note, warning, suspicion, problem };

/// Returns "ok", "note", "warning", "suspicion" or "problem".
constexpr std::string_view name_of(Severity severity) {
  constexpr std::string_view names[] = {"ok", "note", "warning", "suspicion", "problem"};
  return names[static_cast<int>(severity)];
}

/// The codes on which somebody decides. A code is the subject of a message, the same word for every scan.
namespace codes {
inline constexpr auto delays = "delays";            ///< gradient delays
inline constexpr auto outside_fov = "outside_fov";  ///< an object that is longer than the field of view
inline constexpr auto certificate = "certificate";  ///< the accuracy check did not pass
inline constexpr auto folding = "folding";  ///< an object that folds, which one set of maps does not describe
}  // namespace codes

struct Message {
  std::string code;
  Severity severity = Severity::note;
  std::string text;      ///< what was found or decided
  std::string remedy{};  ///< the option or the change of the file that answers it; may be empty
  std::string field{};   ///< the setting that it is about, "lambda"; may be empty

  bool operator==(const Message&) const = default;
};

/// Returns whether a message has this code and at least this severity.
inline bool holds(const std::vector<Message>& messages, std::string_view code, Severity least) {
  return std::any_of(messages.begin(), messages.end(), [&](const Message& message) {
    return message.code == code && message.severity >= least;
  });
}

/// Returns whether a message casts doubt on the scan or its image.
inline bool is_doubt(const Message& message) { return message.severity >= Severity::warning; }

/// Returns an error as a message.
inline Message message_of(const Error& error, Severity severity, std::string code) {
  ErrorParts parts = error.parts();
  std::string remedy = std::move(parts.remedy), field = std::move(parts.field);
  parts.remedy.clear();
  return {std::move(code), severity, sentence_of(parts), std::move(remedy), std::move(field)};
}

/// Returns text and remedy in one line.
inline std::string line_of(const Message& message) {
  if (message.remedy.empty()) return message.text;
  return message.text + (message.text.ends_with('.') ? " Remedy: " : ". Remedy: ") + message.remedy + ".";
}

/// Adds a message unless it is there already.
inline void add_once(std::vector<Message>& messages, Message message) {
  if (std::find(messages.begin(), messages.end(), message) == messages.end())
    messages.push_back(std::move(message));
}

}  // namespace fhd

#pragma once
// Messages in tests: the only place that looks for words in them.
#include <algorithm>
#include <string>
#include <vector>

#include "recon/domain/message.hpp"

namespace fhd::tests {

inline std::vector<std::string> texts_of(const std::vector<Message>& messages) {
  std::vector<std::string> texts;
  for (const auto& message : messages) texts.push_back(message.text);
  return texts;
}

/// Returns whether the text of a message contains these words.
inline bool tells(const std::vector<Message>& messages, const std::string& words) {
  return std::any_of(messages.begin(), messages.end(),
                     [&](const Message& message) { return message.text.find(words) != std::string::npos; });
}

}  // namespace fhd::tests

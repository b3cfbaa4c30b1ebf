#include "io/files/shown_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fhd::io {
namespace {

/// Returns the code of a character that makes a line another than it looks: left-to-right and right-to-left marks, embeddings,
/// overrides and isolates, line and paragraph separators. Returns 0 for others.
unsigned turning_mark(std::string_view character) {
  if (character.size() != 3 || character[0] != '\xE2') return 0;
  const unsigned code = 0x2000U + (static_cast<unsigned char>(character[1]) & 0x3FU) * 64U +
                        (static_cast<unsigned char>(character[2]) & 0x3FU);
  const auto lies = [code](unsigned first, unsigned last) { return first <= code && code <= last; };
  return lies(0x200E, 0x200F) || lies(0x2028, 0x202E) || lies(0x2066, 0x2069) ? code : 0;
}

std::string escaped(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const auto length = length_of_character(text);
    const auto character = text.substr(0, std::max<std::size_t>(length, 1));
    const auto byte = static_cast<unsigned char>(text[0]);
    if (const auto mark = turning_mark(character); length > 1 && mark > 0)
      made += fmt::format("\\u{:04x}", mark);
    else if (byte == '\n' || byte == '\t')
      made += byte == '\n' ? "\\n" : "\\t";
    else if (length == 0 || byte < ' ' || byte == 0x7F)
      made += fmt::format("\\x{:02x}", byte);
    else
      made += character;
    text.remove_prefix(character.size());
  }
  return made;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Returns at most so many bytes, in whole characters.
std::string_view first_bytes(std::string_view text, std::size_t count) {
  if (text.size() <= count) return text;
  while (count > 0 && continues_character(text[count])) --count;
  return text.substr(0, count);
}
std::string_view last_bytes(std::string_view text, std::size_t count) {
  if (text.size() <= count) return text;
  text.remove_prefix(text.size() - count);
  while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
  return text;
}

}  // namespace

std::size_t length_of_character(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool beyond = (byte(0) == 0xED && byte(1) > 0x9F) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  const bool control = byte(0) == 0xC2 && byte(1) < 0xA0;
  return overlong || beyond || control ? 0 : length;
}

std::string shown(std::string_view text, std::size_t longest) {
  constexpr std::string_view gap = " [...] ";
  if (text.size() <= longest)
    if (auto whole = escaped(text); whole.size() <= longest) return whole;
  // The beginning names the subject, the end says what to do. Escapes only add, so the middle need not be looked at.
  const std::size_t room = longest - gap.size(), head = room / 2, tail = room - head;
  const auto begin = escaped(first_bytes(text, head)), end = escaped(last_bytes(text, tail));
  return fmt::format("{}{}{}", first_bytes(begin, head), gap, last_bytes(end, tail));
}

}  // namespace fhd::io

#pragma once
// Makes texts from files, names and options fit for terminals, logs and pages.
#include <cstddef>
#include <string>
#include <string_view>

namespace fhd::io {

/// Returns the length of the UTF-8 character at the beginning of `bytes`, which are not empty; 0 if they are none, or one of
/// the controls U+0080 ... U+009F.
std::size_t length_of_character(std::string_view bytes);

/// The longest line of which a person reads every word: errors and warnings.
inline constexpr std::size_t longest_line = 1024;
/// The longest path.
inline constexpr std::size_t longest_text = 4096;

/// Returns one line of UTF-8 that does nothing to a terminal: controls, marks that turn the direction of writing, and bytes
/// that are no UTF-8 become "\n", "\x1b", "\u202e". Leaves out the middle of a text that is longer than `longest` bytes.
/// A text that was returned once stays as it is.
std::string shown(std::string_view text, std::size_t longest = longest_text);

}  // namespace fhd::io

#pragma once
// Texts that came from files, names and options, made fit for terminals, logs and pages.
#include <cstddef>
#include <string>
#include <string_view>

namespace fhd::io {

/// Bytes of the character of UTF-8 at the beginning of `bytes`, which are not empty; 0 where they are none, or one of the
/// controls U+0080 ... U+009F.
std::size_t length_of_character(std::string_view bytes);

/// Bytes of a line of which a person reads every word: errors and warnings.
inline constexpr std::size_t longest_line = 1024;
/// No path is longer.
inline constexpr std::size_t longest_text = 4096;

/// One line in UTF-8 that does nothing to a terminal: controls, marks that turn the direction of writing, and bytes that are
/// no UTF-8 are written as "\n", "\x1b", "\u202e". Of what is longer than `longest` bytes the middle is left out. What has
/// been shown once stays as it is.
std::string shown(std::string_view text, std::size_t longest = longest_text);

}  // namespace fhd::io

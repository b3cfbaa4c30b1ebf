// Texts of files, names and options as a person sees them.
#include "io/files/shown_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace fhd::io {
namespace {

TEST(ShownText, does_nothing_to_a_terminal) {
  EXPECT_EQ(shown("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(shown(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(shown("a\nb\tc\rd\x7f"), "a\\nb\\tc\\x0dd\\x7f");
  EXPECT_EQ(shown("\xc2\x9b"
                  "2J"),
            "\\xc2\\x9b"
            "2J")
      << "CSI of the C1 controls";
  EXPECT_EQ(shown("\x9b"
                  "2J"),
            "\\x9b"
            "2J")
      << "no UTF-8";
  EXPECT_EQ(shown("scan\xe2\x80\xae"
                  "5h.gpj"),
            "scan\\u202e5h.gpj")
      << "written from right to left";
}

TEST(ShownText, leaves_every_other_character) {
  const std::string text = "caf\xc3\xa9 \xe8\x84\xb3 \xf0\x9f\xa7\xa0 a\\b ~";
  EXPECT_EQ(shown(text), text);
}

TEST(ShownText, is_shown_once) {
  const auto once = shown(std::string("\x1b\x80\n\xe2\x80\xae") + std::string(5000, 'x'), 300);
  EXPECT_EQ(shown(once, 300), once);
}

TEST(ShownText, loses_the_middle_of_what_is_too_long) {
  const auto line = shown("beginning " + std::string(60000, '\x1b') + " end", longest_line);
  EXPECT_LE(line.size(), longest_line);
  EXPECT_GE(line.size(), longest_line - 16);
  EXPECT_TRUE(line.starts_with("beginning \\x1b"));
  EXPECT_TRUE(line.ends_with(" end"));
  EXPECT_NE(line.find(" [...] "), std::string::npos);
  EXPECT_EQ(shown(std::string(longest_line, 'x'), longest_line), std::string(longest_line, 'x'));
}

TEST(ShownText, is_cut_between_characters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xe8\x84\xb3";
  for (std::size_t longest = 64; longest < 80; ++longest) {
    const auto cut = shown(text, longest);
    EXPECT_LE(cut.size(), longest);
    EXPECT_EQ(cut.find('\\'), std::string::npos) << cut;
  }
}

}  // namespace
}  // namespace fhd::io

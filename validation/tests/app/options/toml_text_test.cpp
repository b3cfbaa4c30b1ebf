// TOML that nests deeper than the stack is long.
#include "app/options/toml_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fhd::app {
namespace {

constexpr int most = 8;

std::string repeated(int times, const std::string& piece) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

std::size_t deep_line(const std::string& text) { return line_nesting_deeper_than(most, text); }

TEST(TomlText, dots_of_a_key_nest) {
  EXPECT_EQ(deep_line(repeated(most, "a.") + "a = 1"), 0u);
  EXPECT_EQ(deep_line(repeated(most + 1, "a.") + "a = 1"), 1u);
  EXPECT_EQ(deep_line("x = 1\n\n" + repeated(most + 1, "a . ") + "a = 1"), 3u);
  EXPECT_EQ(deep_line("[" + repeated(most + 1, "a.") + "a]\n"), 1u);
  EXPECT_EQ(deep_line("[[" + repeated(most, "a.") + "a]]\n"), 1u);
  EXPECT_EQ(deep_line(repeated(most + 1, "'a'.\"b\".") + "a = 1"), 1u) << "quoted keys";
}

TEST(TomlText, lists_and_tables_nest_with_the_keys_in_them) {
  EXPECT_EQ(deep_line("a = " + repeated(most, "[") + repeated(most, "]")), 0u);
  EXPECT_EQ(deep_line("a = " + repeated(most + 1, "[")), 1u) << "also where nothing closes them";
  EXPECT_EQ(deep_line("a = " + repeated(most + 1, "[\n")), most + 1u) << "over several lines";
  EXPECT_EQ(deep_line("a = " + repeated(3, "{b.c.d = ")), 1u);
  EXPECT_EQ(deep_line("a = " + repeated(2, "{b.c.d = ")), 0u);
}

TEST(TomlText, what_stands_one_after_the_other_does_not_nest) {
  EXPECT_EQ(deep_line(repeated(1000, "a.b = 1.5\n[c.d]\n")), 0u);
  EXPECT_EQ(deep_line("a = [" + repeated(1000, "1.5, ") + "[2.5],\n" + repeated(1000, "[1.5], \n") + "]"),
            0u);
  EXPECT_EQ(deep_line("a = {" + repeated(1000, "b.c = 1, ") + "d = 1}"), 0u);
  EXPECT_EQ(deep_line(repeated(1000, "]}")), 0u) << "TOML refuses it";
}

TEST(TomlText, strings_and_comments_do_not_count) {
  const auto many = repeated(most + 1, ".[{");
  for (const auto& text : std::vector<std::string>{
           "# " + many, "a = \"" + many + "\" # " + many, "a = '" + many + "'", "\"" + many + "\" = 1",
           "a = \"\\\"" + many + "\"", "a = \"\"\"\n\"" + many + "\"\" \\\"\"\" " + many + "\"\"\"",
           "a = '''\n'" + many + "'' " + many + "'''", "a = \"\""})
    EXPECT_EQ(deep_line(text), 0u) << text;
}

TEST(TomlText, strings_end_where_toml_says) {
  const auto many = repeated(most + 1, "[");
  for (const std::string start :
       {"''", "\"\"", "'\\'", "\"\\\\\"", "'''x'''", "'''x''''", "'''x'''''", "\"\"\"x\"\"\"",
        "\"\"\"x\"\"\"\"", "\"\"\"x\"\"\"\"\"", "\"\"\"\\\\\"\"\"", "'''\\'''", "\"\"\"\"\"\"", "''''''"})
    EXPECT_EQ(deep_line("a = [" + start + ", " + many), 1u) << start;
  EXPECT_EQ(deep_line("a = 'x\nb = " + many), 2u) << "a string of one line ends with it";
  EXPECT_EQ(deep_line("a = '''x\n\n'''\nb = " + many), 4u) << "lines within strings count";
  EXPECT_EQ(deep_line("a = 1 # '\nb = " + many), 2u) << "a comment holds no strings";
}

}  // namespace
}  // namespace fhd::app

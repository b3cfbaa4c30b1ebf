// JSON that nests deeper than the stack is long.
#include "io/files/json_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace fhd::io {
namespace {

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonText, nests_as_deep_as_documents_do_and_no_deeper) {
  EXPECT_FALSE(nests_too_deep(nested(deepest_json, "[", "]")));
  EXPECT_TRUE(nests_too_deep(nested(deepest_json + 1, "[", "]")));
  EXPECT_TRUE(nests_too_deep(nested(deepest_json + 1, "{\"a\":", "}")));
  EXPECT_TRUE(nests_too_deep(std::string(deepest_json + 1, '['))) << "also where nothing closes them";
}

TEST(JsonText, brackets_one_after_the_other_do_not_nest) {
  std::string row = "[";
  for (int i = 0; i < 1000; ++i) row += "[{}],";
  EXPECT_FALSE(nests_too_deep(row + "0]"));
}

TEST(JsonText, brackets_within_strings_do_not_count) {
  const std::string many(1000, '[');
  EXPECT_FALSE(nests_too_deep("\"" + many + "\""));
  EXPECT_FALSE(nests_too_deep("\"\\\"" + many + "\"")) << "a quote that is escaped ends no string";
  EXPECT_TRUE(nests_too_deep("\"\\\\\"" + many)) << "an escaped backslash before the quote does";
}

TEST(JsonText, of_more_values_than_its_kind_has_is_discarded) {
  std::string empty = "[0", full = "[0";
  for (int i = 0; i < 100000; ++i) empty += ",[]", full += ",[\"a text of some length\"]";
  empty += "]", full += "]";
  EXPECT_TRUE(flat_json(empty, 16).is_discarded());
  EXPECT_EQ(flat_json(empty).size(), 100001u) << "where nothing is said of them";
  EXPECT_EQ(flat_json(full, 8).size(), 100001u);
  EXPECT_EQ(flat_json("[[],[],[],{}]", 16).size(), 4u) << "a few do no harm";
  const std::string text(1000000, ',');
  EXPECT_EQ(flat_json("\"" + text + "\"", 16).get<std::string>(), text)
      << "commas within strings do not count";
}

TEST(JsonText, is_a_value_or_discarded) {
  EXPECT_EQ(flat_json(R"({"b": [1, "]"], "a": null})").dump(), R"({"b":[1,"]"],"a":null})");
  for (const auto& text : {nested(100000, "[", "]"), std::string("{"), std::string(), std::string("\xff")}) {
    const auto value = flat_json(text);
    EXPECT_TRUE(value.is_discarded()) << text.substr(0, 20);
    EXPECT_FALSE(value.is_object() || value.is_array() || value.is_null());
  }
}

}  // namespace
}  // namespace fhd::io

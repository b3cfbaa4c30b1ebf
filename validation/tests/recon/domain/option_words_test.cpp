#include "recon/domain/option_words.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace fhd {
namespace {

struct Case {
  const char *name, *value, *as_option, *as_keyword;
};

TEST(OptionWords, are_those_of_options_or_of_keywords) {
  const auto style = option_style();
  for (const auto& [name, value, as_option, as_keyword] :
       {Case{"lambda", "", "--lambda", "lambda_"},
        Case{"fov-mm", "X,Y,Z", "--fov-mm X,Y,Z", "fov_mm=(X, Y, Z)"},
        Case{"trajectory-unit", "1/m", "--trajectory-unit 1/m", "trajectory_unit=\"1/m\""},
        Case{"input-memory", "GIB", "--input-memory GIB", "input_memory=GIB"},
        Case{"compress", "0.95", "--compress 0.95", "compress=0.95"},
        Case{"map-sets", "2 or auto", "--map-sets 2 or auto", "map_sets 2 or auto"}}) {
    option_style() = OptionStyle::options;
    EXPECT_EQ(option_words(name, value), as_option);
    EXPECT_EQ(subject_in_words(as_option), as_option);
    option_style() = OptionStyle::keywords;
    EXPECT_EQ(option_words(name, value), as_keyword);
    EXPECT_EQ(subject_in_words(as_option), as_keyword);
    EXPECT_EQ(subject_in_words("scan.h5: trajectory"), "scan.h5: trajectory");
  }
  EXPECT_EQ(flag_words("trust-input"), "trust_input=True");
  option_style() = style;
}

}  // namespace
}  // namespace fhd

#include "recon/domain/compatibility.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "recon/error.hpp"

namespace fhd {
namespace {

std::vector<Feature> all_features() {
  std::vector<Feature> all;
  for (std::size_t i = 0; i < feature_count; ++i) all.push_back(static_cast<Feature>(i));
  return all;
}

TEST(Compatibility, refuses_each_pair_of_the_table_in_both_orders_and_no_other) {
  const std::string limits = limits_in_markdown();
  for (const Feature a : all_features()) {
    EXPECT_FALSE(conflict_among(Features().with(a))) << name_of(a);
    for (const Feature b : all_features()) {
      const auto pair = Features().with(a).with(b);
      const auto conflict = conflict_among(pair);
      if (!conflict) {
        EXPECT_NO_THROW(refuse_incompatible(pair));
        continue;
      }
      EXPECT_TRUE((conflict->feature == a && conflict->other == b) ||
                  (conflict->feature == b && conflict->other == a));
      const auto row = limits.find(std::string("\n| ") + name_of(conflict->feature) + " | ");
      ASSERT_NE(row, std::string::npos) << name_of(conflict->feature);
      EXPECT_LT(limits.find(name_of(conflict->other), row), limits.find('\n', row + 1))
          << name_of(conflict->other);
      try {
        refuse_incompatible(pair);
        FAIL() << name_of(a) << " with " << name_of(b);
      } catch (const Error& error) {
        EXPECT_EQ(error.parts().subject, name_of(conflict->feature));
        EXPECT_EQ(error.parts().found, std::string("does not go together with ") + name_of(conflict->other));
        EXPECT_NE(error.parts().remedy, "");
        EXPECT_EQ(error.kind(), ErrorKind::usage);
      }
    }
  }
}

TEST(Compatibility, sees_what_settings_ask_for) {
  const auto none = features_of({});
  for (const Feature feature : all_features()) EXPECT_FALSE(none.has(feature)) << name_of(feature);
  EXPECT_TRUE(features_of({ConventionalGridding{}}).has(Feature::other_method));
  LeastSquares method;
  method.normal = NormalKind::explicit_product;
  method.partial_fourier = PartialFourier::phase;
  method.lambda = FromNoise{};
  method.regularizer = RoughnessPenalty{};
  method.basis = LeadingCourses{2};
  method.sparse = {{SparseKind::wavelet, 0.1},
                   {SparseKind::tv, 0.1},
                   {SparseKind::tgv, 0.1},
                   {SparseKind::temporal_tv, 0.1},
                   {SparseKind::llr, 0.1}};
  Settings settings{method};
  settings.coils.maps = CoilMaps::adaptive;
  settings.coils.map_sets = MapSetCount::two;
  const auto most = features_of(settings);
  for (const Feature feature : all_features()) {
    const bool is_of_settings =
        feature != Feature::other_method && (feature < Feature::one_image || feature >= Feature::sparse);
    EXPECT_EQ(most.has(feature), is_of_settings) << name_of(feature);
  }
}

TEST(Compatibility, is_what_the_documentation_says) {
  std::ifstream file(FHD_SOURCE "/app/docs/limits.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(limits_in_markdown()), std::string::npos) << "app/docs/limits.md should hold:\n"
                                                                      << limits_in_markdown();
}

}  // namespace
}  // namespace fhd

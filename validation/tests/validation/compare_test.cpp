// The comparison of several reconstructions of one scan, and `fhd compare`.
#include "validation/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "data/simulate.hpp"
#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;
using validation::Comparison;

data::Simulation simulated(std::array<int, 3> matrix) {
  data::SimulationSettings settings;
  settings.trajectory.kind =
      matrix[2] == 1 ? data::TrajectoryKind::spiral : data::TrajectoryKind::stack_of_stars;
  settings.trajectory.matrix_size = matrix;
  settings.trajectory.fov_mm = {240, 240, matrix[2] == 1 ? 5.0 : 120.0};
  settings.trajectory.undersampling = 2;
  settings.coil_count = 4;
  return data::simulate(settings);
}

const validation::CaseResult& named(const Comparison& comparison, const std::string& name) {
  for (const auto& result : comparison.cases)
    if (result.way.name == name) return result;
  throw Error("case", name, "none");
}

TEST(Compare, measures_every_case_against_double_precision_and_the_truth) {
  const auto simulation = simulated({32, 32, 1});
  const auto comparison =
      validation::compare(simulation.scan, validation::comparison_cases({}), simulation.band_limited);
  ASSERT_EQ(comparison.cases.size(), 3u);
  EXPECT_EQ(comparison.reference, "CPU.DP");
  const auto& reference = named(comparison, "CPU.DP");
  for (const auto* quantity : {&reference.fhd, &reference.q, &reference.image}) {
    EXPECT_EQ(quantity->relative_l2, 0);
    EXPECT_EQ(quantity->relative_maximum_error, 0);
    EXPECT_GT(quantity->seconds, 0);
  }
  const auto &single = named(comparison, "CPU.SP"), &gridded = named(comparison, "gridded");
  // The contracts of the direct transform (3e-5) and of the gridded one (1e-5, the default accuracy).
  EXPECT_LE(single.fhd.relative_l2, 3e-5);
  EXPECT_LE(single.q.relative_l2, 3e-5);
  EXPECT_GT(single.fhd.relative_l2, 0);
  EXPECT_LE(gridded.fhd.relative_l2, 1e-5);
  EXPECT_LE(gridded.q.relative_l2, 1e-5);
  // Least squares unfolds what undersampling by 2 folds, in both precisions.
  EXPECT_LE(single.image.nrmse, gridded.image.nrmse);
  EXPECT_NEAR(single.image.nrmse, reference.image.nrmse, 0.05 * reference.image.nrmse);
  EXPECT_GE(single.image.ssim, gridded.image.ssim);
}

TEST(Compare, without_a_truth_the_image_is_measured_against_double_precision) {
  const auto simulation = simulated({24, 24, 6});
  const auto comparison = validation::compare(simulation.scan, validation::comparison_cases({}), {});
  EXPECT_EQ(named(comparison, "CPU.DP").image.nrmse, 0);
  EXPECT_NEAR(named(comparison, "CPU.DP").image.ssim, 1, 1e-12);
  EXPECT_GT(named(comparison, "gridded").image.nrmse, 0);
}

TEST(Compare, serves_several_coils_without_maps) {
  auto simulation = simulated({24, 24, 1});
  simulation.scan.sensitivity_maps.reset();
  const auto comparison = validation::compare(simulation.scan, validation::comparison_cases({}), {});
  EXPECT_LE(named(comparison, "CPU.SP").fhd.relative_l2, 3e-5);
}

TEST(Compare, picture_has_two_rows_of_panels_of_one_size) {
  const auto simulation = simulated({32, 24, 1});
  const auto with_truth =
      validation::compare(simulation.scan, validation::comparison_cases({}), simulation.band_limited);
  const auto without = validation::compare(simulation.scan, validation::comparison_cases({}), {});
  const auto four = picture_of(with_truth, 0), three = picture_of(without, 0);
  EXPECT_EQ(four.height, three.height);
  EXPECT_NEAR(four.width / 4.0, three.width / 3.0, 4);
  EXPECT_EQ(four.pixels.size(), static_cast<std::size_t>(four.width) * four.height);
  EXPECT_THROW(picture_of(without, 1), Error);
}

TEST(Compare, refuses_a_truth_of_another_matrix_and_a_list_without_a_reference) {
  const auto scan = simulated({24, 24, 1}).scan;
  auto cases = validation::comparison_cases({});
  EXPECT_THROW(validation::compare(scan, cases, simulated({20, 20, 1}).band_limited), Error);
  std::erase_if(cases, [](const auto& way) { return way.name == "CPU.DP"; });
  EXPECT_THROW(validation::compare(scan, cases, {}), Error);
}

class CompareCommand : public tests::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(run("simulate --trajectory spiral --matrix 32 --undersampling 2 --coils 4 -o " + path("scan")),
              0);
  }
  std::string printed() const { return text("out") + text("err"); }
};

TEST_F(CompareCommand, prints_a_table_and_writes_picture_and_json) {
  ASSERT_EQ(run("compare " + path("scan.h5") + " -o " + path("result")), 0) << printed();
  for (const char* word : {"F^H d", "Q", "image", "gridded", "CPU.DP", "CPU.SP", "speed-up", "scan.truth.h5"})
    EXPECT_NE(printed().find(word), std::string::npos) << word;
  EXPECT_TRUE(std::filesystem::exists(path("result.png")));
  const auto json = nlohmann::json::parse(std::ifstream(path("result.json")));
  EXPECT_EQ(json["reference"], "CPU.DP");
  EXPECT_EQ(json["cases"].size(), 3u);
  EXPECT_EQ(json["cases"][1]["fhd"]["relative_l2"], 0);
}

TEST_F(CompareCommand, refuses_a_bad_truth_and_leaves_no_file) {
  for (const std::string truth : {"absent.h5", "scan.h5"}) {
    EXPECT_EQ(run("compare " + path("scan.h5") + " --truth " + path(truth) + " -o " + path("result")), 1);
    EXPECT_NE(printed().find(truth), std::string::npos) << printed();
  }
  ASSERT_EQ(run("simulate --trajectory spiral --matrix 24 -o " + path("other")), 0);
  EXPECT_EQ(
      run("compare " + path("scan.h5") + " --truth " + path("other.truth.h5") + " -o " + path("result")), 1);
  EXPECT_FALSE(std::filesystem::exists(path("result.png")));
  EXPECT_FALSE(std::filesystem::exists(path("result.json")));
}

TEST_F(CompareCommand, refuses_options_that_it_sets_itself_and_places_that_are_not_there) {
  const std::string scan = "compare " + path("scan.h5");
  for (const std::string option : {" --method cg", " --transform direct", " --precision single"})
    EXPECT_EQ(run(scan + option), 2) << option;
  EXPECT_EQ(run(scan + " --slice 1"), 1);
  EXPECT_NE(printed().find("--slice"), std::string::npos) << printed();
  EXPECT_EQ(run(scan + " -o " + path("nowhere/result")), 1);
}

}  // namespace

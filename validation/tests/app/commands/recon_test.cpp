// fhd recon: what it overwrites, and what its results say of themselves.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/simulate.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class Recon : public SmallScanTest {
 protected:
  void simulate(const std::string& name, const std::string& options) const {
    ASSERT_DONE(run("simulate -o " + name + " --matrix 16 --coils 2 " + options));
  }
  int recon(const std::string& arguments) const { return run("recon " + arguments + " --device cpu"); }
};

TEST_F(Recon, an_earlier_result_of_another_scan_is_not_overwritten_without_force) {
  simulate("one", "--seed 1");
  simulate("two", "--seed 2");
  ASSERT_DONE(recon("one.h5 -o out"));
  const auto image = text("out.h5");
  EXPECT_EQ(recon("two.h5 -o out"), 1);
  EXPECT_EQ(
      text("err"),
      "fhd: out.h5: expected a new name, or an earlier result of this scan, found one of one.h5; --force "
      "overwrites it, -o NAME writes beside it\n");
  EXPECT_EQ(text("out").find("image "), std::string::npos) << "refused before the work";
  EXPECT_EQ(text("out.h5"), image);
  std::filesystem::remove(path("out.h5"));  // the report says it as well
  EXPECT_EQ(recon("two.h5 -o out"), 1);
  EXPECT_CONTAINS(text("err"), "fhd: out.json: ");
  EXPECT_DONE(recon("two.h5 -o out --force"));
  EXPECT_EQ(nlohmann::json::parse(text("out.json"))["environment"]["input_path"], "two.h5");
}

TEST_F(Recon, compression_changes_the_sizes_of_files_alone) {
  ASSERT_DONE(run("simulate -o one --matrix 64 --coils 2"));
  const auto bytes = [&](const std::string& name) { return std::filesystem::file_size(path(name)); };
  for (const std::string level : {"0", "1", "9"})
    ASSERT_DONE(recon("one.h5 -o out" + level + " --iterations 3 --compression " + level));
  EXPECT_GT(bytes("out0.nii.gz"), 64 * 64 * sizeof(float));
  EXPECT_LT(bytes("out1.nii.gz"), bytes("out0.nii.gz"));
  EXPECT_NE(bytes("out9.nii.gz"), bytes("out1.nii.gz"));
  EXPECT_LT(bytes("out9.png"), bytes("out1.png"));
  EXPECT_DONE(
      run_command("for i in 0 1 9; do gzip -dc out$i.nii.gz | tail -c +349 > $i.nii; done; "
                  "cmp 0.nii 1.nii && cmp 0.nii 9.nii"));
}

TEST_F(Recon, a_result_of_the_same_scan_is_replaced) {
  simulate("one", "");
  ASSERT_DONE(recon("one.h5 -o out"));
  std::filesystem::copy_file(path("one.h5"), path("copy.h5"));
  EXPECT_EQ(recon("copy.h5 -o out --iterations 2"), 0) << "the content counts: " << text("err");
  std::filesystem::remove(path("out.json"));
  EXPECT_EQ(recon("one.h5 -o out"), 0) << "what is left of a result: " << text("err");
}

TEST_F(Recon, a_run_whose_lines_nobody_reads_writes_its_results) {
  simulate("one", "");
  const auto command =
      tests::program_path() + " recon " + path("one.h5") + " -o " + path("out") + " 2> " + path("err");
  ASSERT_EQ(std::system((command + " | true").c_str()), 0);
  EXPECT_TRUE(std::filesystem::exists(path("out.h5"))) << text("err");
  EXPECT_CONTAINS(text("err"), "standard output");
}

TEST_F(Recon, a_scan_that_is_simulated_again_is_the_same) {
  simulate("one", "--seed 1");
  ASSERT_DONE(recon("one.h5 -o out"));
  ASSERT_EQ(run_command("sleep 1.1"), 0);  // HDF5 would note the second in which a dataset was made
  simulate("one", "--seed 1");
  EXPECT_DONE(recon("one.h5 -o out"));
}

TEST_F(Recon, contrasts_keep_their_names) {
  simulate("one", "--echo-times 2,5");
  ASSERT_DONE(run("info one.h5"));
  EXPECT_CONTAINS(text("out"), "  - repetition 1: contrast 1\n");
  ASSERT_DONE(run("info one.h5 --json"));
  EXPECT_EQ(nlohmann::json::parse(text("out"))["repetition_counters"][1]["contrast"], 1);
  ASSERT_DONE(recon("one.h5 -o out --iterations 3 --repetitions 1"));
  const auto images = nlohmann::json::parse(text("out.json"))["images"];
  EXPECT_EQ(images[0]["counters"],
            (nlohmann::json{{"repetition", 0}, {"contrast", 1}, {"phase", 0}, {"set", 0}, {"slice", 0}}));
  ASSERT_DONE(recon("one.h5 -o out --iterations 3"));
  EXPECT_CONTAINS(text("out"), "image     2 of 2 (contrast 1): ");
  ASSERT_DONE(run("report out.h5"));
  EXPECT_CONTAINS(text("out.html"), "\"1: contrast 1\"");
}

TEST_F(Recon, writes_the_phase_where_asked_for_and_never_over_another_result) {
  simulate("one", "");
  ASSERT_DONE(recon("one.h5 -o out --phase"));
  EXPECT_CONTAINS(text("out"), "wrote     out.h5 out.nii.gz out.png out.json out_phase.nii.gz\n");
  ASSERT_DONE(recon("one.h5 -o out --phase"));
  ASSERT_DONE(recon("one.h5 -o out"));
  EXPECT_CONTAINS(text("out"), "note      out_phase.nii.gz is of an earlier run; this one makes none\n");
  ASSERT_EQ(recon("one.h5 -o out_phase"), 1);
  EXPECT_CONTAINS(text("err"), "fhd: out_phase.nii.gz: ");
  std::filesystem::remove(path("out_phase.nii.gz"));
  ASSERT_DONE(recon("one.h5 -o out_phase"));
  ASSERT_DONE(recon("one.h5 -o out"));
  EXPECT_EQ(text("out").find("note      out_phase"), std::string::npos)
      << "it is the image of another result";
  ASSERT_EQ(recon("one.h5 -o out --phase"), 1);
  EXPECT_CONTAINS(text("err"), "found one of the result out_phase; --force");
  ASSERT_DONE(recon("one.h5 -o out --phase --force"));
}

TEST_F(Recon, files_of_all_stacks_are_checked_where_the_object_has_moved_since_the_first_repetition) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {16, 16, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 2;
  io::ScanSeries series{2, 2, 0, {}};
  series.scans.assign(4, data::simulate(settings).scan);
  series.scans[1].geometry.position_mm = {0, 0, 10};
  auto& moved = series.scans[3].geometry;
  moved.position_mm = {0, 0, 10};
  moved.phase_direction = {0, 0, -1};
  moved.slice_direction = {0, 1, 0};
  io::write_scan(path("scan.mrd"), io::ScanFormat::ismrmrd, series);
  simulate("other", "");
  ASSERT_DONE(recon("other.h5 -o out_2"));
  const auto before = text("out_2.nii.gz");
  EXPECT_EQ(recon("scan.mrd -o out --repetitions 1"), 1);
  EXPECT_CONTAINS(text("err"), "found one of the result out_2; --force");
  EXPECT_EQ(text("out_2.nii.gz"), before);
  EXPECT_FALSE(exists("out_1.nii.gz") || exists("out.h5"));
  EXPECT_DONE(recon("scan.mrd -o first --repetitions 0"));
  EXPECT_TRUE(exists("first.nii.gz")) << "one stack";
}

TEST_F(Recon, settings_are_the_numbers_that_were_used) {
  simulate("one", "");
  ASSERT_DONE(recon("one.h5 -o out --tolerance 1.23456e-3 --lambda 0.0123456"));
  const auto json = nlohmann::json::parse(text("out.json"));
  EXPECT_EQ(json["schema_version"], 3);
  const auto& settings = json["images"][0]["settings"];
  EXPECT_EQ(settings["tolerance"], 1.23456e-3);
  EXPECT_EQ(settings["lambda"], 0.0123456);
  EXPECT_TRUE(settings["iterations"].is_number_integer());
  ASSERT_DONE(run("report out.h5"));
  EXPECT_CONTAINS(text("out.html"), "[\"tolerance\",\"0.00123456\"]") << "the page shows text";
}

}  // namespace
}  // namespace fhd::tests

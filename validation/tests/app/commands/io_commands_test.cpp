// fhd convert and fhd info, as a user calls them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/scan/scan_file.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::io {
namespace {

class CommandTest : public tests::ProgramTest {
 protected:
  struct Outcome {
    int status;
    std::string output, error;
  };
  Outcome fhd(const std::string& arguments) {
    const int status = run(arguments);
    return {status, text("out"), text("err")};
  }
  Scan write_input(const std::string& name = "scan.h5") {
    const auto scan = random_scan({16, 12, 1}, 2, 10, 4);
    write_scan(path(name), ScanFormat::fhd, {1, 1, 10, {scan}});
    return scan;
  }
};
using Convert = CommandTest;
using Info = CommandTest;

TEST_F(Convert, carries_a_scan_through_every_format) {
  const auto scan = write_input();
  for (const char* step : {"scan.h5 a.mrd", "a.mrd b.cfl", "b.cfl c/", "c d.h5", "d.h5 e --to ismrmrd"}) {
    const auto outcome = fhd(std::string("convert ") + step);
    EXPECT_EQ(outcome.status, 0) << step << ": " << outcome.error;
  }
  const auto read = open_scan(path("e"))->read(0, 0);
  EXPECT_EQ(largest_difference(read.kspace.values, scan.kspace.values), 0);
  EXPECT_EQ(largest_difference(read.sensitivity_maps->values, scan.sensitivity_maps->values), 0);
  EXPECT_LE(largest_difference(read.trajectory.k, scan.trajectory.k), 8 * std::ldexp(1.0, -24));
}

TEST_F(Convert, tells_what_is_lost) {
  write_input();
  EXPECT_CONTAINS(fhd("convert scan.h5 scan.cfl").output, "no FOV");
}

TEST_F(Convert, does_not_overwrite_without_force) {
  write_input();
  write_text(path("taken.mrd"), "keep");
  const auto refused = fhd("convert scan.h5 taken.mrd");
  EXPECT_EQ(refused.status, 1);
  EXPECT_CONTAINS(refused.error, "--force");
  EXPECT_EQ(bytes_of(path("taken.mrd")), "keep");
  EXPECT_EQ(fhd("convert scan.h5 taken.mrd --force").status, 0);
  EXPECT_NO_THROW(open_scan(path("taken.mrd")));
}

TEST_F(Convert, never_overwrites_its_input_or_a_part_of_it) {
  write_input();
  const auto before = bytes_of(path("scan.h5"));
  std::filesystem::create_symlink(path("scan.h5"), path("link.h5"));
  ASSERT_EQ(fhd("convert scan.h5 b.cfl").status, 0);
  ASSERT_EQ(fhd("convert scan.h5 folder/").status, 0);
  for (const std::string pair : {"scan.h5 scan.h5", "scan.h5 ./scan.h5", "scan.h5 link.h5",
                                 "b.cfl b_traj.cfl", "b.cfl b_sens.hdr", "folder folder/kx.dat"})
    expect_failure("convert " + pair + " --to fhd --force", 1, "the input, or a part of it");
  EXPECT_EQ(bytes_of(path("scan.h5")), before);
  EXPECT_NO_THROW(open_scan(path("b.cfl"))->read(0, 0));
  EXPECT_NO_THROW(open_scan(path("folder"))->read(0, 0));
}

TEST_F(Convert, refuses_to_leave_the_maps_of_another_scan_beside_a_scan_without) {
  auto scan = write_input();
  ASSERT_EQ(fhd("convert scan.h5 b.cfl").status, 0);
  scan.sensitivity_maps.reset();
  write_scan(path("without.h5"), ScanFormat::fhd, {1, 1, 10, {scan}});
  EXPECT_CONTAINS(fhd("convert without.h5 b.cfl --force").error, "b_sens.hdr");
}

TEST_F(Convert, leaves_nothing_behind_when_it_fails) {
  write_input();
  cut_file(path("scan.h5"), 0.5);
  const auto failed = fhd("convert scan.h5 out.mrd");
  EXPECT_EQ(failed.status, 1);
  EXPECT_CONTAINS(failed.error, "truncated");
  EXPECT_EQ(std::count(failed.error.begin(), failed.error.end(), '\n'), 1);
  EXPECT_FALSE(exists("out.mrd"));
}

TEST_F(Convert, refuses_names_and_options_that_it_does_not_know) {
  write_input();
  EXPECT_CONTAINS(fhd("convert scan.h5 out.xyz").error, "--to");
  EXPECT_EQ(fhd("convert scan.h5 out --to dicom").status, 2);
  for (const char* option : {"--matrix 0", "--matrix 1.5", "--matrix 8,8,8,8", "--matrix 8x", "--matrix nan",
                             "--fov-mm -3", "--trajectory-unit parsec"})
    EXPECT_EQ(fhd(std::string("convert scan.h5 out.mrd ") + option).status, 2) << option;
}

TEST_F(Info, prints_what_a_file_holds) {
  write_input();
  const auto text = fhd("info scan.h5");
  EXPECT_EQ(text.status, 0) << text.error;
  EXPECT_CONTAINS(text.output, "16, 12, 1");
  const auto json = nlohmann::json::parse(fhd("info scan.h5 --json").output);
  EXPECT_EQ(json["format"], "fhd");
  EXPECT_EQ(json["matrix_size"], (std::array{16, 12, 1}));
  EXPECT_EQ(json["coil_count"], 2);
  EXPECT_EQ(json["samples_per_scan"], 40);
}

TEST_F(Info, fails_when_nobody_can_read_its_output) {
  write_input();
  EXPECT_EQ(run_command("'" + program() + "' info scan.h5 > /dev/full"), 1);
  EXPECT_CONTAINS(text("err"), "standard output");
}

TEST_F(Info, as_all_commands_and_help_fails_when_its_output_is_lost) {
  write_input();
  for (const char* arguments : {"--help", "--version", "--version --verbose", "recon --help", "options",
                                "info scan.h5", "check scan.h5", "plan scan.h5"})
    for (const char* lost : {" > /dev/full", " >&-"}) {
      EXPECT_EQ(run_command("'" + program() + "' " + arguments + lost), 1) << arguments << lost;
      const auto error = text("err");
      EXPECT_CONTAINS(error, "fhd: standard output: ");
      EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << arguments << lost << ": " << error;
    }
}

TEST_F(Info, help_tells_the_largest_scan) {
  const auto help = fhd("--help").output;
  EXPECT_CONTAINS(help, "1 to 4096 voxels and 0.001 to 100000 mm");
  EXPECT_CONTAINS(help, "16777216 volumes");
  EXPECT_EQ(fhd("info --help").output.find("4096 voxels"), std::string::npos);
}

TEST_F(Info, tells_a_wrong_option_in_one_line) {
  for (const char* arguments : {"info", "plan a b", "info --nonsense", "nonsense", "recon x --threads -1",
                                "recon x --lambda nan", "recon x --method gridded --lambda 1"}) {
    const auto refused = fhd(arguments);
    EXPECT_EQ(refused.status, 2) << arguments;
    EXPECT_EQ(std::count(refused.error.begin(), refused.error.end(), '\n'), 1) << refused.error;
    EXPECT_TRUE(refused.error.starts_with("fhd: ")) << refused.error;
  }
}

TEST_F(Info, is_listed_where_no_command_is_given) {
  for (const auto& [arguments, status] : {std::pair("", 2), std::pair("help", 0)}) {
    const auto listed = fhd(arguments);
    EXPECT_EQ(listed.status, status);
    EXPECT_CONTAINS(listed.output + listed.error, "info");
    EXPECT_CONTAINS(listed.output + listed.error, "recon");
  }
}

TEST_F(Info, obeys_the_options) {
  write_input();
  for (const auto& [option, expected] :
       {std::pair{"32", std::array{32, 32, 1}}, {"32,24", {32, 24, 1}}, {"32x24x1", {32, 24, 1}}}) {
    const auto json =
        nlohmann::json::parse(fhd(std::string("info scan.h5 --json --matrix ") + option).output);
    EXPECT_EQ(json["matrix_size"], expected);
  }
  const auto json =
      nlohmann::json::parse(fhd("info scan.h5 --json --fov-mm 100 --trajectory-unit cycles/FOV").output);
  EXPECT_EQ(json["fov_mm"], (std::array<double, 3>{100, 100, 64}));
  EXPECT_CONTAINS(json["inferred"].dump(), "--trajectory-unit");
}

}  // namespace
}  // namespace fhd::io

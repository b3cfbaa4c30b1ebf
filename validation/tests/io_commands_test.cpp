// fhd convert and fhd info, as a user calls them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "io/scan_file.hpp"
#include "io_scans.hpp"

namespace fhd::io {
namespace {

class CommandTest : public FolderTest {
 protected:
  struct Outcome {
    int status;
    std::string output, error;
  };
  Outcome fhd(const std::string& arguments) {
    const auto command =
        "cd '" + folder().string() + "' && '" FHD_PROGRAM "' " + arguments + " > .output 2> .error";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), bytes_of(path(".output")), bytes_of(path(".error"))};
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

TEST_F(Convert, never_overwrites_its_input) {
  write_input();
  const auto before = bytes_of(path("scan.h5"));
  std::filesystem::create_symlink(path("scan.h5"), path("link.h5"));
  for (const char* output : {"scan.h5", "./scan.h5", "link.h5"}) {
    const auto refused = fhd(std::string("convert scan.h5 ") + output + " --force");
    EXPECT_EQ(refused.status, 1);
    EXPECT_CONTAINS(refused.error, "the input");
  }
  EXPECT_EQ(bytes_of(path("scan.h5")), before);
}

TEST_F(Convert, leaves_nothing_behind_when_it_fails) {
  write_input();
  cut_file(path("scan.h5"), 0.5);
  const auto failed = fhd("convert scan.h5 out.mrd");
  EXPECT_EQ(failed.status, 1);
  EXPECT_CONTAINS(failed.error, "truncated");
  EXPECT_EQ(std::count(failed.error.begin(), failed.error.end(), '\n'), 1);
  EXPECT_FALSE(std::filesystem::exists(path("out.mrd")));
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
  EXPECT_CONTAINS(text.output, "16 x 12 x 1");
  const auto json = nlohmann::json::parse(fhd("info scan.h5 --json").output);
  EXPECT_EQ(json["format"], "fhd");
  EXPECT_EQ(json["matrix_size"], (std::array{16, 12, 1}));
  EXPECT_EQ(json["coil_count"], 2);
  EXPECT_EQ(json["samples_per_scan"], 40);
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

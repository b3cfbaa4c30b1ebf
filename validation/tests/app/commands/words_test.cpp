// Texts on the terminal, and options: one line, of characters that do nothing, and a usage error where an
// option means nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/scan/scan_file.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class Words : public SmallScanTest {
 protected:
  void prepare() override { ASSERT_DONE(run("simulate -o scan --matrix 16 --coils 1")); }
  /// Nothing but letters, new lines and what UTF-8 needs.
  static void expect_harmless(const std::string& printed) {
    const auto harms = [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7F; };
    EXPECT_TRUE(std::none_of(printed.begin(), printed.end(), harms)) << printed;
  }
  void expect_refused(const std::string& arguments, int status, const std::string& part) const {
    expect_failure(arguments, status, part);
    EXPECT_LE(text("err").size(), 1100u) << arguments;
    expect_harmless(text("err"));
  }
};

/// Runs the commands as a user who may not enter the folder `closed`. Root may enter all.
TEST_F(Words, of_folders_that_may_not_be_entered_say_so) {
  namespace fs = std::filesystem;
  const std::string user = getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  fs::permissions(folder(), fs::perms(0755));
  fs::create_directory(path("closed"));
  fs::create_directory(path("open"));
  fs::permissions(path("open"), fs::perms(0777));
  fs::copy(path("scan.h5"), path("closed/scan.h5"));
  fs::permissions(path("closed"), fs::perms(user.empty() ? 0000 : 0700));
  if (run_command(user + "test -x '" + program() + "' -a ! -x closed") != 0)
    GTEST_SKIP() << "no setpriv, or nobody else may run " << program();
  for (const std::string arguments : {"info closed/scan.h5",
                                      "info closed/x.cfl",
                                      "plan closed/scan.h5",
                                      "convert scan.h5 closed/x.mrd",
                                      "convert scan.h5 closed/x.cfl",
                                      "convert closed/scan.h5 open/x.mrd",
                                      "recon closed/scan.h5 -o open/out",
                                      "recon scan.h5 -o closed/sub/out",
                                      "recon scan.h5 -o open/out --maps closed/x.h5",
                                      "recon scan.h5 -o open/out --prior closed/x.nii",
                                      "recon scan.h5 -o open/out --gate closed/x.txt",
                                      "recon scan.h5 -o open/out --ismrmrd-images closed/x.h5",
                                      "recon scan.h5 -o open/out --dicom closed/series",
                                      "report closed/x.h5 -o open/page.html",
                                      "report closed",
                                      "compare closed/scan.h5 -o open/out",
                                      "simulate -o closed/sub/x --matrix 8",
                                      "batch @closed/list -o open/all",
                                      "batch closed/scan.h5 -o open/all",
                                      "serve --configs closed/sub"}) {
    const int status = run_command(user + "'" + program() + "' " + arguments);
    EXPECT_TRUE(status == 1 || status == 2) << arguments << ": " << status;
    const auto line = text("err");
    if (contains(line, "which a build with DCMTK makes")) continue;
    EXPECT_CONTAINS(line, "Permission denied; ask its owner for the permission, or choose another");
    EXPECT_EQ(line.find("unexpected failure"), std::string::npos) << arguments;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  }
  fs::permissions(path("closed"), fs::perms(0700));
}

TEST_F(Words, of_files_do_nothing_to_a_terminal) {
  const std::string file = "../shared/hostile/terminal_escape.h5";
  const auto source = std::filesystem::path(FHD_SOURCE) / file;
  if (!std::filesystem::exists(source)) GTEST_SKIP() << "no " << file;
  for (const std::string command :
       {"info", "check", "info --json", "check --json", "recon -o out --device cpu",
        "recon -o out --device cpu --force --json-lines"}) {
    run(command + " '" + source.string() + "'");
    EXPECT_NE(text("out") + text("err"), "") << command;
    expect_harmless(text("out"));
    expect_harmless(text("err"));
  }
}

TEST_F(Words, of_names_do_nothing_to_a_terminal) {
  const std::string name =
      "a\x1b[2J\x7f\xc2\x9b"
      "b";
  std::filesystem::copy(path("scan.h5"), path(name + ".h5"));
  const auto shown =
      "a\\x1b[2J\\x7f\\xc2\\x9b"
      "b";
  for (const std::string command : {"info", "check", "recon --device cpu", "report"}) {
    EXPECT_DONE(run(command + " '" + name + (command == "report" ? "_recon.h5'" : ".h5'")));
    EXPECT_CONTAINS(text("out"), shown);
    expect_harmless(text("out"));
  }
  EXPECT_LACKS(text(name + "_recon.html"), "\x1b");
  EXPECT_DONE(run("batch '" + name + ".h5' -o results --device cpu"));
  expect_harmless(text("out") + text("results/batch.log"));
  EXPECT_DONE(run("recon --device cpu --force --json-lines '" + name + ".h5'"));
  expect_harmless(text("out"));
  EXPECT_LACKS(text("out"), "\xc2") << "events are ASCII";
  std::istringstream lines(text("out"));
  for (std::string line; std::getline(lines, line);)
    if (const auto event = nlohmann::json::parse(line); event.at("event") == "scan") {
      EXPECT_EQ(event.at("path"), name + ".h5") << "a program gets the name itself";
    }
}

TEST_F(Words, of_an_error_are_not_too_many) {
  expect_refused("recon scan.h5 -o out --coils " + std::string(60000, 'x'), 2, "found 'xxx");
  expect_refused("info " + std::string(60000, 'x'), 1, " [...] ");
}

TEST_F(Words, an_option_without_a_value_is_a_usage_error) {
  for (const std::string option : {"--tolerance", "--lambda", "--prior", "--cache", "--recipe", "--trace",
                                   "--coils", "--matrix", "--device", "--gate", "-o", "--slices"}) {
    expect_refused("recon scan.h5 " + option + " ''", 2, option.substr(0, 2) == "--" ? option : "--output");
    if (option != "-o") expect_refused("recon " + option + "= scan.h5", 2, option);
  }
  expect_refused("batch scan.h5 -o ''", 2, "expected a value, found none");
  expect_refused("info ''", 2, "expected a value, found none");
  write_text(path("recipe.toml"), "lambda = \"\"\n");
  expect_refused("recon scan.h5 --recipe recipe.toml", 2, "recipe.toml:1");
  expect_refused("batch scan.h5 -o out --recipe recipe.toml", 2, "recipe.toml:1");
}

TEST_F(Words, that_are_no_number_in_the_range_are_refused) {
  for (const std::string option : {"--input-memory", "--input-seconds"})
    for (const std::string value : {"nan", "-nan", "inf", "0", "-1", "1e300", "0x10", "1 "})
      expect_refused("info scan.h5 " + option + "='" + value + "'", 2,
                     option + ": expected a number from 0.001 to ");
  for (const std::string value : {"-1", "nan", "10", "1.5"})
    expect_refused("recon scan.h5 --compression=" + value, 2,
                   "--compression: expected a whole number from 0 to 9");
  for (const std::string option : {"--tolerance", "--accuracy", "--lambda", "--prior-strength"})
    expect_refused("recon scan.h5 --device cpu -o out " + option + "=nan", 2, option);
}

TEST_F(Words, of_a_list_hold_no_nul) {
  write_text(path("list"), std::string("scan.h5\nsc\0an.h5\n", 16));
  expect_refused("batch @list -o out", 2, "@list:2: expected the name of a scan, found a NUL character");
  write_text(path("recipe.json"), "{\"prior\": \"a\\u0000b\"}");
  expect_refused("recon scan.h5 --recipe recipe.json", 1,
                 "recipe.json: prior: expected a value without a NUL character");
}

TEST_F(Words, that_are_no_size_are_refused) {
  for (const char* fov : {"1e-300", "1e-4", "1e6", "nan", "220,1e-300"})
    expect_refused("recon scan.h5 -o out --fov-mm " + std::string(fov), 2,
                   "--fov-mm: expected one to three lengths in mm from 0.001 to 100000");
  auto scan = io::random_scan({16, 16, 1}, 1, 16, 16);
  scan.geometry.fov_mm = {1e-300, 200, 5};
  io::write_scan(path("tiny.h5"), io::ScanFormat::fhd, {1, 1, 16, {scan}});
  expect_refused("info tiny.h5", 1, "tiny.h5: expected a FOV from 0.001 to 100000 mm along each axis, or 0");
  EXPECT_DONE(run("info tiny.h5 --fov-mm 200"));
}

TEST_F(Words, a_timeline_is_none_of_the_results) {
  expect_refused("recon scan.h5 -o out --device cpu --trace out.json", 1, "found another file");
  EXPECT_CONTAINS(text("out.json"), "\"program\"");
}

TEST_F(Words, about_options_say_what_is_wrong) {
  expect_refused("options --format x", 2, "--format");
  EXPECT_LACKS(text("err"), "unknown command");
  expect_refused("options recon --format bash", 2, "COMMAND with --format bash");
  expect_refused("options recon --folder out", 2, "COMMAND with --folder");
  expect_refused("options --folder /proc/x", 1,
                 "--folder /proc/x: expected a folder, or a place where one can be made");
  expect_refused("serve --host nonsense", 2, "expected an IPv4 address such as 127.0.0.1, found 'nonsense'");
}

TEST_F(Words, about_a_directory_without_k_space_say_what_is_missing) {
  ASSERT_DONE(run("convert scan.h5 parts/"));
  std::filesystem::remove(path("parts/kdata_r.dat"));
  EXPECT_DONE(run("info parts"));
  EXPECT_CONTAINS(text("out"), "There is no k-space");
  for (const char* command : {"recon parts -o out --device cpu", "plan parts", "convert parts copy.h5"})
    expect_refused(command, 1, "expected k-space in kdata_r.dat and kdata_i.dat, found only a trajectory");
}

}  // namespace
}  // namespace fhd::tests

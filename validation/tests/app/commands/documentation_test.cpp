// Manual pages and completions say what the parser knows, in a form that man and the shells read without complaint.
#include <gtest/gtest.h>

#include <sstream>

#include "validation/tests/io/io_scans.hpp"  // EXPECT_CONTAINS
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class Documentation : public ProgramTest {
 protected:
  bool has(const std::string& tool) const { return run_command("command -v " + tool) == 0; }
  std::string printed(const std::string& arguments) const {
    EXPECT_EQ(run(arguments), 0) << text("err");
    return text("out");
  }
  /// The words that bash offers behind `line`, one a line, sorted.
  std::string offered(const std::string& line) const {
    EXPECT_EQ(run_command("bash -c 'source \"$1\"; COMP_LINE=$2; COMP_POINT=${#2}; _fhd; "
                          "printf \"%s\\n\" \"${COMPREPLY[@]}\"' bash fhd.bash '" +
                          line + "' | LC_ALL=C sort"),
              0)
        << text("err");
    EXPECT_EQ(text("err"), "") << line;
    return text("out");
  }
  void write_bash() const { write_text(path("fhd.bash"), printed("options --format bash")); }
};

/// The long options that --help of a command shows.
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const auto dashes = line.find("--");
    if (!line.starts_with("  -") || dashes == std::string::npos) continue;
    names.push_back(line.substr(dashes, line.find_first_of(" ,=", dashes) - dashes));
  }
  return names;
}

TEST_F(Documentation, every_option_of_a_command_is_on_its_page) {
  for (const std::string command : {"recon", "batch", "simulate", "check"}) {
    const auto names = options_in(printed(command + " --help"));
    ASSERT_GT(names.size(), 3u) << command;
    std::string page = printed("options --format man " + command);
    for (std::size_t at; (at = page.find("\\-")) != std::string::npos;) page.erase(at, 1);
    for (const auto& name : names) EXPECT_CONTAINS(page, "\\fB" + name + "\\fR");
  }
}

TEST_F(Documentation, pages_are_read_without_a_warning) {
  ASSERT_EQ(run("options --folder share"), 0) << text("err");
  int pages = 0;
  for (const auto& page : std::filesystem::directory_iterator(path("share/man/man1"))) {
    ++pages;
    const auto name = "'" + page.path().string() + "'";
    if (has("groff")) {
      EXPECT_EQ(run_command("groff -man -Tutf8 -ww -z " + name), 0);
      EXPECT_EQ(text("err"), "") << name;
    }
    if (has("mandoc")) {
      run_command("mandoc -Tlint -W warning " + name + " | grep -v 'missing date'");
      EXPECT_EQ(text("out"), "") << name;
    }
  }
  EXPECT_GE(pages, 13);  // the program and its commands
  EXPECT_FALSE(std::filesystem::exists(path("share/man/man1/fhd-options.1")));
}

TEST_F(Documentation, bash_offers_commands_options_and_values) {
  if (!has("bash")) GTEST_SKIP() << "no bash";
  write_bash();
  EXPECT_EQ(offered("fhd rec"), "recon\n");
  EXPECT_CONTAINS(offered("fhd "), "batch\n");
  EXPECT_EQ(offered("fhd recon scan.h5 --precon"), "--preconditioner\n");
  EXPECT_EQ(offered("fhd recon --method "), "adjoint\ncg\nfft\ngridded\n");
  EXPECT_EQ(offered("fhd recon --method=gr"), "gridded\n");  // bash puts it behind the =
  EXPECT_EQ(offered("fhd recon --device cuda:"), "all\n");   // and behind the :
  EXPECT_EQ(offered("fhd recon --strict --lambda a"), "auto\n");
  EXPECT_EQ(offered("fhd bench l"), "ladder\n");
  EXPECT_EQ(offered("fhd recon --iterations "), "\n") << "a number has no words";
  EXPECT_EQ(offered("fhd nonsense --x"), "\n");
}

TEST_F(Documentation, bash_offers_files_where_an_option_takes_one) {
  if (!has("bash")) GTEST_SKIP() << "no bash";
  write_bash();
  write_text(path("a scan.h5"), "");
  std::filesystem::create_directory(path("a_folder"));
  EXPECT_EQ(offered("fhd recon a"), "a scan.h5\na_folder\n");
  EXPECT_EQ(offered("fhd recon --strict a"), "a scan.h5\na_folder\n") << "a flag takes nothing";
  EXPECT_EQ(offered("fhd batch x -o a"), "a_folder\n");
  EXPECT_EQ(offered("fhd recon x --field-map a"), "a scan.h5\na_folder\nauto\n");
}

TEST_F(Documentation, fish_offers_commands_and_values) {
  if (!has("fish")) GTEST_SKIP() << "no fish";
  write_text(path("fhd.fish"), printed("options --format fish"));
  const auto offers = [&](const std::string& line) {
    EXPECT_EQ(run_command("HOME=$PWD PATH=\"$(dirname '" + program() +
                          "'):$PATH\" fish --no-config -c "
                          "'source fhd.fish; complete -C \"" +
                          line + "\" | cut -f 1'"),
              0);
    EXPECT_EQ(text("err"), "");
    return text("out");
  };
  EXPECT_EQ(offers("fhd rec"), "recon\n");
  EXPECT_EQ(offers("fhd recon --method "), "adjoint\ncg\nfft\ngridded\n");
  EXPECT_CONTAINS(offers("fhd recon --field-map a"), "auto\n");
}

TEST_F(Documentation, zsh_reads_every_specification) {
  if (!has("zsh")) GTEST_SKIP() << "no zsh";
  write_text(path("_fhd"), printed("options --format zsh"));
  ASSERT_EQ(run_command("zsh -n _fhd"), 0) << text("err");
  // _arguments, replaced, prints what it is given: one specification a line, as the quotes of the file make it.
  ASSERT_EQ(
      run_command(
          "zsh -f -c '_arguments() { print -rl -- \"$@\" }; _describe() { : }; source ./_fhd; _fhd_recon'"),
      0)
      << text("err");
  EXPECT_EQ(text("err"), "");
  EXPECT_CONTAINS(text("out"),
                  "\n--strict[fail, and write nothing, where the image or the scan is suspicious]\n");
  EXPECT_CONTAINS(text("out"), ":{cg,gridded,adjoint,fft}:(cg gridded adjoint fft)\n");
  EXPECT_CONTAINS(text("out"), ":auto|cpu|cuda|cuda\\:all|GPUS:(auto cpu cuda cuda\\:all)\n");
  EXPECT_CONTAINS(text("out"), "(-o --output)--output=[");
}

TEST_F(Documentation, an_unknown_page_is_refused) {
  EXPECT_EQ(run("options recn"), 2);
  EXPECT_CONTAINS(text("err"),
                  "fhd: COMMAND: expected a command of fhd, found 'recn'; did you mean 'recon'?");
}

TEST_F(Documentation, the_version_tells_libraries_and_devices_where_asked) {
  const auto brief = printed("--version");
  EXPECT_EQ(std::count(brief.begin(), brief.end(), '\n'), 1) << brief;
  const auto all = printed("--version --verbose");
  EXPECT_TRUE(all.starts_with(brief.substr(0, brief.size() - 1))) << all;
  for (const char* what :
       {"\ninstruction set  ", "\nGPU", "\nFFTW             fftw-3.", "\nHDF5             ",
        "\nISMRMRD          ", "\nOpenBLAS         ", "\nMPI              ", "\nCUDA toolkit"})
    EXPECT_CONTAINS(all, what);
  EXPECT_EQ(printed("--verbose --version"), all);
  EXPECT_EQ(run("--verbose"), 2);
}

}  // namespace
}  // namespace fhd::tests

// Manual pages and completions say what the parser knows, in a form that man and the shells read without complaint.
#include <gtest/gtest.h>

#include <sstream>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class Documentation : public ProgramTest {
 protected:
  bool has(const std::string& tool) const { return run_command("command -v " + tool) == 0; }
  std::string printed(const std::string& arguments) const {
    EXPECT_DONE(run(arguments));
    return text("out");
  }
  /// The lines that a command of a shell prints, with the program in front of the path, sorted.
  std::string sorted(const std::string& command) const {
    EXPECT_DONE(run_command("HOME=$PWD PATH=\"$(dirname '" + program() + "'):$PATH\" " + command +
                            " | LC_ALL=C sort"));
    EXPECT_EQ(text("err"), "") << command;
    return text("out");
  }
  /// Returns what bash offers behind `line`.
  std::string offered(const std::string& line) const {
    return sorted(
        "bash -c 'source \"$1\"; COMP_LINE=$2; COMP_POINT=${#2}; _fhd; printf \"%s\\n\" "
        "\"${COMPREPLY[@]}\"' bash fhd.bash '" +
        line + "'");
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

TEST_F(Documentation, pages_describe_each_command_with_examples_that_it_takes) {
  ASSERT_DONE(run("options --folder share"));
  for (const auto& file : std::filesystem::directory_iterator(path("share/man/man1"))) {
    auto page = bytes_of(file.path());
    for (std::size_t at; (at = page.find("\\-")) != std::string::npos;) page.erase(at, 1);
    const auto name = file.path().stem().string();  // fhd-recon
    EXPECT_CONTAINS(page, ".SH DESCRIPTION\n");
    const auto begin = page.find(".SH EXAMPLES\n");
    ASSERT_NE(begin, std::string::npos) << name;
    std::istringstream lines(page.substr(begin, page.find(".SH ", begin + 1) - begin));
    int examples = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("\\fBfhd ")) continue;
      ++examples;
      std::istringstream words(line.substr(3, line.rfind("\\fR") - 3));
      std::string word, command;
      words >> word >> command;
      if (name != "fhd") {
        EXPECT_EQ("fhd-" + command, name) << line;
      }
      if (command == "help") words >> command;
      const auto known = options_in(printed(command + " --help"));
      while (words >> word)
        if (word.starts_with("--")) {
          EXPECT_NE(std::find(known.begin(), known.end(), word), known.end()) << line;
        }
    }
    EXPECT_GE(examples, 1) << name;
  }
}

TEST_F(Documentation, pages_are_read_without_a_warning) {
  ASSERT_DONE(run("options --folder share"));
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
  EXPECT_FALSE(exists("share/man/man1/fhd-options.1"));
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
  EXPECT_EQ(offered("fhd recon --regularizer "), "identity\nllr\nroughness\ntemporal-tv\ntgv\ntv\nwavelet\n");
  EXPECT_EQ(offered("fhd recon --regularizer=w"), "wavelet\n");
  EXPECT_EQ(offered("fhd recon --regularizer identity,w"), "identity,wavelet\n");
  EXPECT_EQ(offered("fhd recon --regularizer wavelet:0.01,tg"), "0.01,tgv\n");
  EXPECT_EQ(offered("fhd simulate --snr "), "none\n");
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
    return sorted("fish --no-config -c 'source fhd.fish; complete -C \"" + line + "\" | cut -f 1'");
  };
  EXPECT_EQ(offers("fhd rec"), "recon\n");
  EXPECT_EQ(offers("fhd recon --method "), "adjoint\ncg\nfft\ngridded\n");
  EXPECT_CONTAINS(offers("fhd recon --field-map a"), "auto\n");
  EXPECT_EQ(offers("fhd recon --regularizer ro"), "roughness\n");
}

TEST_F(Documentation, zsh_offers_commands_and_values) {
  if (!has("zsh")) GTEST_SKIP() << "no zsh";
  write_text(path("_fhd"), printed("options --format zsh"));
  const auto offers = [&](const std::string& words, const std::string& ignored = {}) {
    return sorted("zsh -f -c 'compset() { IPREFIX=" + ignored +
                  " }; _files() { print file }; "
                  "_describe() { print -rl -- \"${(@P)2}\" }; words=(" +
                  words + "); CURRENT=$#words; source ./_fhd'");
  };
  EXPECT_EQ(offers("fhd rec"), "recon:reconstruct an image from a scan file\n");
  EXPECT_EQ(offers("fhd recon --method \"\""), "adjoint\ncg\nfft\ngridded\n");
  EXPECT_EQ(offers("fhd recon --device=cuda:", "--device="), "cuda\\:all\n");
  EXPECT_EQ(offers("fhd recon --field-map \"\""), "auto\nfile\noff\n");
  EXPECT_EQ(offers("fhd recon --regularizer tg"), "tgv\n");
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

// Mistyped command lines, and both streams in one pipe.
#include <gtest/gtest.h>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class CommandLine : public ProgramTest {
 protected:
  /// The one line of a command line that is wrong usage.
  std::string refusal(const std::string& arguments) const {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_EQ(text("out"), "");
    const auto line = text("err");
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    return line.substr(0, line.size() - 1);
  }
};

TEST_F(CommandLine, an_unknown_command_gets_the_nearest) {
  EXPECT_EQ(refusal("recn scan.h5"), "fhd: unknown command 'recn': did you mean 'recon'?");
  EXPECT_EQ(refusal("Reocn scan.h5 --coils espirit"), "fhd: unknown command 'Reocn': did you mean 'recon'?");
  EXPECT_EQ(refusal("sim"), "fhd: unknown command 'sim': did you mean 'simulate'?");
  EXPECT_EQ(refusal("reconstruct scan.h5"), "fhd: unknown command 'reconstruct': did you mean 'recon'?");
  EXPECT_EQ(refusal("-o x recon scan.h5"), "fhd: options stand behind the command: fhd recon -o ...");
  EXPECT_EQ(refusal("/dev/null"), "fhd: /dev/null is a file: 'fhd recon /dev/null' reconstructs it");
  EXPECT_EQ(refusal("nonsense"), "fhd: unknown command 'nonsense'; see 'fhd --help'");
  EXPECT_EQ(refusal("help recons"), "fhd: unknown command 'recons': did you mean 'recon'?");
  EXPECT_EQ(refusal("''"), "fhd: unknown command ''; see 'fhd --help'");
}

TEST_F(CommandLine, an_unknown_option_gets_the_nearest) {
  EXPECT_EQ(refusal("recon scan.h5 --cois espirit"), "fhd: unknown option --cois: did you mean --coils?");
  EXPECT_EQ(refusal("recon --cois espirit"), "fhd: unknown option --cois: did you mean --coils?")
      << "what is missing because of it does not matter";
  EXPECT_EQ(refusal("recon scan.h5 --lamda=auto"), "fhd: unknown option --lamda: did you mean --lambda?");
  EXPECT_EQ(refusal("recon scan.h5 -coils auto"), "fhd: unknown option -coils: did you mean --coils?");
  EXPECT_EQ(refusal("batch scans --iter 3 -o d"), "fhd: unknown option --iter: did you mean --iterations?");
  EXPECT_EQ(refusal("info scan.h5 --device-memory-mbi 4"),
            "fhd: unknown option --device-memory-mbi; see 'fhd info --help'");
  EXPECT_EQ(refusal("recon scan.h5 --device-memory-mbi 4"),
            "fhd: unknown option --device-memory-mbi: did you mean --device-memory?")
      << "hidden options are not advertised";
  EXPECT_EQ(refusal("--verson"), "fhd: unknown option --verson: did you mean --version?");
  const auto long_line = refusal("info " + std::string(3000, 'x') + " --" + std::string(3000, 'y'));
  EXPECT_TRUE(long_line.starts_with("fhd: unknown option --yyy")) << long_line;
  EXPECT_TRUE(long_line.ends_with("; see 'fhd info --help'")) << long_line;
  EXPECT_LE(long_line.size(), 1100u) << "without its middle";
}

TEST_F(CommandLine, an_option_of_other_programs_gets_its_name_here) {
  for (const auto& [theirs, ours] : {std::pair{"max-iter", "iterations"},
                                     {"n_iter", "iterations"},
                                     {"l2-reg", "lambda"},
                                     {"tol", "tolerance"},
                                     {"smaps", "maps"},
                                     {"gpu", "device"},
                                     {"b0", "field-map"}})
    EXPECT_EQ(refusal(std::string("recon scan.h5 --") + theirs + " 5"),
              std::string("fhd: unknown option --") + theirs + ": did you mean --" + ours + "?");
}

TEST_F(CommandLine, a_word_too_many_gets_its_place) {
  for (const auto* file : {"a.h5", "b.h5", "a.png"}) write_text(path(file), "");
  EXPECT_EQ(refusal("recon a.h5 b.h5"),
            "fhd: recon takes one scan, found another: b.h5; 'fhd batch SCANS -o FOLDER' takes several");
  for (const std::string result : {"out.png", "a.png", "c.h5", "brain"})
    EXPECT_EQ(refusal("recon a.h5 " + result),
              "fhd: recon has no place for '" + result + "'; -o " + result + " names the result");
  EXPECT_EQ(refusal("simulate out"), "fhd: simulate has no place for 'out'; -o out names the result");
  EXPECT_EQ(refusal("plan a.h5 b.h5"), "fhd: plan has no place for 'b.h5'; see 'fhd plan --help'");
}

TEST_F(CommandLine, without_a_word_lists_the_commands_and_how_to_begin) {
  EXPECT_EQ(run(""), 2);
  EXPECT_EQ(text("err"), "");
  EXPECT_CONTAINS(text("out"), "\n  recon      reconstruct an image from a scan file\n");
  EXPECT_CONTAINS(text("out"), "\n  fhd recon radial.h5    make its image");
}

TEST_F(CommandLine, an_unknown_value_gets_the_nearest) {
  EXPECT_EQ(refusal("recon scan.h5 --coils espirt"),
            "fhd: --coils: expected auto, file, none, espirit, adaptive, joint, found 'espirt'; did you mean "
            "'espirit'?");
  EXPECT_EQ(refusal("convert a b --to ISMRMR"),
            "fhd: --to: expected fhd, ismrmrd, bart, impatient, found 'ISMRMR'; did you mean "
            "'ismrmrd'?");
  EXPECT_EQ(refusal("recon scan.h5 --method xyz"),
            "fhd: --method: expected cg, gridded, adjoint, fft, found 'xyz'; see 'fhd recon --help'");
  for (const std::string line :
       {"recon s --device cud", "simulate -o s --trajectory spirl", "recon s --zeros measurd"})
    EXPECT_CONTAINS(refusal(line), "did you mean '");
}

TEST_F(CommandLine, an_unknown_key_of_a_recipe_gets_the_nearest) {
  ASSERT_EQ(run("simulate -o scan --matrix 16 --coils 1"), 0);
  write_text(path("recipe.toml"), "lamda = 1e-3\n");
  EXPECT_CONTAINS(
      refusal("batch scan.h5 -o results --recipe recipe.toml"),
      "recipe.toml:1: expected an option of 'fhd batch' that may differ between scans, found 'lamda'; "
      "did you mean 'lambda'?");
}

TEST_F(CommandLine, lines_keep_their_order_where_both_streams_are_one) {
  ASSERT_EQ(run("simulate -o scan --matrix 16 --coils 2"), 0);
  ASSERT_EQ(run("simulate -o other --matrix 16 --coils 1"), 0);
  ASSERT_DONE(run("recon other.h5 -o out --device cpu"));
  run_command("'" + program() + "' recon scan.h5 -o out --device cpu 2>&1 | cat");
  EXPECT_TRUE(text("out").starts_with("scan      scan.h5")) << text("out");
  EXPECT_CONTAINS(text("out"), "\nfhd: out.");
}

TEST_F(CommandLine, an_error_is_told_where_nobody_reads_what_comes_before) {
  ASSERT_EQ(run("simulate -o scan --matrix 16 --coils 2"), 0);
  run_command("{ sleep 1; '" + program() + "' recon scan.h5 --slices 7; } | true");
  EXPECT_CONTAINS(text("err"), "fhd: --slices: ");
}

}  // namespace
}  // namespace fhd::tests

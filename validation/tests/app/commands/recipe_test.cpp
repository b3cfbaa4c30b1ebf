// --recipe on commands of one scan, and --name of batches.
#include <gtest/gtest.h>
#include <ismrmrd/dataset.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class Recipe : public ProgramTest {
 protected:
  void simulate(const std::string& name) {
    ASSERT_DONE(run("simulate -o " + name + " --matrix 24 --coils 1"));
  }
  /// The iterations that a report tells.
  int iterations(const std::string& name) const {
    return nlohmann::json::parse(text(name + ".json")).at("images").at(0).at("iterations");
  }
  /// Returns the options that --help of the command lists.
  std::set<std::string> options_of(const std::string& command) const {
    run(command + " --help");
    std::istringstream lines(text("out"));
    std::set<std::string> options;
    static const std::regex start("^ +(?:-\\w,)?--([a-z0-9-]+).*");
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_match(line, found, start) && found[1] != "help") options.insert(found[1]);
    EXPECT_GE(options.size(), 10u);
    return options;
  }
  void add_to_header(const std::string& name, const std::string& xml) {
    ISMRMRD::Dataset dataset(path(name + ".h5").c_str(), "dataset", false);
    std::string header;
    dataset.readHeader(header);
    header.insert(header.find('>', header.find("<ismrmrdHeader")) + 1, xml);
    dataset.writeHeader(header);
  }
};

TEST_F(Recipe, gives_options_to_the_scans_that_it_names_and_the_command_line_goes_before_it) {
  simulate("a");
  simulate("b");
  write_text(path("recipe.toml"), "iterations = 2\ntolerance = 0\n[\"b*\"]\niterations = 3\n");
  ASSERT_DONE(run("recon a.h5 --recipe recipe.toml --device cpu"));
  ASSERT_DONE(run("recon b.h5 --recipe recipe.toml --device cpu"));
  EXPECT_EQ(iterations("a_recon"), 2);
  EXPECT_EQ(iterations("b_recon"), 3);
  write_text(path("recipe.json"),
             "{\"iterations\": 2, \"tolerance\": 0, \"phase\": true, \"no_gridded_image\": false, "
             "\"fov_mm\": [200, 180], \"precision\": \"double\"}");
  ASSERT_DONE(run("recon a.h5 -o by_recipe --recipe recipe.json --iterations 4 --device cpu"));
  EXPECT_EQ(iterations("by_recipe"), 4);
  EXPECT_TRUE(exists("by_recipe_phase.nii.gz")) << "a flag that is true";
  ASSERT_DONE(run(
      "recon a.h5 -o typed --iterations 4 --tolerance 0 --fov-mm 200,180 --precision double --device cpu"));
  const auto by_recipe = io::read_image(path("by_recipe.h5")), typed = io::read_image(path("typed.h5"));
  const auto& values = typed.images.at(0).in_double;
  ASSERT_FALSE(values.empty());
  ASSERT_EQ(by_recipe.images.at(0).in_double.size(), values.size());
  for (std::int64_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(by_recipe.images[0].in_double[i] == values[i]) << i;
}

TEST_F(Recipe, one_serves_every_command) {
  simulate("a");
  write_text(path("recipe.toml"),
             "iterations = 3\nmethod = \"cg\"\nphase = true\n[\"a*\"]\nmatrix = 20\n[\"b*\"]\nmatrix = 24\n");
  const std::string refusal = "expected |k| <= 10 cycles/FOV for a matrix of 20, found 12";
  EXPECT_EQ(run("check a.h5 --recipe recipe.toml"), 1);
  EXPECT_CONTAINS(text("out"), refusal);
  EXPECT_EQ(run("plan a.h5 --recipe recipe.toml"), 1);
  EXPECT_CONTAINS(text("err"), refusal);
  EXPECT_EQ(run("compare a.h5 --recipe recipe.toml"), 1);
  EXPECT_CONTAINS(text("err"), refusal);
  std::filesystem::rename(path("a.h5"), path("b.h5"));
  EXPECT_EQ(run("check b.h5 --recipe recipe.toml"), 0) << text("out");
  ASSERT_EQ(run("simulate -o late --matrix 24 --coils 1 --delay 2,2"), 0);
  write_text(path("strict.toml"), "strict = true\n");
  EXPECT_EQ(run("check late.h5"), 0) << text("out");
  EXPECT_EQ(run("check b.h5 late.h5 --recipe strict.toml"), 1) << text("out");
  ASSERT_DONE(run("plan b.h5 --recipe recipe.toml --json"));
  EXPECT_EQ(nlohmann::json::parse(text("out")).at("devices").at(0).at("iterations").at("most"), 3);
  ASSERT_DONE(run("compare b.h5 -o compared --recipe recipe.toml --device cpu"));
  EXPECT_CONTAINS(text("compared.json"), "\"iterations\": 3,");
  write_text(path("refused.toml"), "[\"a*\"]\nmatrix = 0\n");
  EXPECT_EQ(run("check a.h5 --recipe refused.toml"), 2);
  EXPECT_CONTAINS(text("err"), "refused.toml:2: ");
}

TEST_F(Recipe, what_is_wrong_in_it_is_told_with_its_line) {
  simulate("a");
  const std::pair<std::string, const char*> wrong[] = {
      {"\nlamda = 1\n",
       "recipe.toml:2: expected an option of 'fhd recon', found 'lamda'; did you mean 'lambda'?"},
      {"iterations = \"x\"\n", "recipe.toml:1: "},
      {"method = \"cgg\"\n", "recipe.toml:1: --method: expected cg, gridded, adjoint, fft, found 'cgg'"},
      {"recipe = \"other.toml\"\n", "recipe.toml:1: expected an option of 'fhd recon', found 'recipe'"},
      {"port = 9002\n", "recipe.toml:1: expected an option of 'fhd recon', found 'port'"},
      {std::string((1 << 20) + 1, ' '),
       "expected a TOML or JSON file of at most 1048576 bytes, found 1048577"},
      {"lambda = \n", "recipe.toml:1: expected TOML"}};
  for (const auto& [content, line] : wrong) {
    write_text(path("recipe.toml"), content);
    EXPECT_NE(run("recon a.h5 --recipe recipe.toml --device cpu"), 0) << content;
    EXPECT_CONTAINS(text("err"), line);
    EXPECT_FALSE(exists("a_recon.h5"));
  }
  EXPECT_EQ(run("recon a.h5 --recipe nothing.toml"), 1);
  EXPECT_CONTAINS(text("err"), "fhd: nothing.toml: expected a TOML or JSON file, found none");
}

TEST_F(Recipe, that_nests_deeper_than_the_stack_is_long_is_refused) {
  simulate("a");
  const auto repeated = [](const std::string& piece) {
    std::string text;
    for (int i = 0; i < 40000; ++i) text += piece;
    return text;
  };
  const auto dots = repeated("a.");
  for (const auto& content : {dots + "a=1", "[" + dots + "a]", "[[" + dots + "a]]", "x={" + dots + "a=1}",
                              "x=" + repeated("["), "x=" + repeated("{a=")}) {
    write_text(path("deep.toml"), "lambda = 1\n" + content + "\n");
    expect_failure("recon a.h5 -o q --recipe deep.toml", 1, "fhd: deep.toml:2: expected ");
  }
  write_text(path("deep.toml"), "x=" + repeated("[{a.a.a.a.a.a.a.a=\n"));  // each line within the bound
  expect_failure("batch a.h5 -o r --recipe deep.toml", 2, "deep.toml:");
  write_text(path("deep.json"), repeated("{\"a\":"));
  expect_failure("recon a.h5 --recipe deep.json", 1, "deep.json: expected lists and objects at most 64 deep");
}

/// Every option of a command that takes recipes is one that a recipe may give, or is among those that it may not. A new one
/// is of the command line until somebody has decided.
TEST_F(Recipe, gives_no_option_that_writes_overwrites_or_trusts) {
  simulate("a");
  const std::map<std::string, std::set<std::string>> of_command_line{
      {"recon",
       {"output", "force", "quiet", "verbose", "dicom", "ismrmrd-images", "trace", "recipe", "json-lines",
        "trust-input", "input-memory", "input-seconds", "cache"}},
      {"batch",
       {"output", "recipe", "name", "at-once", "memory-mib", "accept-version", "quiet", "device",
        "device-memory", "trace", "json-lines", "trust-input", "input-memory", "input-seconds", "threads",
        "cache", "list", "only", "shard"}},
      {"check", {"recipe", "json", "trust-input", "input-memory", "input-seconds"}},
      {"plan", {"json", "recipe", "trust-input", "input-memory", "input-seconds", "cache"}},
      {"compare", {"output", "recipe", "trust-input", "input-memory", "input-seconds", "cache"}}};
  for (const auto& [command, expected] : of_command_line) {
    std::set<std::string> refused;
    for (const auto& option : options_of(command)) {
      write_text(path("recipe.toml"), "\"" + option + "\" = \"evil\"\n[\"none\"]\nlambda = 1\n");
      run(command + " a.h5 --recipe recipe.toml" + (command == "batch" ? " -o q" : ""));
      if (!contains(text("err"), "recipe.toml:1: expected an option of 'fhd " + command + "'")) continue;
      refused.insert(option);
      EXPECT_CONTAINS(text("err"), "found '" + option + "'");
    }
    EXPECT_EQ(refused, expected) << command;
  }
  EXPECT_FALSE(exists("evil"));
}

class Names : public Recipe {
 protected:
  int batch(const std::string& pattern, const std::string& scans = "a.h5 b.h5") {
    return run("batch " + scans + " -o results --device cpu --cache off --name '" + pattern + "'");
  }
  void two_scans() {
    simulate("a");
    simulate("b");
    const std::string protocol =
        "<measurementInformation><protocolName>T1 /fast</protocolName></measurementInformation>";
    add_to_header("a", "<subjectInformation><patientID>../07</patientID></subjectInformation>" + protocol);
    add_to_header("b", "<subjectInformation><patientID>08</patientID></subjectInformation>" + protocol);
  }
};

TEST_F(Names, come_from_the_headers) {
  two_scans();
  ASSERT_DONE(batch("sub-{subject}_{protocol}_{slice}_{stem}"));
  EXPECT_TRUE(exists("results/sub-..-07_T1--fast_0_a.h5"));
  EXPECT_TRUE(exists("results/sub-08_T1--fast_0_b.nii.gz"));
  ASSERT_DONE(batch("sub-{subject}_{protocol}_{slice}_{stem}"));
  EXPECT_CONTAINS(text("out"), "0 finished, 2 unchanged");
}

TEST_F(Names, that_collide_are_refused_before_the_work) {
  two_scans();
  EXPECT_EQ(batch("{protocol}"), 2);
  EXPECT_CONTAINS(text("err"), "--name: expected a name for each scan, found T1--fast for a.h5 and b.h5");
  EXPECT_FALSE(exists("results"));
  ASSERT_DONE(batch("{protocol}", "a.h5"));
  EXPECT_EQ(batch("{protocol}", "b.h5"), 2) << "the name of another scan's results";
  EXPECT_CONTAINS(text("err"), "T1--fast for b.h5, which is that of another scan's results");
  EXPECT_EQ(batch("{study}"), 2);
  EXPECT_CONTAINS(text("err"), "a.h5: expected a header that tells {study} for --name, found none");
}

TEST_F(Names, a_scan_that_cannot_be_opened_fails_by_itself) {
  two_scans();
  write_text(path("c.h5"), "no scan");
  EXPECT_EQ(batch("{subject}", "b.h5 c.h5"), 1);
  EXPECT_TRUE(exists("results/08.h5"));
  EXPECT_TRUE(exists("results/c.manifest.json"));
  EXPECT_CONTAINS(text("out"), "c.h5: cannot be opened for its name, so its results are called c");
}

TEST_F(Names, a_pattern_that_names_nothing_is_refused) {
  simulate("a");
  for (const std::string pattern : {"", "all", "{subjct}", "{stem", "stem}", "{stem}/{scan}", "{}"})
    EXPECT_EQ(batch(pattern, "a.h5"), 2) << pattern;
  EXPECT_DONE(batch("summary{slice}", "a.h5"));
  EXPECT_EQ(batch(".{stem}", "a.h5"), 2) << "hidden files are others'";
}

}  // namespace
}  // namespace fhd::tests

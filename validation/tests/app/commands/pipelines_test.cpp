// The recipes of app/docs/cluster.md do what they say, and the container files copy what is there and say their licence.
#include <gtest/gtest.h>

#include <regex>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

const std::string packaging = std::string(FHD_SOURCE) + "/app/packaging/";
const std::string page = std::string(FHD_SOURCE) + "/app/docs/cluster.md";

class Pipelines : public ProgramTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(packaging)) GTEST_SKIP() << "no sources at " << FHD_SOURCE;
    ProgramTest::SetUp();
  }
  /// The block of code of that language.
  static std::string block(const std::string& language) {
    const auto text = bytes_of(page), fence = "```" + language + "\n";
    const auto begin = text.find(fence);
    if (begin == std::string::npos) return "";
    return text.substr(begin + fence.size(), text.find("\n```", begin) + 1 - begin - fence.size());
  }
  static std::string replaced(std::string text,
                              const std::vector<std::pair<std::string, std::string>>& values) {
    for (const auto& [name, value] : values)
      for (std::size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), value);
    return text;
  }
  /// Makes the scan work/scans/NAME.h5, with images beside it.
  void simulate(const std::string& name) {
    std::filesystem::create_directories(path("work/scans"));
    ASSERT_DONE(run("simulate -o work/scans/" + name + " --matrix 24 --coils 2"));
  }
  /// Runs a command in the folder work, with the program on the path.
  int run_in_work(const std::string& command) {
    return run_command("PATH=\"" + std::filesystem::path(program()).parent_path().string() +
                       ":$PATH\"\ncd work\n" + command);
  }
  /// Runs a command there, with the scan scans/s.h5.
  int run_in_pipeline(const std::string& command) {
    simulate("s");
    return run_in_work(command);
  }
};

using Snakemake = Pipelines;

TEST_F(Pipelines, the_command_of_the_snakemake_rule_makes_its_outputs) {
  const auto rules = block("snakemake"), rule = rules.substr(rules.find("rule fhd"));
  std::smatch shell, outputs;
  ASSERT_TRUE(std::regex_search(rule, shell, std::regex("shell: \"(.*)\""))) << rule;
  ASSERT_TRUE(std::regex_search(rule, outputs, std::regex(R"re(multiext\("results/\{scan\}", (.*)\))re")))
      << rule;
  const auto command = replaced(
      shell[1],
      {{"{input}", "scans/s.h5"}, {"{wildcards.scan}", "s"}, {"{threads}", "1"}, {"{log}", "logs/s.jsonl"}});
  EXPECT_EQ(command.find('{'), std::string::npos) << command;
  ASSERT_EQ(run_in_pipeline("mkdir logs && " + command), 0) << text("err");
  const std::string endings = outputs[1];
  int count = 0;
  const std::regex ending("\"([^\"]*)\"");
  for (std::sregex_iterator each(endings.begin(), endings.end(), ending), end; each != end; ++each, ++count)
    EXPECT_TRUE(std::filesystem::exists(path("work/results/s" + (*each)[1].str()))) << (*each)[1];
  EXPECT_EQ(count, 5);
  EXPECT_CONTAINS(text("work/logs/s.jsonl"), "\"event\":\"end\"");
}

// Labelled "package": it needs snakemake (pip install snakemake).
TEST_F(Snakemake, does_the_recipe_with_its_local_executor) {
  if (run_command("snakemake --version") != 0) GTEST_SKIP() << "no snakemake";
  std::filesystem::create_directories(path("work/scans"));
  ASSERT_DONE(run("simulate -o work/scans/t --matrix 24 --coils 2 --seed 2"));
  std::filesystem::remove(path("work/scans/t.truth.h5"));
  write_text(path("work/Snakefile"), block("snakemake"));
  EXPECT_EQ(run_in_pipeline("rm -f scans/*.truth.h5; snakemake --cores 2"), 0) << text("err");
  const auto summary = text("work/results/summary.json");
  EXPECT_CONTAINS(summary, "\"unchanged\": 2");
  EXPECT_CONTAINS(text("err"), "3 of 3 steps (100%) done");
}

TEST_F(Pipelines, the_tasks_of_the_slurm_script_do_all_scans) {
  const auto shells = bytes_of(page);
  const auto begin = shells.find("#!/bin/bash");
  write_text(path("job.sh"), shells.substr(begin, shells.find("\n```", begin) + 1 - begin));
  for (const char* scan : {"s", "t", "u"}) simulate(scan);
  for (const char* task : {"1", "2", "3", "4"})  // some parts are images alone
    ASSERT_EQ(run_in_work(std::string("SLURM_CPUS_PER_TASK=1 SLURM_MEM_PER_NODE=2000 SLURM_ARRAY_TASK_ID=") +
                          task + " bash ../job.sh"),
              0)
        << text("err") << text("out");
  EXPECT_FALSE(exists("work/results/summary.json"));
  ASSERT_EQ(run_in_work("fhd batch scans -o results"), 0) << text("err");
  EXPECT_CONTAINS(text("out"), "0 finished, 3 unchanged, 0 failed");
}

TEST_F(Pipelines, the_script_of_the_nextflow_process_makes_its_outputs) {
  const auto process = block("nextflow");
  EXPECT_EQ(std::count(process.begin(), process.end(), '{'), std::count(process.begin(), process.end(), '}'));
  std::smatch script;
  ASSERT_TRUE(std::regex_search(process, script, std::regex("\"\"\"([^\"]*)\"\"\""))) << process;
  const auto command =
      replaced(script[1], {{"${scan.baseName}", "s"}, {"${scan}", "scans/s.h5"}, {"${task.cpus}", "1"}});
  EXPECT_EQ(command.find("${"), std::string::npos) << command;
  ASSERT_EQ(run_in_pipeline("set -e\n" + command), 0) << text("err");
  for (const char* ending : {".h5", ".nii.gz", ".png", ".json"})
    EXPECT_TRUE(std::filesystem::exists(path(std::string("work/out/s") + ending))) << ending;
}

TEST_F(Pipelines, exit_statuses_are_those_of_the_manual) {
  ASSERT_EQ(run("options --format man"), 0);
  const auto table = bytes_of(page);
  const auto statuses = text("out").substr(text("out").find(".SH EXIT STATUS"));
  for (const std::string status : {"0", "1", "2", "128 + N"}) {
    EXPECT_CONTAINS(statuses, "\\fB" + status + "\\fR");
    EXPECT_CONTAINS(table, "\n| " + status + " | ");
  }
}

TEST_F(Pipelines, container_files_copy_what_there_is_and_say_their_licence) {
  const auto container = bytes_of(packaging + "Containerfile"), image = bytes_of(packaging + "fhd.def");
  for (const auto* text : {&container, &image}) {
    EXPECT_TRUE(std::regex_search(
        *text, std::regex("org\\.opencontainers\\.image\\.licenses[= ]\"?GPL-2\\.0-or-later")));
    EXPECT_CONTAINS(*text, "links FFTW, which is under the GPL");
    for (const char* step : {"app/packaging/container tools\n", "app/packaging/container packages ",
                             "/packages/container install\n"})
      EXPECT_CONTAINS(*text, step);
  }
  int copied = 0;
  const auto expect_there = [&](const std::string& name) {
    ++copied;
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(FHD_SOURCE) / name)) << name;
  };
  std::istringstream lines(container);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("COPY ") || line.starts_with("COPY --from")) continue;
    std::istringstream words(line.substr(5, line.rfind(' ') - 5));
    for (std::string word; words >> word;) expect_there(word);
  }
  const std::regex file("\n    ([A-Za-z.]+) /source/");
  for (std::sregex_iterator each(image.begin(), image.end(), file), end; each != end; ++each)
    expect_there((*each)[1]);
  EXPECT_EQ(copied, 12 + 10);
}

}  // namespace
}  // namespace fhd::tests

// Frames of continuous acquisitions in fhd batch: those of fhd recon.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class BatchFrames : public SmallScanTest {
 protected:
  void prepare() override {
    fs::create_directory(path("scans"));
    for (const char* name : {"a", "b"})
      ASSERT_EQ(
          run(std::string("simulate -o ") + name + " --matrix 24 --coils 3 --readouts 200 --breaths 8 " +
              "--bins 3 --seed " + (*name == 'a' ? "1" : "2")),
          0)
          << text("err");
    for (const char* name : {"a.h5", "b.h5"}) fs::rename(path(name), path(std::string("scans/") + name));
  }
  int batch(const std::string& arguments) const {
    return run("batch scans -o results --device cpu --cache off " + arguments);
  }
  int recon(const std::string& arguments) const {
    return run("recon scans/a.h5 -o alone --force --device cpu " + arguments);
  }
  nlohmann::json row(const std::string& name) const {
    const auto summary = nlohmann::json::parse(text("results/summary.json"));
    for (const auto& scan : summary.at("scans"))
      if (scan.at("name") == name) return scan;
    ADD_FAILURE() << name << " is not in the summary";
    return {};
  }
};

TEST_F(BatchFrames, are_those_of_recon) {
  for (const std::string options :
       {"--spokes-per-frame 13 --sliding 8 --regularizer llr:0.01", "--gate a.motion.txt --phase --strict"}) {
    ASSERT_EQ(batch(options), 0) << options << text("err") << text("out");
    ASSERT_EQ(recon(options), 0) << options << text("err");
    const auto made = io::read_image(path("results/a.h5")), alone = io::read_image(path("alone.h5"));
    ASSERT_EQ(made.images.size(), alone.images.size());
    for (std::size_t i = 0; i < made.images.size(); ++i) {
      const auto &ours = made.images[i].values, &theirs = alone.images[i].values;
      EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin())) << i;
    }
    EXPECT_EQ(row("a")["images"], made.images.size()) << options;
  }
}

TEST_F(BatchFrames, are_made_again_where_the_options_or_the_signal_differ) {
  const std::string options = "--gate a.motion.txt --frames 3";
  ASSERT_DONE(batch(options));
  ASSERT_DONE(batch(options));
  EXPECT_EQ(row("a")["status"], "unchanged");
  fs::rename(path("b.motion.txt"), path("moved.txt"));
  std::ofstream(path("a.motion.txt"), std::ios::app) << "\n";
  ASSERT_DONE(batch(options));
  EXPECT_EQ(row("a")["status"], "finished") << "another content";
  ASSERT_DONE(batch("--gate a.motion.txt --frames 4"));
  EXPECT_EQ(row("a")["status"], "finished") << "another number";
  EXPECT_EQ(io::read_image(path("results/b.h5")).repetition_count, 4);
}

TEST_F(BatchFrames, are_made_of_some_scans_by_a_recipe_and_what_cannot_be_fails_alone) {
  ASSERT_DONE(run("simulate -o scans/c --matrix 24 --coils 3 --repetitions 2"));
  for (const char* ending : {".truth.h5", ".truth.png"}) fs::remove(path(std::string("scans/c") + ending));
  std::ofstream(path("recipe.toml")) << "[\"[ac]\"]\nframes = 4\nregularizer = \"temporal-tv:0.02\"\n";
  EXPECT_EQ(batch("--recipe recipe.toml"), 1);
  EXPECT_EQ(io::read_image(path("results/a.h5")).repetition_count, 4);
  EXPECT_EQ(io::read_image(path("results/b.h5")).repetition_count, 1);
  EXPECT_EQ(row("c")["status"], "failed");
  EXPECT_EQ(row("c")["why"],
            "--frames, --spokes-per-frame and --gate: expected one repetition, found 2; choose it: "
            "--repetitions 0");
  EXPECT_FALSE(exists("results/c.h5"));
  EXPECT_EQ(batch("--frames 999"), 1) << "more than readouts";
  EXPECT_NE(row("a").value("why", "").find("--frames"), std::string::npos) << row("a");
}

}  // namespace
}  // namespace fhd::tests

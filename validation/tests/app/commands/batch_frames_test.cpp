// Frames of continuous acquisitions in fhd batch: those of fhd recon.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class BatchFrames : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    setenv("OMP_NUM_THREADS", "1", 1);  // too small to share
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
  /// Images, what they are of, and what reports say of settings.
  void expect_same(const std::string& one, const std::string& other) const {
    const auto a = io::read_image(path(one + ".h5")), b = io::read_image(path(other + ".h5"));
    ASSERT_EQ(a.repetition_count, b.repetition_count);
    ASSERT_EQ(a.images.size(), b.images.size());
    for (std::size_t i = 0; i < a.images.size(); ++i)
      EXPECT_TRUE(
          std::equal(a.images[i].values.begin(), a.images[i].values.end(), b.images[i].values.begin()))
          << i;
    const auto report = nlohmann::json::parse(text(one + ".json")),
               expected = nlohmann::json::parse(text(other + ".json"));
    ASSERT_EQ(report["images"].size(), expected["images"].size());
    for (std::size_t i = 0; i < expected["images"].size(); ++i)
      for (const char* what : {"settings", "repetition", "slice", "messages", "first_readout"})
        EXPECT_EQ(report["images"][i].value(what, nlohmann::json()),
                  expected["images"][i].value(what, nlohmann::json()))
            << i << " " << what;
    EXPECT_EQ(report["input"].value("pieces", nlohmann::json()),
              expected["input"].value("pieces", nlohmann::json()));
    const auto ours = io::read_image(path(one + ".h5")), theirs = io::read_image(path(other + ".h5"));
    ASSERT_EQ(ours.images.size(), theirs.images.size());
    for (std::size_t i = 0; i < theirs.images.size(); ++i)
      for (std::int64_t p = 0; p < theirs.images[i].values.size(); ++p)
        ASSERT_TRUE(ours.images[i].values[p] == theirs.images[i].values[p]) << i << " " << p;
    const auto made = io::hdf5::File::open(path(one + ".h5")),
               wanted = io::hdf5::File::open(path(other + ".h5"));
    EXPECT_EQ(made.text_attribute("/image", "repetitions_are"),
              wanted.text_attribute("/image", "repetitions_are"));
    EXPECT_EQ(made.number_attribute("/image", "first_readouts"),
              wanted.number_attribute("/image", "first_readouts"));
    ASSERT_EQ(made.has("/gating/bin"), wanted.has("/gating/bin"));
    if (!made.has("/gating/bin")) return;
    const auto bins = made.dataset("/gating/bin").read<double>({1, 200}),
               expected_bins = wanted.dataset("/gating/bin").read<double>({1, 200});
    EXPECT_TRUE(std::equal(bins.begin(), bins.end(), expected_bins.begin()));
  }
};

TEST_F(BatchFrames, are_those_of_recon) {
  for (const std::string options :
       {"--spokes-per-frame 13 --sliding 8 --regularizer llr:0.01", "--gate self --frames 3 --basis 2",
        "--gate a.motion.txt --phase --no-gridded-image", "--frames 5 --field-map off --strict"}) {
    ASSERT_EQ(batch(options), 0) << options << text("err") << text("out");
    ASSERT_EQ(recon(options), 0) << options << text("err");
    expect_same("results/a", "alone");
    EXPECT_EQ(row("a")["images"], nlohmann::json::parse(text("alone.json"))["images"].size()) << options;
  }
}

TEST_F(BatchFrames, are_made_again_where_the_options_or_the_signal_differ) {
  const std::string options = "--gate a.motion.txt --frames 3";
  ASSERT_EQ(batch(options), 0) << text("err");
  ASSERT_EQ(batch(options), 0) << text("err");
  EXPECT_EQ(row("a")["status"], "unchanged");
  fs::rename(path("b.motion.txt"), path("moved.txt"));
  std::ofstream(path("a.motion.txt"), std::ios::app) << "\n";
  ASSERT_EQ(batch(options), 0) << text("err");
  EXPECT_EQ(row("a")["status"], "finished") << "another content";
  ASSERT_EQ(batch("--gate a.motion.txt --frames 4"), 0) << text("err");
  EXPECT_EQ(row("a")["status"], "finished") << "another number";
  EXPECT_EQ(io::read_image(path("results/b.h5")).repetition_count, 4);
}

TEST_F(BatchFrames, are_made_of_some_scans_by_a_recipe_and_what_cannot_be_fails_alone) {
  ASSERT_EQ(run("simulate -o scans/c --matrix 24 --coils 3 --repetitions 2"), 0) << text("err");
  for (const char* ending : {".truth.h5", ".truth.png"}) fs::remove(path(std::string("scans/c") + ending));
  std::ofstream(path("recipe.toml")) << "[\"[ac]\"]\nframes = 4\nregularizer = \"temporal-tv:0.02\"\n";
  EXPECT_EQ(batch("--recipe recipe.toml"), 1);
  EXPECT_EQ(io::read_image(path("results/a.h5")).repetition_count, 4);
  EXPECT_EQ(io::read_image(path("results/b.h5")).repetition_count, 1);
  EXPECT_EQ(row("c")["status"], "failed");
  EXPECT_EQ(row("c")["why"],
            "--frames, --spokes-per-frame and --gate: expected one repetition, found 2; choose it: "
            "--repetitions 0");
  EXPECT_FALSE(fs::exists(path("results/c.h5")));
  EXPECT_EQ(batch("--frames 999"), 1) << "more than readouts";
  EXPECT_NE(row("a").value("why", "").find("--frames"), std::string::npos) << row("a");
}

}  // namespace
}  // namespace fhd::tests

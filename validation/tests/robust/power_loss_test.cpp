// The power goes at any moment of `fhd recon`: what is left is one whole set of results of one run, or none.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "io/files/file_set.hpp"
#include "validation/tests/program.hpp"
#include "validation/tests/robust/power_loss/remains.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

/// Returns all files in a folder and in its folders, by path.
Contents contents_of(const fs::path& folder) {
  Contents contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      contents[fs::relative(entry.path(), folder).string()] = bytes_of(entry.path());
  return contents;
}

/// Leaves out hidden files, which are no results.
Contents results_in(const fs::path& folder) {
  auto contents = contents_of(folder);
  std::erase_if(contents, [](const auto& entry) { return entry.first.starts_with("."); });
  return contents;
}

class PowerLoss : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!fs::exists(FHD_POWER_LOSS)) GTEST_SKIP() << "no library at " << FHD_POWER_LOSS;
    setenv("OMP_NUM_THREADS", "1", 1);
    ASSERT_EQ(run("simulate -o scan --matrix 16 --coils 2 --no-maps"), 0) << text("err");
    fs::create_directory(path("results"));
    fs::create_directory(path("log"));
  }
  std::string recon(const std::string& options) const {
    return "'" + program() + "' recon scan.h5 -o results/out --device cpu --cache off --force " + options;
  }
  int recorded(const std::string& command) const {
    return run_command("LD_PRELOAD='" FHD_POWER_LOSS "' FHD_POWER_FOLDER='" + path("results") +
                       "' FHD_POWER_LOG='" + path("log") + "' " + command);
  }
  struct Counts {
    int old = 0, whole = 0, neither = 0;
  };
  /// Counts what remains at every moment, with `chance` of what is not certain, after a reader has looked at it.
  Counts remains(const PowerLog& log, const Contents& before, const Contents& after, double chance,
                 unsigned seed) const {
    std::mt19937 generator(seed);
    Counts counts;
    for (std::size_t end = 0; end <= log.events(); ++end) {
      const ScratchFolder disk;
      log.leave(
          end, [&] { return std::bernoulli_distribution(chance)(generator); }, disk.path());
      io::complete_interrupted_set(disk / "out.h5");
      const auto found = results_in(disk.path());
      if (found == before)
        ++counts.old;
      else if (found == after)
        ++counts.whole;
      else
        ++counts.neither, ADD_FAILURE() << "moment " << end << " of " << log.events() << ": " << names(found);
    }
    return counts;
  }
  static std::string names(const Contents& contents) {
    std::string text;
    for (const auto& [name, bytes] : contents) text += name + " (" + std::to_string(bytes.size()) + ") ";
    return text;
  }
  void expect_one_run_at_every_moment(const std::string& options) const {
    const auto before = results_in(path("results"));
    ASSERT_EQ(recorded(recon(options)), 0) << text("err");
    const auto after = results_in(path("results"));
    ASSERT_NE(after, before);
    const PowerLog log(path("log"), before);
    Counts sum;
    for (const auto& [chance, seed] : {std::pair{0.0, 0U}, {1.0, 0U}, {0.5, 1U}, {0.5, 2U}, {0.8, 3U}}) {
      const auto counts = remains(log, before, after, chance, seed);
      sum.old += counts.old, sum.whole += counts.whole, sum.neither += counts.neither;
    }
    EXPECT_EQ(sum.neither, 0);
    EXPECT_GE(sum.old, 50);
    EXPECT_GE(sum.whole, 20);
    for (const auto& [name, count] :
         {std::pair{"old", sum.old}, {"whole", sum.whole}, {"neither", sum.neither}})
      RecordProperty(name, count);
  }
};

TEST_F(PowerLoss, leaves_the_old_results_or_the_new_ones) {
  ASSERT_EQ(run_command(recon("--iterations 2 --phase")), 0) << text("err");
  expect_one_run_at_every_moment("--iterations 4 --phase");
}

TEST_F(PowerLoss, leaves_the_first_results_or_none) { expect_one_run_at_every_moment("--iterations 4"); }

TEST_F(PowerLoss, leaves_a_folder_of_dicom_files_and_the_images_beside_it_as_they_belong_together) {
  const std::string also = "--dicom results/series --ismrmrd-images results/out.mrd --iterations ";
  if (run_command(recon(also + "2")) != 0) {
    EXPECT_NE(text("err").find("DICOM"), std::string::npos) << text("err");
    GTEST_SKIP() << "built without DICOM";
  }
  expect_one_run_at_every_moment(also + "4");
}

}  // namespace
}  // namespace fhd::tests

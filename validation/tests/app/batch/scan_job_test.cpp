// Planned and measured memory of a scan of a batch.
#include "app/batch/engines.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "app/options/table.hpp"
#include "validation/tests/program.hpp"

namespace fhd::app {
namespace {

class PlannedMemory : public tests::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!IsSkipped()) setenv("OMP_NUM_THREADS", "1", 1);
  }
  double planned(const std::vector<std::string>& options) const {
    RunOptions given;
    for (const auto& option : options) {
      const auto equals = option.find('=');
      set_option(given, *find_option(option.substr(0, equals), in_batch), option.substr(equals + 1));
    }
    given.device.set_name("cpu");
    const auto settings = std::make_shared<RunSettings>(given);
    settings->is_sparing = true;
    const auto scan = path("scan.h5");
    return static_cast<double>(planned_host_bytes(*open_run(io::open_scan(scan), scan, settings, "")));
  }
  double taken(std::vector<std::string> options) const {
    std::vector<std::string> arguments{"recon",    path("scan.h5"), "-o",     path("out"),
                                       "--device", "cpu",           "--force"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto end = measured(arguments);
    EXPECT_EQ(end.status, 0) << text("err_bg");
    return end.peak_bytes;
  }
};

TEST_F(PlannedMemory, grows_with_frames_as_what_is_taken) {
  ASSERT_EQ(run("simulate -o scan --matrix 128 --coils 6 --readouts 400 --dynamic 10"), 0) << text("err");
  for (const std::string regularizer : {"", "llr:0.01"}) {
    std::vector<std::string> few{"--frames=2", "--iterations=2"}, many{"--frames=60", "--iterations=2"};
    if (!regularizer.empty())
      for (auto* options : {&few, &many}) options->push_back("--regularizer=" + regularizer);
    const double grows = planned(many) - planned(few), grew = taken(many) - taken(few);
    std::printf("%s: planned %.1f MiB more, taken %.1f MiB more\n", regularizer.c_str(), grows / (1 << 20),
                grew / (1 << 20));
    EXPECT_GE(grows, grew);
    EXPECT_LE(grows, 4 * grew) << "so much that scans would wait for nothing";
  }
}

}  // namespace
}  // namespace fhd::app

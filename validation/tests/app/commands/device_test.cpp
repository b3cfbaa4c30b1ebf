// --device on a machine without a usable GPU: one clear line, or the CPU where the choice was left open.
#include "recon/array/device.hpp"

#include <algorithm>

#include "validation/tests/program.hpp"

namespace {

class DeviceCommand : public fhd::tests::ProgramTest {
 protected:
  void prepare() override {
    if (!fhd::device::inventory().devices.empty()) GTEST_SKIP() << "there is a GPU";
    ASSERT_DONE(run("simulate --trajectory spiral --matrix 32 --coils 2 -o " + path("scan")));
  }
  void expect_one_line_about(const std::string& device) const {
    const std::string error = text("err");
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
    EXPECT_NE(error.find("--device " + device), std::string::npos) << error;
  }
};

TEST_F(DeviceCommand, a_gpu_that_is_not_there_is_one_clear_line_and_no_result) {
  for (const char* command : {"recon", "compare"})
    for (const char* device : {"cuda", "cuda:0", "cuda:7", "cuda:all", "cuda:0,1"}) {
      if (std::string(command) == "compare" && std::string(device).size() > 6) continue;  // one device
      EXPECT_EQ(
          run(std::string(command) + " " + path("scan.h5") + " --device " + device + " -o " + path("result")),
          1);
      expect_one_line_about("cuda");
      EXPECT_NE(text("err").find("--device cpu"), std::string::npos) << "names no way out: " << text("err");
      EXPECT_FALSE(exists("result.png"));
    }
}

TEST_F(DeviceCommand, auto_takes_the_cpu_and_says_why) {
  ASSERT_DONE(run("recon " + path("scan.h5") + " -o " + path("automatic")));
  EXPECT_CONTAINS(text("out"), "device    CPU, because ");
  EXPECT_EQ(text("err"), "");
  EXPECT_CONTAINS(text("automatic.json"), "CPU, because");
  ASSERT_DONE(run("recon " + path("scan.h5") + " --device cpu -o " + path("cpu")));
  EXPECT_EQ(text("automatic.png"), text("cpu.png"));
  ASSERT_DONE(run("compare " + path("scan.h5") + " --device auto -o " + path("compared")));
  EXPECT_CONTAINS(text("out"), "device    CPU, because ");
}

TEST_F(DeviceCommand, auto_asks_for_a_gpu_only_where_the_scan_is_not_small) {
  const std::string small = "because this scan is finished before a GPU could start";
  ASSERT_DONE(run("recon " + path("scan.h5") + " --threads 1 -o " + path("small")));
  EXPECT_CONTAINS(text("out"), FHD_HAS_CUDA ? small : "because this program was built without CUDA");
  // More than 2e9 pairs of voxels and samples.
  ASSERT_EQ(run("simulate --trajectory golden-radial --matrix 128 --coils 8 --readouts 130 --readout-samples "
                "256 -o " +
                path("larger")),
            0)
      << text("err");
  ASSERT_DONE(run("recon " + path("larger.h5") + " --threads 1 --no-gridded-image -o " + path("result")));
  EXPECT_LACKS(text("out"), small);
}

TEST_F(DeviceCommand, a_device_that_no_machine_has_is_wrong_usage) {
  for (const char* device : {"gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:99999999999", "cuda:alll",
                             "cuda:0,", "cuda:,1", "cuda:0,0", "cuda:0,all", "''"})
    EXPECT_EQ(run("recon " + path("scan.h5") + " --device " + device), 2) << device;
}

TEST_F(DeviceCommand, several_devices_are_for_recon_alone) {
  for (const char* command : {"compare", "plan"}) {
    EXPECT_EQ(run(std::string(command) + " " + path("scan.h5") + " --device cuda:0,1"), 1);
    EXPECT_EQ(text("err"),
              "fhd: --device cuda:0,1: expected one device, found several, which only 'fhd recon' uses; use "
              "--device cuda, or cuda:N\n");
  }
}

TEST_F(DeviceCommand, memory_of_a_gpu_has_a_unit_or_is_a_share) {
  for (const char* size : {"8", "GiB", "8gib", "-8GiB", "0GiB", "nanGiB", "infGiB", "1e300GiB", "0%", "101%",
                           "1kB", "8GiB x", "8  GiB"}) {
    EXPECT_EQ(run("recon " + path("scan.h5") + " --device-memory '" + size + "'"), 2) << size;
    EXPECT_CONTAINS(text("err"), "--device-memory: expected 1MiB or more with its unit");
  }
  for (const char* size : {"8GiB", "500MiB", "50%", "1.5 TB", "100 %"})
    EXPECT_EQ(run("recon " + path("scan.h5") + " --quiet --force --device-memory '" + size + "' -o " +
                  path("sized")),
              0)
        << size << ": " << text("err");
}

TEST_F(DeviceCommand, the_ladder_of_kernels_wants_a_gpu) {
  EXPECT_EQ(run("bench kernels --quick"), 1);
  EXPECT_CONTAINS(text("err"), "expected a GPU, found CPU, because");
}

}  // namespace

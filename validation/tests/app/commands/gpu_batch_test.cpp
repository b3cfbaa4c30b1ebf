// fhd batch on GPUs: the images of single runs, every device, and what becomes of scans that a device cannot do.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "io/result/results.hpp"
#include "recon/array/device.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class GpuBatch : public ProgramTest {
 protected:
  void prepare() override {
    const auto inventory = device::inventory();
    if (inventory.devices.empty()) GTEST_SKIP() << inventory.reason;
    device_count_ = inventory.devices.size();
    fs::create_directory(path("scans"));
  }
  void simulate(int count, const std::string& options = "--matrix 64 --coils 4") {
    for (int i = 0; i < count; ++i) {
      const auto name = "scans/s" + std::to_string(i);
      ASSERT_DONE(run("simulate -o " + name + " " + options + " --seed " + std::to_string(i)));
      fs::remove(path(name + ".truth.h5"));
      fs::remove(path(name + ".truth.png"));
    }
  }
  nlohmann::json summary() const { return nlohmann::json::parse(text("results/summary.json")); }
  std::string device_of(const std::string& name) const {
    return nlohmann::json::parse(text("results/" + name + ".json")).at("environment").at("device");
  }
  std::size_t device_count_ = 0;
};

TEST_F(GpuBatch, makes_the_images_and_frames_of_single_runs) {
  const auto expect_same = [&](std::size_t images, const std::string& options) {
    ASSERT_DONE(run("batch scans -o results --device cuda:0 --cache off" + options));
    for (const std::string name : {"s0", "s2"}) {
      ASSERT_DONE(run("recon scans/" + name + ".h5 --device cuda:0 --force -o single" + options));
      const auto together = io::read_image(path("results/" + name + ".h5")),
                 alone = io::read_image(path("single.h5"));
      ASSERT_EQ(together.images.size(), images);
      ASSERT_EQ(alone.images.size(), images);
      // Products of the trajectory are cached from scan to scan: the same numbers, summed in another order.
      for (std::size_t i = 0; i < images; ++i)
        EXPECT_LE(
            metrics::relative_l2(values_of<double>(together.images[i]), values_of<double>(alone.images[i])),
            1e-5)
            << name << " " << i;
      EXPECT_TRUE(device_of(name).starts_with("GPU 0")) << device_of(name);
    }
  };
  simulate(24);
  expect_same(1, "");
  EXPECT_EQ(summary().at("finished"), 24);
  fs::remove_all(path("scans"));
  fs::remove_all(path("results"));
  fs::create_directory(path("scans"));
  simulate(3, "--matrix 64 --coils 4 --readouts 130 --dynamic 13");
  expect_same(10, " --spokes-per-frame 13 --regularizer llr:0.01");
}

TEST_F(GpuBatch, takes_all_devices_of_the_machine) {
  if (device_count_ < 2) GTEST_SKIP() << "one GPU";
  simulate(40);
  ASSERT_DONE(run("batch scans -o results --device cuda --cache off"));
  std::set<std::string> used;
  for (int i = 0; i < 40; ++i) used.insert(device_of("s" + std::to_string(i)));
  EXPECT_EQ(used.size(), device_count_);
  ASSERT_DONE(run("batch scans -o named --device cuda:1 --cache off"));
  fs::rename(path("results"), path("all"));
  fs::rename(path("named"), path("results"));
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(device_of("s" + std::to_string(i)).starts_with("GPU 1"));
}

TEST_F(GpuBatch, what_does_not_fit_goes_on_on_the_cpu_where_the_choice_was_left) {
  simulate(6);
  ASSERT_DONE(run("batch scans -o results --device auto --device-memory 1MiB --cache off"));
  EXPECT_EQ(summary().at("finished"), 6);
  for (const std::string name : {"s0", "s5"}) {
    EXPECT_TRUE(device_of(name).starts_with("CPU")) << device_of(name);
    EXPECT_NE(text("results/" + name + ".json").find("computed on the CPU, because cuda:"),
              std::string::npos);
  }
}

TEST_F(GpuBatch, what_does_not_fit_fails_with_the_reason_where_a_gpu_was_asked_for) {
  simulate(3);
  EXPECT_EQ(run("batch scans -o results --device cuda --device-memory 1MiB --cache off"), 1);
  EXPECT_EQ(summary().at("failed"), 3);
  EXPECT_CONTAINS(text("err"), "GPU memory");
}

TEST_F(GpuBatch, scans_that_fill_the_device_are_done_one_after_the_other) {
  simulate(8,
           "--dimensions 3 --matrix 48 --trajectory radial-3d --coils 8 --readouts 300 --readout-samples 96");
  ASSERT_EQ(run("batch scans -o results --device cuda:0 --device-memory 260MiB --cache off"), 0)
      << text("err") << text("out");
  EXPECT_EQ(summary().at("finished"), 8) << text("err");
}

}  // namespace
}  // namespace fhd::tests

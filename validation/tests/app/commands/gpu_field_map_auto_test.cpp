// The field map that `fhd recon --field-map auto` finds, on a GPU and on the CPU.
#include <gtest/gtest.h>

#include "io/result/results.hpp"
#include "recon/array/device.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class GpuFieldMapAuto : public ProgramTest {
 protected:
  void prepare() override {
    if (const auto inventory = device::inventory(); inventory.devices.empty())
      GTEST_SKIP() << inventory.reason;
  }
};

TEST_F(GpuFieldMapAuto, gives_the_image_of_the_cpu) {
  ASSERT_EQ(run("simulate -o scan --matrix 64 --coils 4 --trajectory spiral --interleaves 4 --field-hz 100 "
                "--echo-times 2.3,6.9"),
            0)
      << text("err");
  for (const std::string device : {"cpu", "cuda"})
    ASSERT_EQ(run("recon scan.h5 -o " + device + " --device " + device + " --field-map auto --iterations 10"),
              0)
        << text("err");
  const auto cpu = io::read_image(path("cpu.h5")), gpu = io::read_image(path("cuda.h5"));
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(gpu.images.at(i).values),
                                   converted<Complex<double>>(cpu.images.at(i).values)),
              1e-4);
}

}  // namespace
}  // namespace fhd::tests

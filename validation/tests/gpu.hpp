#pragma once
// Shared by tests on a GPU: they are skipped, with the reason, where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "recon/array/array.hpp"
#include "recon/array/device.hpp"

namespace fhd::tests {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto inventory = device::inventory();
    if (inventory.devices.empty()) GTEST_SKIP() << inventory.reason;
    device::start(Device::cuda());
    used_before_ = device::memory_use(Device::cuda()).used_bytes;
  }
  void TearDown() override {
    if (device::inventory().devices.empty()) return;
    device::limit_memory(Device::cuda(), 0);
    device::synchronize(Device::cuda());  // an error of work that nobody waited for shows here
    EXPECT_EQ(device::memory_use(Device::cuda()).used_bytes, used_before_) << "device memory leaks";
  }

  /// Does `work` with up to `most` bytes more on the device, in steps. Memory that runs out is one error, and nothing leaks.
  /// Returns how often it ran out.
  template <class Work>
  static int times_out_of_memory(std::size_t most, std::size_t step, const Work& work) {
    const auto used = [] { return device::memory_use(Device::cuda()).used_bytes; };
    const std::size_t before = used();
    int refused = 0;
    for (std::size_t more = 1; more < most; more += step) {
      device::limit_memory(Device::cuda(), before + more);
      try {
        work();
      } catch (const DeviceError& error) {
        ++refused;
        EXPECT_NE(std::string(error.what()).find("MiB free"), std::string::npos) << error.what();
      }
      EXPECT_EQ(used(), before);
    }
    device::limit_memory(Device::cuda(), 0);
    return refused;
  }

 private:
  std::size_t used_before_ = 0;
};

/// Returns whether the values are equal, on the host or the device.
template <class T>
bool identical(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  const auto x = a.to(Device::cpu()), y = b.to(Device::cpu());
  return x.shape() == y.shape() && std::equal(x.begin(), x.end(), y.begin());
}

}  // namespace fhd::tests

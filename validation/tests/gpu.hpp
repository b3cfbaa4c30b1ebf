#pragma once
// Shared by tests on a GPU: they are skipped, with the reason, where there is none.
#include <gtest/gtest.h>

#include <algorithm>

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

 private:
  std::size_t used_before_ = 0;
};

/// Returns whether the bits are equal.
template <class T>
bool identical(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  return a.shape() == b.shape() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace fhd::tests

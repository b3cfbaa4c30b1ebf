// Devices, device memory, streams and events.
#include <gtest/gtest.h>

#include <cstring>

#include "recon/array/array.hpp"
#include "recon/array/device.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

TEST(Device, without_a_device_the_inventory_says_why) {
  const auto inventory = device::inventory();
  EXPECT_EQ(inventory.devices.empty(), !inventory.reason.empty()) << inventory.reason;
}

TEST(Device, selecting_what_is_not_there_is_one_clear_error) {
  for (const int ordinal : {-1, 99}) {
    try {
      device::select(ordinal);
      ADD_FAILURE() << "device " << ordinal << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::strstr(error.what(), "--device cuda"), nullptr) << error.what();
    }
  }
}

TEST(Device, without_a_device_memory_is_refused_and_the_host_goes_on) {
  if (!device::inventory().devices.empty()) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(Array<float>({16}, Device::cuda()), Error);
  EXPECT_THROW(device::Stream(), Error);
  EXPECT_THROW(device::PinnedBuffer(16), Error);
  EXPECT_EQ(Array<float>({16})[15], 0.0f);
}

class GpuDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto inventory = device::inventory();
    if (inventory.devices.empty()) GTEST_SKIP() << inventory.reason;
    description_ = device::select(inventory.devices.front().ordinal);
  }
  device::Description description_;
};

TEST_F(GpuDevice, describes_itself) {
  EXPECT_FALSE(description_.name.empty());
  EXPECT_GE(description_.compute_major, 8);
  EXPECT_GT(description_.memory_bytes, std::size_t{1} << 30);
  EXPECT_GE(description_.driver_version, 12000);
  EXPECT_GT(description_.multiprocessor_count, 0);
  EXPECT_NE(description_.text().find(description_.name), std::string::npos);
}

TEST_F(GpuDevice, arrays_survive_the_way_there_and_back) {
  const auto values = tests::random_values<float>({3, 1001}, 1);
  const auto there = values.to(Device::cuda());
  const auto copy = there;
  const auto back = copy.to(Device::cpu());
  ASSERT_EQ(back.shape(), values.shape());
  EXPECT_EQ(std::memcmp(back.data(), values.data(), 3 * 1001 * sizeof(Complex<float>)), 0);
}

TEST_F(GpuDevice, new_arrays_are_zero) {
  // Fill and release first, so that the next array may get memory that was used.
  { const auto used = tests::random_values<float>({1 << 20}, 2).to(Device::cuda()); }
  const auto zeros = Array<Complex<float>>({1 << 20}, Device::cuda()).to(Device::cpu());
  for (const auto& value : zeros) ASSERT_EQ(value, Complex<float>{});
}

TEST_F(GpuDevice, memory_is_counted_and_limited) {
  const auto before = device::memory_use().used_bytes;
  {
    const Array<float> array({1 << 20}, Device::cuda());
    EXPECT_EQ(device::memory_use().used_bytes, before + (4u << 20));
    EXPECT_GE(device::memory_use().peak_bytes, before + (4u << 20));
    device::limit_memory(before + (5u << 20));
    EXPECT_THROW(Array<float>({1 << 20}, Device::cuda()), Error);
    EXPECT_NO_THROW(Array<float>({1 << 18}, Device::cuda()));
    device::limit_memory(0);
  }
  EXPECT_EQ(device::memory_use().used_bytes, before);
}

TEST_F(GpuDevice, more_memory_than_there_is_is_refused_with_the_figure) {
  const auto free_bytes = device::memory_use().free_bytes;
  try {
    const Array<float> array({static_cast<std::int64_t>(free_bytes)}, Device::cuda());
    ADD_FAILURE() << "four times the free memory was given";
  } catch (const Error& error) {
    EXPECT_NE(std::strstr(error.what(), "CUDA device memory"), nullptr) << error.what();
    EXPECT_NE(std::strstr(error.what(), "MiB free"), nullptr) << error.what();
  }
  EXPECT_NO_THROW(Array<float>({1024}, Device::cuda())) << "the device goes on";
}

TEST_F(GpuDevice, events_order_and_time_streams) {
  device::Stream stream;
  device::Event start(device::Event::Timing::on), stop(device::Event::Timing::on), uploaded;
  start.record();
  uploaded.record(stream);
  uploaded.hold_default_stream();
  stop.record();
  stream.wait(stop);
  stream.synchronize();
  EXPECT_GE(stop.ms_since(start), 0.0);
  device::PinnedBuffer buffer(1 << 16);
  EXPECT_EQ(buffer.bytes(), std::size_t{1} << 16);
  device::PinnedBuffer moved(std::move(buffer));
  ASSERT_NE(moved.data(), nullptr);
  std::memset(moved.data(), 1, moved.bytes());
}

}  // namespace
}  // namespace fhd

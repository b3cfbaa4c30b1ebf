// Devices, device memory, streams and events.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/device.hpp"
#include "recon/array/vector_math.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

TEST(Device, without_a_device_the_inventory_says_why) {
  const auto inventory = device::inventory();
  EXPECT_EQ(inventory.devices.empty(), !inventory.reason.empty()) << inventory.reason;
}

TEST(Device, starting_what_is_not_there_is_one_clear_error) {
  for (const Device device : {Device::cpu(), Device::cuda(99)}) {
    try {
      device::start(device);
      ADD_FAILURE() << "device " << device.number() << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::strstr(error.what(), "--device cuda"), nullptr) << error.what();
    }
  }
}

TEST(Device, without_a_device_memory_is_refused_and_the_host_goes_on) {
  if (!device::inventory().devices.empty()) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(Array<float>({16}, Device::cuda()), Error);
  if constexpr (built_with_cuda) {
    EXPECT_THROW(device::Stream(), Error);
  }
  EXPECT_EQ(device::memory_use(Device::cpu()).free_bytes, 0u);
  EXPECT_NO_THROW(device::synchronize(Device::cpu()));
  EXPECT_EQ(Array<float>({16})[15], 0.0f);
}

using GpuDevice = tests::GpuTest;

TEST_F(GpuDevice, describes_itself) {
  const auto description = device::start(Device::cuda());
  EXPECT_FALSE(description.name.empty());
  EXPECT_GE(description.compute_major, 8);
  EXPECT_GT(description.memory_bytes, std::size_t{1} << 30);
  EXPECT_GE(description.driver_version, 12000);
  EXPECT_GT(description.multiprocessor_count, 0);
  EXPECT_NE(description.text().find(description.name), std::string::npos);
}

TEST_F(GpuDevice, arrays_survive_the_way_there_and_back) {
  const auto values = tests::random_values<float>({3, 1001}, 1);
  const auto there = values.to(Device::cuda()), copy = there;
  EXPECT_TRUE(tests::identical(copy, values));
}

TEST_F(GpuDevice, large_arrays_survive_the_way_there_and_back_in_pieces) {
  const auto there_and_back = [](std::int64_t count) {
    auto values = tests::random_values<float>({count}, 2);
    const auto sent = values;
    const auto there = values.to(Device::cuda());
    for (auto& value : values) value = -1;  // what was copied is the caller's again
    EXPECT_TRUE(tests::identical(there.to(Device::cpu()), sent)) << count;
  };
  constexpr std::int64_t piece = std::int64_t{2} << 20;  // values in 8 MiB
  for (const std::int64_t count : {4 * piece - 1, 4 * piece, 4 * piece + 1, 7 * piece + 12345})
    there_and_back(count);
  std::vector<std::thread> threads;  // one in pieces, the other as the driver does it
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { there_and_back(5 * piece); });
  for (auto& thread : threads) thread.join();
}

TEST_F(GpuDevice, new_arrays_are_zero) {
  // Fill and release first, so that the next array may get memory that was used.
  { const auto used = tests::random_values<float>({1 << 20}, 2).to(Device::cuda()); }
  const auto zeros = Array<Complex<float>>({1 << 20}, Device::cuda()).to(Device::cpu());
  for (const auto& value : zeros) ASSERT_EQ(value, Complex<float>{});
}

TEST_F(GpuDevice, memory_is_counted_and_limited) {
  const auto before = device::memory_use(Device::cuda()).used_bytes;
  {
    const Array<float> array({1 << 20}, Device::cuda());
    EXPECT_EQ(device::memory_use(Device::cuda()).used_bytes, before + (4u << 20));
    EXPECT_GE(device::memory_use(Device::cuda()).peak_bytes, before + (4u << 20));
    device::limit_memory(Device::cuda(), before + (5u << 20));
    EXPECT_THROW(Array<float>({1 << 20}, Device::cuda()), Error);
    EXPECT_NO_THROW(Array<float>({1 << 18}, Device::cuda()));
    device::limit_memory(Device::cuda(), 0);
  }
  EXPECT_EQ(device::memory_use(Device::cuda()).used_bytes, before);
}

TEST_F(GpuDevice, more_memory_than_there_is_is_refused_with_the_figure) {
  const auto free_bytes = device::memory_use(Device::cuda()).free_bytes;
  try {
    const Array<float> array({static_cast<std::int64_t>(free_bytes)}, Device::cuda());
    ADD_FAILURE() << "four times the free memory was given";
  } catch (const Error& error) {
    EXPECT_NE(std::strstr(error.what(), "CUDA device memory"), nullptr) << error.what();
    EXPECT_NE(std::strstr(error.what(), "MiB free"), nullptr) << error.what();
  }
  EXPECT_NO_THROW(Array<float>({1024}, Device::cuda())) << "the device goes on";
}

TEST_F(GpuDevice, arrays_view_memory_of_others) {
  auto owner = tests::random_values<float>({1001}, 3).to(Device::cuda());
  const auto used = device::memory_use(Device::cuda()).used_bytes;
  {
    auto view = Array<Complex<float>>::view(owner.data(), Shape{7, 143}, Device::cuda());
    EXPECT_EQ(device::memory_use(Device::cuda()).used_bytes, used) << "a view takes no memory";
    const auto copy = view;
    EXPECT_NE(copy.data(), owner.data());
    view.fill_zero();
    EXPECT_EQ(copy.to(Device::cpu())[1000], (tests::random_values<float>({1001}, 3)[1000]));
  }
  EXPECT_EQ(owner.to(Device::cpu())[1000], Complex<float>()) << "written there, and not freed";
}

/// Two devices of one machine, by two threads at a time.
TEST_F(GpuDevice, two_devices_work_in_one_process) {
  const auto inventory = device::inventory();
  if (inventory.devices.size() < 2) GTEST_SKIP() << "there is one device";
  const Device devices[2] = {inventory.devices[0].device, inventory.devices[1].device};
  const auto x = tests::random_values<float>({100003}, 4), y = tests::random_values<float>({100003}, 5);
  Array<double> expected({1});
  dot(x, y, expected, 0);
  const auto used = device::memory_use(devices[0]).used_bytes;
  device::limit_memory(devices[1], device::memory_use(devices[1]).used_bytes + (1u << 20));
  const Array<float> large({1 << 20}, devices[0]);
  EXPECT_THROW(Array<float>({1 << 20}, devices[1]), Error) << "its own limit";
  EXPECT_EQ(device::memory_use(devices[0]).used_bytes, used + (4u << 20)) << "its own counter";
  device::limit_memory(devices[1], 0);

  double found[2] = {};
  std::vector<std::thread> threads;
  for (int d = 0; d < 2; ++d)
    threads.emplace_back([&, d] {
      for (int repetition = 0; repetition < 100; ++repetition) {
        const auto there_x = x.to(devices[d]);
        auto there_y = y.to(devices[d]);
        scale(there_y, 0.5f);
        add_scaled(there_y, 0.5f, y.to(devices[d]));
        Array<double> result({1}, devices[d]);
        dot(there_x, there_y, result, 0);
        found[d] = result.to(Device::cpu())[0];
      }
    });
  for (auto& thread : threads) thread.join();
  for (const double value : found) EXPECT_LE(std::abs(value - expected[0]), 1e-6 * std::abs(expected[0]));

  EXPECT_TRUE(tests::identical(x.to(devices[0]).to(devices[1]), x));
  auto mixed = x.to(devices[0]);
  EXPECT_THROW(add_scaled(mixed, 1.0f, x.to(devices[1])), Error);
}

TEST_F(GpuDevice, events_order_and_time_streams) {
  if constexpr (built_with_cuda) {
    device::Stream stream;
    device::Event start(device::Event::Timing::on), stop(device::Event::Timing::on), uploaded;
    start.record();
    uploaded.record(stream);
    uploaded.hold_default_stream();
    stop.record();
    stream.wait(stop);
    stream.synchronize();
    EXPECT_GE(stop.ms_since(start), 0.0);
  }
}

}  // namespace
}  // namespace fhd

#include "app/device_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr std::string_view numbered = "cuda:";

/// N of "cuda:N"; -1 where there is none.
int ordinal_of(const std::string& text) {
  int ordinal = -1;
  if (!text.starts_with(numbered)) return -1;
  const char *begin = text.data() + numbered.size(), *end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(begin, end, ordinal);
  return status == std::errc() && stop == end ? ordinal : -1;
}

ChosenDevice gpu(Device device) {
  const auto description = device::start(device);
  return {device, false, fmt::format("GPU {}: {}", device.number(), description.text()), description};
}

}  // namespace

void DeviceOption::add_to(CLI::App& app) {
  app.add_option("--device", device_,
                 "auto: a GPU where there is one, else the CPU; cpu; cuda; or cuda:N, the GPU of that number")
      ->check([](const std::string& text) {
        const bool known = text == "auto" || text == "cpu" || text == "cuda" || ordinal_of(text) >= 0;
        return known ? "" : "expected auto, cpu, cuda or cuda:N, found '" + text + "'";
      })
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option("--device-memory-mib", memory_mib_, "pretend that the GPU has no more memory than this")
      ->group("");
}

ChosenDevice DeviceOption::choose(int preferred) const {
  ChosenDevice device;
  device.text = "CPU";
  if (device_ == "cuda") {
    const auto count = static_cast<int>(device::inventory().devices.size());
    device = gpu(Device::cuda(count > 0 ? preferred % count : 0));
  } else if (device_ == "auto") {
    const auto inventory = device::inventory();
    try {
      if (inventory.devices.empty())
        device.text = "CPU, because " + inventory.reason;
      else
        device =
            gpu(inventory.devices[static_cast<std::size_t>(preferred) % inventory.devices.size()].device);
    } catch (const Error& error) {
      device.text = std::string("CPU, because ") + error.what();
    }
    device.automatic = true;
  } else if (device_ != "cpu") {
    device = gpu(Device::cuda(ordinal_of(device_)));
  }
  if (memory_mib_ > 0) device::limit_memory(device.device, memory_mib_ << 20);
  return device;
}

std::vector<std::pair<std::string, std::string>> ChosenDevice::environment() const {
  if (device.is_cpu()) return {{"device", text}};
  return {
      {"device", fmt::format("GPU {}: {}", device.number(), description.name)},
      {"GPU memory", fmt::format("{} MiB", description.memory_bytes >> 20)},
      {"GPU compute capability", fmt::format("{}.{}", description.compute_major, description.compute_minor)},
      {"CUDA of the driver", device::version_text(description.driver_version)},
      {"CUDA runtime", device::version_text(description.runtime_version)}};
}

void print_fallback(const std::string& reason) {
  fmt::print(stderr, "fhd: the GPU failed, the CPU goes on: {}\n", reason);
}

}  // namespace fhd::app

#include "app/device_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "app/console.hpp"
#include "app/option_names.hpp"
#include "app/recon_options.hpp"
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

/// A GPU where there is one that works.
ChosenDevice choose_any(int preferred) {
  const auto inventory = device::inventory();
  ChosenDevice chosen;
  try {
    if (inventory.devices.empty()) throw Error(inventory.reason, "", "");
    chosen = gpu(inventory.devices[static_cast<std::size_t>(preferred) % inventory.devices.size()].device);
  } catch (const Error& error) {
    chosen.text = "CPU, because " + in_words_of_options(error.what());
  }
  chosen.automatic = true;
  return chosen;
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
  ChosenDevice chosen;
  if (device_ == "cuda") {
    const auto count = static_cast<int>(device::inventory().devices.size());
    chosen = gpu(Device::cuda(count > 0 ? preferred % count : 0));
  } else if (device_ == "auto") {
    chosen = choose_any(preferred);
  } else if (device_ != "cpu") {
    chosen = gpu(Device::cuda(ordinal_of(device_)));
  }
  if (memory_mib_ > 0) device::limit_memory(chosen.device, memory_mib_ << 20);
  return chosen;
}

std::vector<std::pair<std::string, std::string>> ChosenDevice::environment() const {
  auto environment = ReconOptions::environment();
  const auto add = [&](const char* name, std::string value) {
    environment.emplace_back(name, std::move(value));
  };
  if (device.is_cpu()) {
    add("device", text);
    return environment;
  }
  const auto& d = description;
  add("device", fmt::format("GPU {}: {}", device.number(), d.name));
  add("GPU memory", fmt::format("{} MiB", d.memory_bytes >> 20));
  add("GPU compute capability", fmt::format("{}.{}", d.compute_major, d.compute_minor));
  add("CUDA of the driver", device::version_text(d.driver_version));
  add("CUDA runtime", device::version_text(d.runtime_version));
  return environment;
}

void print_fallback(const std::string& reason) { print_error("the GPU failed, the CPU goes on: " + reason); }

}  // namespace fhd::app

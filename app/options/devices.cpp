// Several GPUs: which, how they start side by side, and what is told of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <future>
#include <string_view>
#include <system_error>

#include "app/options/options.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr std::string_view gpus_by_number = "cuda:";
/// On a thread of its own; where the system starts none, by who waits for it.
constexpr auto aside = std::launch::async | std::launch::deferred;

/// "GPU 0, 1: 2 x what", or each by itself where they differ.
template <class What>
std::string of_each_gpu(const std::vector<ChosenDevice>& devices, const What& what) {
  std::vector<std::string> numbers, each;
  for (const auto& d : devices) {
    numbers.push_back(std::to_string(d.device.number()));
    each.push_back(fmt::format("GPU {}: {}", numbers.back(), what(d)));
  }
  const auto differs = [&](const ChosenDevice& d) { return what(d) != what(devices.front()); };
  if (devices.size() == 1 || std::any_of(devices.begin(), devices.end(), differs))
    return fmt::format("{}", fmt::join(each, "; "));
  return fmt::format("GPU {}: {} x {}", fmt::join(numbers, ", "), devices.size(), what(devices.front()));
}

}  // namespace

std::vector<int> gpu_numbers_of(const std::string& text) {
  std::vector<int> numbers;
  if (!text.starts_with(gpus_by_number)) return {};
  const char *at = text.data() + gpus_by_number.size(), *end = text.data() + text.size();
  while (true) {
    int number = -1;
    const auto [stop, status] = std::from_chars(at, end, number);
    if (status != std::errc() || number < 0 ||
        std::find(numbers.begin(), numbers.end(), number) != numbers.end())
      return {};
    numbers.push_back(number);
    if (stop == end) return numbers;
    if (*stop != ',') return {};
    at = stop + 1;
  }
}

bool DeviceOption::names_several() const {
  return device_ == "cuda:all" || device_.find(',') != std::string::npos;
}

std::vector<ChosenDevice> DeviceOption::choose_all(int preferred) const {
  if (!names_several()) return {choose(preferred)};
  std::vector<int> numbers = gpu_numbers_of(device_);
  if (device_ == "cuda:all")
    for (const auto& d : device::inventory().devices) numbers.push_back(d.device.number());
  std::vector<std::future<ChosenDevice>> starting;
  DeviceOption one = *this;
  one.device_ = "cuda";  // says why there is none
  if (numbers.empty()) return {one.choose()};
  for (const int number : numbers) {
    one.device_ = std::string(gpus_by_number) + std::to_string(number);
    starting.push_back(std::async(aside, [one] { return one.choose(); }));
  }
  std::vector<ChosenDevice> devices;
  for (auto& device : starting) devices.push_back(device.get());
  return devices;
}

std::shared_ptr<const DeviceTeam> team_of(const std::vector<ChosenDevice>& devices) {
  std::vector<Device> all;
  for (const auto& chosen : devices) {
    all.push_back(chosen.device);
    if (chosen.description.name != devices.front().description.name)
      throw Error(Field{"device"}, "GPUs of one kind, which round alike, where they share a scan",
                  text_of(devices), "name those of one kind: --device cuda:0,1");
  }
  return std::make_shared<const DeviceTeam>(std::move(all));
}

std::string text_of(const std::vector<ChosenDevice>& devices) {
  if (devices.size() == 1) return devices.front().text;
  return of_each_gpu(devices, [](const ChosenDevice& d) { return d.description.text(); });
}

std::vector<std::pair<std::string, std::string>> environment_of(const std::vector<ChosenDevice>& devices) {
  auto environment = host_environment();
  const ChosenDevice& first = devices.front();
  if (first.device.is_cpu()) {
    environment.emplace_back("device", first.text);
    return environment;
  }
  const auto& d = first.description;
  environment.insert(
      environment.end(),
      {{"device", of_each_gpu(devices, [](const ChosenDevice& c) { return c.description.name; })},
       {"GPU memory", fmt::format("{} MiB", d.memory_bytes >> 20)},
       {"GPU compute capability", fmt::format("{}.{}", d.compute_major, d.compute_minor)},
       {"CUDA of the driver", device::version_text(d.driver_version)},
       {"CUDA runtime", device::version_text(d.runtime_version)}});
  return environment;
}

std::vector<std::pair<std::string, std::string>> ChosenDevice::environment() const {
  return environment_of({*this});
}

DevicesInBackground::DevicesInBackground(const DeviceOption& option, int preferred)
    : chosen_(promise_.get_future().share()) {
  // For DeviceTeam, while no other thread reads the environment; what the user set stays.
  if (option.names_several()) setenv("NCCL_NVLS_ENABLE", "0", 0);
  const auto work = [this, option, preferred] {
    std::vector<ChosenDevice> devices;
    try {
      devices = option.choose_all(preferred);
      promise_.set_value(devices);
    } catch (...) {
      promise_.set_exception(std::current_exception());
    }
    std::vector<std::future<void>> warming;  // their end waits
    for (const auto& chosen : devices)
      warming.push_back(std::async(aside, [&chosen] { device::warm_up(chosen.device); }));
  };
  try {
    done_ = std::async(std::launch::async, work);
  } catch (const std::system_error&) {  // no thread: not in the background
    work();
  }
}

}  // namespace fhd::app

#include "app/options/devices.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include "app/options/nearest_word.hpp"
#include "app/options/values.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/processors.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/transform/direct/direct.hpp"

namespace fhd::app {
namespace {

constexpr std::string_view gpus_by_number = "cuda:";
/// Runs work on a thread of its own; where the system starts none, when it is waited for.
constexpr auto aside = std::launch::async | std::launch::deferred;

ChosenDevice gpu(const device::Description& of) {
  return {of.device, false, fmt::format("GPU {}: {}", of.device.number(), of.text()), of};
}

/// Returns a GPU, which need not have started. Throws Error saying why the program cannot use it.
ChosenDevice gpu(Device device) {
  const auto known = device::inventory().devices;
  const auto same = std::ranges::find(known, device, &device::Description::device);
  return gpu(same != known.end() ? *same : device::start(device));  // which throws
}

/// Returns a GPU, which need not have started, where there is one that the program can use, else the CPU.
ChosenDevice choose_any(int preferred) {
  const auto& [devices, reason] = device::inventory();
  ChosenDevice chosen;
  if (devices.empty())
    chosen.text = "CPU, because " + reason;
  else
    chosen = gpu(devices[static_cast<std::size_t>(preferred) % devices.size()]);
  chosen.automatic = true;
  return chosen;
}

}  // namespace

std::vector<int> gpu_numbers_of(const std::string& text) {
  std::vector<int> numbers;
  if (!text.starts_with(gpus_by_number)) return {};
  for (const auto& piece : split_at(text.substr(gpus_by_number.size()), ',')) {
    const auto number = parse_whole(piece, 0, std::numeric_limits<int>::max());
    if (!number || std::find(numbers.begin(), numbers.end(), *number) != numbers.end()) return {};
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

void DeviceOption::set_name(const std::string& text) {
  const std::vector<std::string> names{"auto", "cpu", "cuda", "cuda:all"};
  if (std::find(names.begin(), names.end(), text) == names.end() && gpu_numbers_of(text).empty())
    throw Error("--device", "auto, cpu, cuda, cuda:N, or several as cuda:all or cuda:0,2", "'" + text + "'",
                text == "gpu" ? "did you mean 'cuda'?" : did_you_mean(text, names));
  name = text;
}

DeviceMemory parse_device_memory(const std::string& text) {
  constexpr std::pair<const char*, double> units[] = {{"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                                                      {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  constexpr double least = 0x1p20, most = 0x1p60;
  double number = 0;
  const char* const end = text.data() + text.size();
  auto [unit, error] = std::from_chars(text.data(), end, number);
  if (unit != end && *unit == ' ') ++unit;
  const std::string found(unit, end);
  if (error == std::errc()) {
    if (found == "%" && number > 0 && number <= 100) return {0, number / 100};
    for (const auto& [name, bytes] : units)
      if (found == name && number * bytes >= least && number * bytes <= most) return {number * bytes, 0};
  }
  throw Error("--device-memory",
              "1MiB or more with its unit (MiB, GiB, TiB, MB, GB, TB), or a share such as 50%",
              "'" + text + "'");
}

std::size_t DeviceMemory::limit_bytes(std::size_t memory_bytes) const {
  return static_cast<std::size_t>(share > 0 ? share * static_cast<double>(memory_bytes) : bytes);
}

ChosenDevice DeviceOption::choose(int preferred) const {
  if (names_several())
    throw Error("--device " + name, "one device", "several, which only 'fhd recon' uses",
                "use " + option_words("device", "cuda") + ", or cuda:N");
  auto chosen = find(preferred);
  if (chosen.device.is_cuda()) try {
      device::start(chosen.device);
    } catch (const Error& error) {
      if (!chosen.automatic) throw;
      chosen = {Device::cpu(), true, std::string("CPU, because ") + error.what(), {}};
    }
  return chosen;
}

ChosenDevice DeviceOption::find(int preferred) const {
  ChosenDevice chosen;
  if (name == "cuda") {
    const auto count = static_cast<int>(device::inventory().devices.size());
    chosen = gpu(Device::cuda(count > 0 ? preferred % count : 0));
  } else if (name == "auto" && leaves_gpu_alone && FHD_HAS_CUDA) {
    chosen.text = "CPU, because this scan is finished before a GPU could start";
  } else if (name == "auto") {
    chosen = choose_any(preferred);
  } else if (name != "cpu") {
    chosen = gpu(Device::cuda(gpu_numbers_of(name).front()));
  }
  const auto limit = memory.limit_bytes(chosen.description.memory_bytes);
  if (chosen.device.is_cuda() && limit > 0) {
    device::limit_memory(chosen.device, limit);
    chosen.text += fmt::format(", at most {:.1f} GiB of it", std::ldexp(static_cast<double>(limit), -30));
  }
  return chosen;
}

std::vector<std::pair<std::string, std::string>> host_environment() {
  std::string processor = "unknown", line;
  std::ifstream cpuinfo("/proc/cpuinfo");
  while (std::getline(cpuinfo, line))
    if (line.starts_with("model name")) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  std::vector<std::pair<std::string, std::string>> environment{
      {"processor", processor},
      {"threads", std::to_string(omp_get_max_threads())},
      {"instruction set", instruction_set()}};
  if (const int usable = usable_processors(), all = omp_get_num_procs(); usable < all)
    environment.emplace_back("processor quota", fmt::format("the time of {} of {} processors", usable, all));
  return environment;
}

void print_fallback(const std::string& reason) { print_error("the GPU failed, the CPU goes on: " + reason); }

bool DeviceOption::names_several() const { return name == "cuda:all" || name.find(',') != std::string::npos; }

std::vector<ChosenDevice> DeviceOption::find_all(int preferred) const {
  if (!names_several()) return {find(preferred)};
  std::vector<int> numbers = gpu_numbers_of(name);
  if (name == "cuda:all")
    for (const auto& d : device::inventory().devices) numbers.push_back(d.device.number());
  DeviceOption one = *this;
  one.name = "cuda";  // says why there is none
  if (numbers.empty()) return {one.find(0)};
  std::vector<ChosenDevice> devices;
  for (const int number : numbers) {
    one.name = std::string(gpus_by_number) + std::to_string(number);
    devices.push_back(one.find(0));
  }
  return devices;
}

std::shared_ptr<const DeviceTeam> team_of(const std::vector<ChosenDevice>& devices) {
  std::vector<Device> all;
  for (const auto& chosen : devices) {
    all.push_back(chosen.device);
    if (chosen.description.name != devices.front().description.name)
      throw Error("--device", "GPUs of one kind, which round alike, where they share a scan",
                  text_of(devices), "name those of one kind, such as cuda:0,1");
  }
  return std::make_shared<const DeviceTeam>(std::move(all));
}

std::string text_of(const std::vector<ChosenDevice>& devices) {
  std::string text;
  for (const auto& each : devices) text += (text.empty() ? "" : "; ") + each.text;
  return text;
}

std::vector<std::pair<std::string, std::string>> environment_of(const std::vector<ChosenDevice>& devices) {
  auto environment = host_environment();
  const ChosenDevice& first = devices.front();
  if (first.device.is_cpu()) {
    environment.emplace_back("device", first.text);
    return environment;
  }
  const auto& d = first.description;
  std::string names;
  for (const auto& each : devices)
    names +=
        fmt::format("{}GPU {}: {}", names.empty() ? "" : "; ", each.device.number(), each.description.name);
  environment.insert(environment.end(),
                     {{"device", names},
                      {"GPU memory", fmt::format("{} MiB", d.memory_bytes >> 20)},
                      {"GPU compute capability", fmt::format("{}.{}", d.compute_major, d.compute_minor)},
                      {"CUDA of the driver", device::version_text(d.driver_version)},
                      {"CUDA runtime", device::version_text(d.runtime_version)}});
  return environment;
}

DevicesInBackground::DevicesInBackground(DeviceOption option, int preferred) {
  chosen_ = std::async(aside, [option, preferred] { return option.find_all(preferred); }).share();
  warm_ = std::async(aside, [chosen = chosen_] {
    std::vector<std::future<void>> warming;  // their destructors wait
    for (const auto& each : chosen.get())
      warming.push_back(std::async(aside, [&each] { device::warm_up(each.device); }));
  });
}

}  // namespace fhd::app

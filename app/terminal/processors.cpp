#include "app/terminal/processors.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

constexpr int always_allowed = 8;  ///< threads: to try on a small machine what a larger one does

/// Returns the processors of a group: its quota over the period, both in us, rounded up. Empty: no quota ("max" or -1),
/// or no such file.
std::optional<int> quota_of(const fs::path& group) {
  std::vector<std::int64_t> numbers;
  for (const char* name : {"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"}) {
    std::ifstream file(group / name);
    for (std::int64_t number = 0; file >> number;) numbers.push_back(number);
  }
  if (numbers.size() < 2 || numbers[0] <= 0 || numbers[1] <= 0) return {};
  const double processors = std::ceil(static_cast<double>(numbers[0]) / static_cast<double>(numbers[1]));
  return static_cast<int>(std::clamp(processors, 1.0, 1e6));
}

}  // namespace

std::optional<int> processor_quota(const fs::path& root) {
  std::optional<int> least;
  // Lines are "0::/group" of version 2, and "4:cpu,cpuacct:/group" of version 1. A container that sees its own group
  // at the place of mounting has none at /group: the folder above it counts.
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool second_version = controllers == ",,";
    if (!second_version && controllers.find(",cpu,") == std::string::npos) continue;
    const fs::path top = root / "sys/fs/cgroup" / (second_version ? "" : "cpu");
    auto group = fs::path("/" + line.substr(second + 1)).lexically_normal().relative_path();
    for (;; group = group.parent_path()) {
      if (const auto quota = quota_of(top / group)) least = std::min(least.value_or(*quota), *quota);
      if (group.empty()) break;
    }
  }
  return least;
}

int usable_processors() {
  static const int processors = [] {
    const int runnable = std::max(1, omp_get_num_procs());
    return std::min(runnable, processor_quota().value_or(runnable));
  }();
  return processors;
}

std::optional<int> threads_of_environment() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (!text) return {};
  const std::string_view first = std::string_view(text).substr(0, std::string_view(text).find(','));
  int threads = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), threads);
  if (error != std::errc() || end != first.data() + first.size() || threads < 1) return {};
  return threads;
}

int most_threads() {
  cpu_set_t usable;
  const bool known = sched_getaffinity(0, sizeof usable, &usable) == 0;
  return std::max(always_allowed, known ? CPU_COUNT(&usable) : omp_get_num_procs());
}

namespace {

/// Returns how many of `wanted` threads, of which the calling one is the first, the system lets live at once.
int started_threads(int wanted) {
  std::vector<std::thread> others;
  std::mutex gate;
  try {
    const std::lock_guard closed(gate);
    others.reserve(static_cast<std::size_t>(wanted));
    while (static_cast<int>(others.size()) + 1 < wanted)
      others.emplace_back([&gate] { const std::lock_guard waiting(gate); });
  } catch (const std::exception&) {  // no more
  }
  for (auto& other : others) other.join();
  return static_cast<int>(others.size()) + 1;
}

std::atomic<bool> system_limits = false;

/// OpenMP ends the process where a team cannot be started. So its threads are started once by themselves, which takes
/// 20 us each.
int startable_threads(int wanted) {
  static std::mutex mutex;
  static int known = 1;
  const std::lock_guard lock(mutex);
  if (wanted > known && !system_limits) {
    known = started_threads(wanted);
    system_limits = known < wanted;
  }
  return std::min(wanted, known);
}

}  // namespace

int default_threads() { return bounded_threads(threads_of_environment().value_or(usable_processors())); }

bool is_limited_by_system() { return system_limits; }

int bounded_threads(int asked) { return startable_threads(std::min(asked, most_threads())); }

}  // namespace fhd::app

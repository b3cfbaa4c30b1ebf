#include "app/terminal/processors.hpp"

#include <fmt/format.h>
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
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

constexpr int always_allowed = 8;  ///< threads: to try on a small machine what a larger one does

std::vector<std::string> words_of(const std::string& line, char separator) {
  std::vector<std::string> words;
  std::istringstream rest(line);
  for (std::string word; std::getline(rest, word, separator);) words.push_back(word);
  return words;
}

/// The first numbers of a file, as many as there are before anything else.
std::vector<std::int64_t> numbers_in(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = 0; numbers.size() < 2 && file >> number;) numbers.push_back(number);
  return numbers;
}

/// Processors of a group: its quota over the period, both in us. Empty: no quota ("max" or -1), or no such file.
std::optional<int> quota_of(const fs::path& group, bool second_version) {
  auto numbers = numbers_in(group / (second_version ? "cpu.max" : "cpu.cfs_quota_us"));
  if (!second_version && numbers.size() == 1)
    for (const auto period : numbers_in(group / "cpu.cfs_period_us")) numbers.push_back(period);
  if (numbers.size() < 2 || numbers[0] <= 0 || numbers[1] <= 0) return {};
  const double processors = std::ceil(static_cast<double>(numbers[0]) / static_cast<double>(numbers[1]));
  return static_cast<int>(std::clamp(processors, 1.0, 1e6));
}

/// Where control groups are mounted: which of them lies at which folder.
struct Mount {
  bool second_version = false;
  std::string group, folder;
};

/// Parses a line of /proc/self/mountinfo: "36 25 0:32 /group /folder options ... - cgroup2 source options".
std::vector<Mount> mounts_of(const fs::path& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const auto words = words_of(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const auto &kind = dash[1], &options = dash[3];
    const auto controllers = words_of(options, ',');
    const bool of_processors = std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end();
    if (kind == "cgroup2" || (kind == "cgroup" && of_processors))
      mounts.push_back({kind == "cgroup2", words[3], words[4]});
  }
  return mounts;
}

/// The group of this process that a mount shows. Of /proc/self/cgroup: "0::/group" of version 2, else
/// "4:cpu,cpuacct:/group". Empty: it is told of none.
std::optional<std::string> group_of(const fs::path& root, bool second_version) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = words_of(line.substr(first + 1, second - first - 1), ',');
    const bool of_processors = std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end();
    if (second_version ? controllers.empty() : of_processors) return line.substr(second + 1);
  }
  return {};
}

}  // namespace

std::optional<int> processor_quota(const fs::path& root) {
  std::optional<int> least;
  for (const auto& mount : mounts_of(root)) {
    auto group = group_of(root, mount.second_version);
    if (!group) continue;
    // A container sees its own group at the mount itself.
    if (mount.group != "/" && group->starts_with(mount.group)) group->erase(0, mount.group.size());
    const fs::path top = root / fs::path(mount.folder).relative_path();
    fs::path folder = fs::path(*group).relative_path().lexically_normal();
    if (folder.begin() != folder.end() && *folder.begin() == "..")
      folder.clear();  // outside of what is shown
    while (true) {
      if (const auto quota = quota_of(top / folder, mount.second_version))
        least = std::min(least.value_or(*quota), *quota);
      if (folder.empty() || folder == ".") break;
      folder = folder.parent_path();
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

std::string note_of_bound(int asked, const std::string& who) {
  const int threads = bounded_threads(asked), most = most_threads();
  if (threads == asked) return {};
  std::string note = fmt::format("note: {} {}: {} thread{}; ", who, asked, threads, threads == 1 ? "" : "s");
  if (threads < std::min(asked, most)) return note + "the system starts no more (ulimit -u)";
  const int processors = std::max(1, omp_get_num_procs());
  return note + fmt::format("more are of no use on {} processor{}", processors, processors == 1 ? "" : "s");
}

std::string note_of_default_threads(int asked) {
  return asked > 0 ? note_of_bound(asked, "OMP_NUM_THREADS")
                   : note_of_bound(usable_processors(), "processors");
}

}  // namespace fhd::app

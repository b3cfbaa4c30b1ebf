#include "app/batch/worker_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "app/options/devices.hpp"

namespace fhd::app {

std::vector<std::string> devices_of(const std::string& asked, int gpus) {
  std::vector<int> numbers = gpu_numbers_of(asked);
  if (asked == "auto" || asked == "cuda" || asked == "cuda:all")
    for (int number = 0; number < gpus; ++number) numbers.push_back(number);
  std::vector<std::string> devices;
  for (const int number : numbers) devices.push_back("cuda:" + std::to_string(number));
  return devices;
}

std::vector<WorkerPlan> plan_workers(const BatchResources& resources) {
  const int threads = std::max(1, resources.threads);
  const int at_once = resources.at_once > 0 ? resources.at_once : threads;
  auto devices = devices_of(resources.device, resources.gpus);
  if (devices.empty()) {
    const bool all = resources.device == "cuda:all";
    return std::vector<WorkerPlan>(static_cast<std::size_t>(at_once),
                                   WorkerPlan{all ? "cuda" : resources.device});
  }
  // A small scan takes five times as long on the CPU (maps, checks, verdict) as on the GPU, where engines do not wait for
  // each other: as many as threads, at least two.
  constexpr int least_engines = 2, most_engines = 16, most_files = 4;
  if (resources.at_once > 0 && devices.size() > static_cast<std::size_t>(resources.at_once))
    devices.resize(static_cast<std::size_t>(resources.at_once));
  const int count = static_cast<int>(devices.size()), share = threads / count;
  const int most = resources.at_once > 0 ? std::min(most_engines, resources.at_once / count) : most_engines;
  const int engines = std::clamp(std::max(least_engines, share), 1, std::max(1, most));
  const int files = std::clamp(share / 4, 1, most_files);
  std::vector<WorkerPlan> plans;
  for (const auto& device : devices) plans.push_back({device, engines, engines + 2 * files});
  if (resources.has_last_resort)
    plans.insert(plans.end(), static_cast<std::size_t>(std::min(at_once, threads)),
                 WorkerPlan{.device = "cpu", .is_last_resort = true});
  return plans;
}

std::uint64_t memory_to_use(std::uint64_t limit_mib) {
  if (limit_mib > 0) return limit_mib << 20;
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (file >> name >> kib && name != "MemAvailable:") file.ignore(1 << 10, '\n');
  // Where that cannot be read: without what the system keeps of files, and would give back.
  const std::uint64_t bytes = name == "MemAvailable:"
                                  ? kib * 1024
                                  : static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
                                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes / 5 * 4;
}

bool WorkerPool::may_take(std::size_t worker, const std::set<std::size_t>& gave_up) const {
  const auto can_take = [&](std::size_t one) { return !retired_[one] && !gave_up.contains(one); };
  if (!can_take(worker) || !plans_[worker].is_last_resort) return can_take(worker);
  for (std::size_t other = 0; other < plans_.size(); ++other)
    if (!plans_[other].is_last_resort && can_take(other)) return false;
  return true;
}

bool WorkerPool::anyone_may_take(const std::set<std::size_t>& gave_up) const {
  for (std::size_t worker = 0; worker < plans_.size(); ++worker)
    if (may_take(worker, gave_up)) return true;
  return false;
}

int WorkerPool::engine_count(bool last_resort) const {
  int count = 0;
  for (const auto& plan : plans_)
    if (plan.is_last_resort == last_resort) count += plan.engines;
  return std::max(1, count);
}

}  // namespace fhd::app

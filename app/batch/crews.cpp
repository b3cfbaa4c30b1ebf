#include "app/batch/crews.hpp"

#include <algorithm>
#include <sstream>

namespace fhd::app {

std::vector<std::string> devices_of(const std::string& asked, int gpus) {
  const std::string prefix = "cuda:";
  std::vector<std::string> devices;
  if (asked == "auto" || asked == "cuda" || asked == prefix + "all") {
    for (int i = 0; i < gpus; ++i) devices.push_back(prefix + std::to_string(i));
  } else if (asked.starts_with(prefix)) {
    std::istringstream numbers(asked.substr(prefix.size()));
    for (std::string number; std::getline(numbers, number, ',');) devices.push_back(prefix + number);
  }
  return devices;
}

std::vector<Crew> crews_of(const BatchResources& resources) {
  const int threads = std::max(1, resources.threads);
  const int at_once = resources.at_once > 0 ? resources.at_once : threads;
  auto devices = devices_of(resources.device, resources.gpus);
  if (devices.empty()) {
    const bool all = resources.device == "cuda:all";
    return std::vector<Crew>(static_cast<std::size_t>(at_once), Crew{all ? "cuda" : resources.device});
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
  std::vector<Crew> crews;
  for (const auto& device : devices) crews.push_back({device, files, engines, files});
  if (resources.has_last_resort)
    crews.insert(crews.end(), static_cast<std::size_t>(std::min(at_once, threads)),
                 Crew{"cpu", 1, 1, 1, true});
  return crews;
}

bool Roster::may_take(std::size_t crew, const std::set<std::size_t>& gave_up) const {
  if (!can_take(crew, gave_up)) return false;
  if (!crews_[crew].is_last_resort) return true;
  for (std::size_t other = 0; other < crews_.size(); ++other)
    if (!crews_[other].is_last_resort && can_take(other, gave_up)) return false;
  return true;
}

bool Roster::anyone_may_take(const std::set<std::size_t>& gave_up) const {
  for (std::size_t crew = 0; crew < crews_.size(); ++crew)
    if (may_take(crew, gave_up)) return true;
  return false;
}

int Roster::engine_count(bool last_resort) const {
  int count = 0;
  for (const auto& crew : crews_)
    if (crew.is_last_resort == last_resort) count += crew.engines;
  return std::max(1, count);
}

}  // namespace fhd::app

#pragma once
// A cache of Q and density compensation in a folder, for every process that uses it.
#include <atomic>
#include <cstdint>
#include <string>

#include "recon/domain/trajectory_cache.hpp"

namespace fhd::io {

/// Returns $XDG_CACHE_HOME/fhd/trajectories, else ~/.cache/fhd/trajectories; empty when neither is set.
std::string default_trajectory_cache();

/// A cache of one file per product, named by the SHA-256 of trajectory, matrix, quantity and program version. It appears
/// whole or not at all, and holds the SHA-256 of its values, which `load` checks; a damaged one is removed.
/// The least recently used files go when the folder holds more than it may. Several processes may use it at
/// once. A folder that cannot be read or written is a cache without hits.
class DiskTrajectoryCache final : public TrajectoryCache {
 public:
  DiskTrajectoryCache(std::string folder, std::string program_version,
                      std::uint64_t most_bytes = default_bytes);

  bool load(const TrajectoryProduct& product, void* values, std::size_t bytes) override;
  void store(const TrajectoryProduct& product, const void* values, std::size_t bytes) override;

  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  const std::string& folder() const { return folder_; }

  static constexpr std::uint64_t default_bytes = std::uint64_t{4} << 30;

 private:
  std::string key(const TrajectoryProduct& product) const;
  std::string file_of(const std::string& key) const;
  void remove_oldest(std::uint64_t wanted_bytes) const;

  std::string folder_, program_version_;
  std::uint64_t most_bytes_;
  std::atomic<std::int64_t> hits_{0}, misses_{0};
};

}  // namespace fhd::io

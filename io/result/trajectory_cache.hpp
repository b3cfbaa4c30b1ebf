#pragma once
// A cache of Q and density compensation in a folder, for every process that uses it.
#include <cstdint>
#include <memory>
#include <string>

#include "recon/domain/trajectory_cache.hpp"

namespace fhd::io {

/// Returns $XDG_CACHE_HOME/fhd/trajectories, else ~/.cache/fhd/trajectories; empty when neither is set.
std::string default_trajectory_cache();

/// Returns a cache of one file per product, named by the SHA-256 of trajectory, matrix, quantity and program version. It
/// appears whole or not at all, and holds the SHA-256 of its values, which `load` checks; a damaged one is removed.
/// The least recently used files go when the folder holds more than it may. Several processes may use it at
/// once. A folder that cannot be read or written is a cache without hits.
std::shared_ptr<TrajectoryCache> disk_trajectory_cache(const std::string& folder,
                                                       const std::string& program_version,
                                                       std::uint64_t most_bytes = std::uint64_t{4} << 30);

}  // namespace fhd::io

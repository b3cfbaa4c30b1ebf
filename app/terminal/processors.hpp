#pragma once
// How many threads compute: as many as there are processors for this process, not as the machine has. A
// container or a service is often allotted the time of a few of many processors (a quota of its control
// group), and more threads than that only wait for each other.
#include <filesystem>
#include <optional>

namespace fhd::app {

/// Returns the processors whose time the control groups of this process allot to it, rounded up, at least 1: the
/// least of its own group and those above it, of version 2 (/sys/fs/cgroup/GROUP/cpu.max) and version 1
/// (/sys/fs/cgroup/cpu/GROUP/cpu.cfs_quota_us). Empty: no quota, or none that can be read. `root` stands for "/".
std::optional<int> processor_quota(const std::filesystem::path& root = "/");

/// Returns how many processors this process may run on (its affinity), at most the quota.
int usable_processors();

/// Returns the number in OMP_NUM_THREADS; empty where it is not a number > 0.
std::optional<int> threads_of_environment();

/// The threads of a command without --threads: OMP_NUM_THREADS, else usable_processors().
int default_threads();

/// Returns the most threads that make sense: the processors that this process may run on, or 8: more only wait for each other. Also before main().
int most_threads();
/// `asked` threads, at most that many, and as many as the system lets this process start.
int bounded_threads(int asked);
/// Returns whether it has started fewer than were wanted.
bool is_limited_by_system();
}  // namespace fhd::app

#pragma once
// What the test and the library in the program under test share: a file that both map.
#include <array>
#include <atomic>
#include <cstdint>

namespace fhd::tests {

/// Kinds of calls that are counted, each by itself, and of which one can fail.
enum class Call : std::uint32_t {
  allocate,  ///< malloc and its like, and so operator new
  map,
  start_thread,
  start_process,
  open,  ///< also of folders, and what else gives a descriptor
  read,
  write,
  synchronize,
  rename,
  resize,
  close,
  make_folder,
  remove_name,  ///< unlink and its like
  link,
  lock,  ///< of files
};
constexpr std::array call_names{"allocate", "map",         "start_thread", "start_process", "open",
                                "read",     "write",       "synchronize",  "rename",        "resize",
                                "close",    "make_folder", "remove_name",  "link",          "lock"};
constexpr std::size_t call_kinds = call_names.size();

/// Of all processes of one run, from the first line of main() on.
struct CallState {
  std::array<std::atomic<std::uint64_t>, call_kinds> counts;
  Call failing;           ///< which kind
  std::uint64_t at;       ///< which of them, from 1 on; 0: none
  std::uint32_t goes_on;  ///< whether those after it fail, too
  std::uint32_t kills;    ///< it ends the process instead, as no process can prevent
  std::atomic<std::uint32_t> has_failed;
  /// With `is_recorded`: a number for the stack that each call of `failing` came from, 0 where there was no room.
  std::uint32_t is_recorded;
  static constexpr std::size_t most_stacks = std::size_t{1} << 21;
  std::array<std::uint64_t, most_stacks> stacks;
};

/// Environment: the file; where the stack of what failed is written.
constexpr auto state_variable = "FHD_FAILING_CALLS";
constexpr auto stack_variable = "FHD_FAILING_CALLS_STACK";

}  // namespace fhd::tests

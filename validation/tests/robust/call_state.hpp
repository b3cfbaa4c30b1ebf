#pragma once
// The state that the test and the library in the program under test share: a file that both map.
#include <array>
#include <atomic>
#include <cstdint>

namespace fhd::tests {

/// Kinds of system calls that are counted, each by itself, and of which one can fail.
enum class Call : std::uint32_t {
  open,  ///< also of folders
  write,
  synchronize,
  rename,
  resize,
  close,
  make_folder,
  remove_name,  ///< unlink and rmdir
  link,
  lock,  ///< of files
};
constexpr std::array call_names{"open",  "write",       "synchronize", "rename", "resize",
                                "close", "make_folder", "remove_name", "link",   "lock"};
constexpr std::size_t call_kinds = call_names.size();

/// Counts the calls of all processes of one run, from the first line of main() on.
struct CallState {
  std::array<std::atomic<std::uint64_t>, call_kinds> counts;
  Call failing;           ///< which kind
  std::uint64_t at;       ///< which of them, from 1 on; 0: none
  std::uint32_t goes_on;  ///< whether those after it fail, too
  std::int32_t
      signal;  ///< that the process gets instead: SIGKILL, or SIGSTOP before the call is made; 0: none
  std::atomic<std::uint32_t> has_failed;
};

/// The environment variable that names the file.
constexpr auto state_variable = "FHD_FAILING_CALLS";

}  // namespace fhd::tests

#include "io/files/input_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

std::atomic<std::uint64_t> most_input_bytes{0};  ///< 0: not set

std::uint64_t usual_input_memory() {
  const auto pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
  auto bytes = pages > 0 && page_bytes > 0
                   ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
                   : std::uint64_t{4} << 30;
  for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::uint64_t allotted = 0;
    if (std::ifstream(limit) >> allotted && allotted > 0) bytes = std::min(bytes, allotted);
  }
  return bytes / 4 * 3;
}

}  // namespace

std::uint64_t input_memory() {
  static const auto usual = usual_input_memory();
  const auto set = most_input_bytes.load(std::memory_order_relaxed);
  return set > 0 ? set : usual;
}

void set_input_memory(std::uint64_t bytes) { most_input_bytes.store(bytes, std::memory_order_relaxed); }

void require_input_memory(double bytes, const std::string& subject) {
  if (bytes <= static_cast<double>(input_memory())) return;
  constexpr double gib = 1 << 30;
  throw Error(subject, fmt::format("values of at most {:.3g} GiB", static_cast<double>(input_memory()) / gib),
              fmt::format("{:.3g} GiB", bytes / gib),
              "raise the limit with --input-memory GIB if you trust the file");
}

}  // namespace fhd::io

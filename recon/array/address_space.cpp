#include "recon/array/address_space.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include "recon/error.hpp"

namespace fhd {

bool has_limited_addresses() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void require_addresses(std::size_t bytes, const std::string& what) {
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw Error("memory", "",
                std::to_string(bytes >> 20) + " MiB of addresses for " + what + " are not there",
                "use fewer threads, or a higher limit (ulimit -v)");
  munmap(room, bytes);
}

}  // namespace fhd

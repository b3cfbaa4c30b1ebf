#pragma once
// Limits of a process's addresses, as clusters and `ulimit -v` set them.
#include <cstddef>
#include <string>

namespace fhd {

bool has_limited_addresses();

/// Throws Error unless there is room for `bytes` more in one piece; `what` needs them.
void require_addresses(std::size_t bytes, const std::string& what);

}  // namespace fhd

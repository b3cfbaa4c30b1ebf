#pragma once
#include <string>
#include <utility>
#include <vector>

namespace fhd::io {

/// Name and version of the libraries that read and write files.
std::vector<std::pair<std::string, std::string>> library_versions();

}  // namespace fhd::io

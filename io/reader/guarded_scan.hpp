#pragma once
#include <memory>
#include <string>

#include "io/scan/scan_file.hpp"

namespace fhd::io::guard {

/// As open_scan; the file is opened, and its volumes are read, in a process of its own.
std::unique_ptr<ScanFile> open_scan_apart(const std::string& path, const ReadOptions& options);

}  // namespace fhd::io::guard

#pragma once
// IMPATIENT directories of .dat files: layout and conventions are described in impatient_directory.cpp.
#include <memory>
#include <string>
#include <vector>

#include "io/result/atomic_file.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

std::unique_ptr<ScanFile> open_impatient(const std::string& path, const ReadOptions& options);
/// See write_scan.
std::vector<std::string> write_impatient(std::vector<AtomicFile>& files, const std::string& path,
                                         const ScanSeries& series);

}  // namespace fhd::io

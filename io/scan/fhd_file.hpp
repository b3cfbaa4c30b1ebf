#pragma once
// fhd HDF5 layout: layout and conventions are described in fhd_file.cpp.
#include <memory>
#include <string>
#include <vector>

#include "io/result/atomic_file.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

std::unique_ptr<ScanFile> open_fhd(const std::string& path, const ReadOptions& options);
/// See write_scan.
std::vector<std::string> write_fhd(std::vector<AtomicFile>& files, const std::string& path,
                                   const ScanSeries& series);

}  // namespace fhd::io

#pragma once
// BART cfl/hdr files: layout and conventions are described in bart_file.cpp.
#include <memory>
#include <string>
#include <vector>

#include "io/result/atomic_file.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Whether `path` names a BART pair: NAME.cfl, NAME.hdr, or the bare NAME of an existing pair.
bool is_bart(const std::string& path);
/// NAME.
std::string bart_name(const std::string& path);

std::unique_ptr<ScanFile> open_bart(const std::string& path, const ReadOptions& options);
/// See write_scan.
std::vector<std::string> write_bart(std::vector<AtomicFile>& files, const std::string& path,
                                    const ScanSeries& series);

}  // namespace fhd::io

#pragma once
// A scan as Python holds it.
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "app/python/memory_scan.hpp"
#include "io/scan/checksum.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::python {

struct ScanHandle {
  /// Holds the open file `path`.
  ScanHandle(std::shared_ptr<io::ScanFile> of, std::string path)
      : file(std::move(of)), name(std::move(path)) {}
  /// Holds arrays.
  explicit ScanHandle(std::shared_ptr<const MemoryScan> of)
      : file(std::make_shared<io::ScanFile>(io::source_of(of, true))),
        arrays(std::move(of)),
        name("arrays") {}

  /// Returns the checksum that results record. Throws Error.
  std::string checksum() const { return arrays ? arrays->checksum() : io::checksum_of(name); }

  std::shared_ptr<io::ScanFile> file;
  std::shared_ptr<const MemoryScan> arrays;  ///< null: it is a file
  std::string name;                          ///< the path of the file
  std::mutex mutex;                          ///< one reads at a time
};

}  // namespace fhd::python

#pragma once
// A scan as Python holds it.
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "io/scan/scan_file.hpp"

namespace fhd::python {

struct ScanHandle {
  ScanHandle(std::shared_ptr<io::ScanFile> of, std::string from)
      : file(std::move(of)), path(std::move(from)) {}
  std::shared_ptr<io::ScanFile> file;
  std::string path;  ///< as given; "arrays"
  std::mutex mutex;  ///< one reads at a time
};

}  // namespace fhd::python

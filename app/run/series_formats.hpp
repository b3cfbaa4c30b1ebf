#pragma once
// --dicom and --ismrmrd-images: the magnitudes once more, in the formats of viewers.
#include <string>
#include <vector>

#include "app/options/run_options.hpp"
#include "app/run/scan_results.hpp"
#include "io/scan/checksum.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

class SeriesFormats {
 public:
  /// The formats that `options` ask for, of the results `prefix`.
  SeriesFormats(const RunOptions& options, const std::string& prefix);
  /// Throws Error where the formats cannot be written here, or cannot say where the images of this scan lie.
  void require_scan(const io::ScanSummary& summary) const;
  /// Throws Error where the formats have no room for the images of these results.
  void require_room(const ScanResults& results) const;
  /// Throws Error, before the work, where a file or folder cannot be written beside the results `prefix`, or is one of
  /// `inputs`.
  void check(const std::string& prefix, const std::vector<std::string>& inputs) const;
  /// Throws Error where something is there already that is not of the scan with this checksum; with `force`, where a
  /// folder holds other files.
  void require_replaceable(const io::ChecksumInBackground& checksum, bool force) const;
  /// Has them written with the other results.
  void add_to(ScanResults& results) const;
  /// Returns what is written: "DIR/", "images.h5".
  std::vector<std::string> names() const;

 private:
  std::string dicom_, ismrmrd_images_;
};

}  // namespace fhd::app

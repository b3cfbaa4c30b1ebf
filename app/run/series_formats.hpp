#pragma once
// --dicom and --ismrmrd-images: the magnitudes once more, in the formats of viewers.
#include <string>
#include <vector>

#include "app/options/run_options.hpp"
#include "app/run/recon_engine.hpp"
#include "io/scan/checksum.hpp"
#include "io/scan/scan_file.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

class SeriesFormats {
 public:
  SeriesFormats() = default;
  /// The formats that `options` ask for, of the results `prefix`.
  SeriesFormats(const RunOptions& options, const std::string& prefix);
  /// The object must outlive the parse.
  void add_to(CLI::App& app);
  /// Before the work: whether it can be written beside the results `prefix`, and is none of `inputs`. Throws Error.
  void check(const std::string& prefix, const std::vector<std::string>& inputs) const;
  /// Whether what is there may be replaced, and the formats can say where the images of the scan lie. Throws Error.
  void require_can(const io::ScanSummary& summary, const io::ChecksumInBackground& checksum,
                   bool force) const;
  /// Whether the formats have room for the images of these results. Throws Error.
  void require_room(const std::array<int, 3>& matrix_size, const ScanResults& results) const;
  /// To be written with the other results.
  void add_to(ScanResults& results) const;
  /// "DIR/", "images.h5": those that are asked for.
  std::vector<std::string> names() const;

 private:
  std::string dicom_, ismrmrd_images_;
};

}  // namespace fhd::app

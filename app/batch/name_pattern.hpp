#pragma once
// --name PATTERN: what the results of the scans of a batch are called.
#include <string>
#include <utility>
#include <vector>

#include "app/options/values.hpp"

namespace fhd::app {

/// "{subject}_{protocol}_{slice}": text with fields in braces. Of the path: stem (the name without its ending), scan (the
/// whole name), folder (the one it lies in). Of an ISMRMRD header: subject (patientID), protocol, series
/// (seriesDescription), study (studyID), date (studyDate). slice: as the file counts it; "0-15" of several.
class NamePattern {
 public:
  NamePattern() = default;
  /// Throws Error for a field that is none of these, and for what no file can be called.
  explicit NamePattern(const std::string& text);
  bool empty() const { return pieces_.empty(); }
  /// Of one scan, with "-" for every character that is no letter, digit, or one of . _ + -. Throws Error where the scan
  /// does not tell a field, CannotOpen where it cannot be opened for one.
  std::string name_of(const std::string& path, const VolumeSelection& selection,
                      const io::ReadOptions& options) const;

 private:
  struct Piece {
    bool is_field = false;
    std::string text;
  };
  bool needs_header() const;
  std::vector<Piece> pieces_;
};

}  // namespace fhd::app

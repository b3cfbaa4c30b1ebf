#pragma once
// --name PATTERN: names the results of the scans of a batch.
#include <string>
#include <vector>

#include "app/options/values.hpp"

namespace fhd::app {

/// "{subject}_{protocol}_{slice}": text with fields in braces, which name_pattern.cpp lists.
class NamePattern {
 public:
  /// Throws Error for an unknown field, and for what no file can be called.
  explicit NamePattern(const std::string& text);
  /// Returns the name of a scan, with "-" for every character that is no letter, digit, or one of . _ + -. Throws Error
  /// where the scan has no value for a field, CannotOpen where it cannot be opened for one.
  std::string name_of(const std::string& path, const VolumeSelection& selection,
                      const io::ReadOptions& options) const;

 private:
  struct Piece {
    int field;  ///< its number; -1: text
    std::string text;
  };
  std::vector<Piece> pieces_;
};

}  // namespace fhd::app

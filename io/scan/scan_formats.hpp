#pragma once
// The table of the formats of scans.
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_parts.hpp"

namespace fhd::io {

/// A path that formats are asked about.
class Candidate {
 public:
  Candidate(const std::string& path, const ReadOptions& options) : path_(path), options_(options) {}
  const std::string& path() const { return path_; }
  const ReadOptions& options() const { return options_; }
  bool is_directory() const;
  /// Opens the file when it is first asked for. Throws Error where it is no HDF5 file.
  const hdf5::File& hdf5() const;

 private:
  const std::string& path_;
  const ReadOptions& options_;
  mutable std::optional<hdf5::File> file_;
};

/// A row of the table.
struct FormatRow {
  ScanFormat format;
  const char* name;                           ///< of `fhd convert --to`
  std::span<const std::string_view> endings;  ///< of the names of its files, for `fhd convert`
  bool (*recognises)(const Candidate& candidate);
  ScanSource (*open)(const std::string& path, const ReadOptions& options);
  Sentences (*write)(FileSet& files, const std::string& path, const ScanSeries& series);
};

/// Returns the rows, in the order in which formats are asked whether they recognise a file.
std::span<const FormatRow> format_rows();
const FormatRow& row_of(ScanFormat format);

/// Opens `path` by the first format that recognises it, as it is stored. Throws Error.
ScanSource open_as_stored(const std::string& path, const ReadOptions& options);

}  // namespace fhd::io

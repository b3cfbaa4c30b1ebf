#pragma once
// Which run made a file: kept in every file of its results, so that those of different runs are not taken for one.
#include <string>
#include <utility>
#include <vector>

#include "io/result/results.hpp"

namespace fhd::io {

/// 16 hex digits, of the images, the scan, the command and the version: who repeats a command and gets the same images
/// gets the same files.
std::string run_identifier(const ImageSeries& series, const Provenance& provenance, int threads);

/// The identifier in OUT.json, OUT.nii.gz or OUT.png; empty: it states none, as files of an earlier version, or is none
/// of these.
std::string run_of_file(const std::string& path);

/// What stands beside OUT.h5, for who reads it: made before it is opened, asked when its own run is known.
class RunsBeside {
 public:
  /// Settles the results (io/files/file_set.hpp).
  explicit RunsBeside(const std::string& path);
  /// Throws Error where OUT.json, OUT.nii.gz or OUT.png states another run than `run`, that of OUT.h5; where one of them
  /// states none, it is not compared.
  void require(const std::string& run) const;

 private:
  std::string path_;
  std::vector<std::pair<std::string, std::string>> runs_;  // by path
};

/// Where files state it: an attribute of HDF5, a field of JSON, and the keyword of a text in a PNG.
inline constexpr auto run_attribute = "run", run_keyword = "Run";
inline constexpr std::size_t run_digits = 16;

}  // namespace fhd::io

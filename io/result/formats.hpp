#pragma once
// The formats of results. A new format is a file of its own that defines a ResultFormat, and an entry in the table of
// results.cpp.
#include <span>
#include <string>

#include "io/result/report_json.hpp"
#include "io/result/results.hpp"

namespace fhd::io {

/// Everything that the files of a result are made of.
struct ResultContent {
  const ImageSeries& series;
  const Provenance& provenance;
  const CompanionResults& companions;
  Compression compression;         ///< with the threads of this machine
  std::string made_by;             ///< "fhd 0.1.0 least squares"
  std::vector<SliceStack> stacks;  ///< of the slices of the series
  ReportText report{};
};

/// The sizes that a format must have room for.
struct ResultLayout {
  Geometry geometry;
  std::int64_t slice_count = 1, repetition_count = 1;
  std::int64_t largest_number = 0;  ///< of a slice or repetition in the scan
  std::int64_t stack_count = 1;     ///< of slices of like directions
};

/// The scan that a file says it was made of.
struct RecordedScan {
  std::string checksum;
  std::string path{};  ///< empty: the file does not state it
};

struct ResultFormat {
  const char* name;                ///< by which requests and code find it
  const char* ending;              ///< of the file, behind the prefix
  bool is_optional = true;         ///< written where a request names it
  bool is_folder = false;          ///< of many files
  bool is_per_stack = false;       ///< a file for each stack of slices: path_of
  bool in_calling_thread = false;  ///< HDF5: its library has one lock, which the calling thread may hold
  /// The option of `fhd recon` that takes the path of this format, and what it writes, for its help; null: none.
  const char *option = nullptr, *help = nullptr;
  /// Throws Error where this fhd cannot write the format at all.
  void (*require_available)() = nullptr;
  /// Throws Error, naming `subject`, where the format cannot hold such results. Before the work.
  void (*require_room)(const ResultLayout& layout, const std::string& subject) = nullptr;
  /// Returns the scan that the file or folder `path` was made of; without a checksum: fhd did not make it. Throws Error for
  /// a folder with anything else in it. Null: files of the format do not state it.
  RecordedScan (*recorded_scan)(const std::string& path) = nullptr;
  /// Returns whether there is something to write.
  bool (*has_content)(const ResultContent& results) = nullptr;
  /// Writes to.temporary(), the stack number `stack` where there is a file for each. Throws Error.
  void (*write)(const AtomicFile& to, ResultContent& results, std::size_t stack) = nullptr;
};

/// Returns the table, in the order in which the files are listed.
std::span<const ResultFormat* const> result_formats();

extern const ResultFormat hdf5_format, nifti_format, png_format, json_format, phase_format, noise_format,
    snr_format, g_factor_format, dicom_format, ismrmrd_format;

}  // namespace fhd::io

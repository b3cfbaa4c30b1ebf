#pragma once
// The results of a reconstruction, and how they are written: in the formats of io/result/formats.hpp, all or none
// (io/files/file_set.hpp). Pictures follow from the scan, the settings and the version alone; times and names stand in
// `environment` of OUT.json and OUT.h5.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/files/file_set.hpp"
#include "io/files/gzip.hpp"
#include "io/result/raw_images.hpp"
#include "io/result/result_request.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/slice_stacks.hpp"

namespace fhd::io {

struct ReportJson;  // io/result/report_json.hpp
struct ReportLines;

/// All reconstructed volumes of one scan, in the order [repetition][slice].
struct ImageSeries {
  std::int64_t repetition_count = 1, slice_count = 1;
  std::vector<Image> images;
  /// Holds the values of all images, which then are empty themselves; null: the images have them.
  std::shared_ptr<const RawImages> stored{};

  /// Returns an image with its values, which may be read from `stored`. Throws Error.
  std::shared_ptr<const Image> image(std::size_t index) const;
  /// Copies the values from voxel `first` on, in single precision. Throws Error.
  void copy_values(std::size_t index, std::int64_t first, std::span<Complex<float>> values) const;
};

/// Returns the stacks of the slices, as the first repetition places them.
std::vector<SliceStack> stacks_of(const ImageSeries& series);
/// Returns the map of each image from voxel (x, y, z, 1) to LPS, mm. Slices that state no place of their own lie where their
/// stack puts them.
std::vector<Affine> voxel_maps_of(const ImageSeries& series);

/// Throws Error unless the series has all its images, of one shape.
void require_series(const ImageSeries& series, const std::string& subject);

/// A piece of the scan that came from a file of its own.
struct InputPiece {
  std::string what, path, checksum;  ///< "trajectory", ...
};

/// The signal that put the readouts of a slice into bins.
struct GatingCourse {
  std::string source;                ///< in words
  std::vector<double> signal, bins;  ///< [readout]; bin -1: in none
};

/// Frames of a continuous acquisition, which take the place of repetitions.
struct FrameNumbers {
  std::int64_t readouts_per_frame = 0;
  std::vector<std::int64_t> first_readouts;  ///< of every frame, as the file counts readouts
  std::vector<GatingCourse> gating{};        ///< of every slice; empty: frames follow each other in time
};

/// How the images were made.
struct Provenance {
  std::string program_version, command_line, input_path, input_checksum, started_at;  ///< ISO 8601, UTC
  std::vector<std::pair<std::string, std::string>>
      environment;              ///< processor, threads, device, library versions
  std::vector<Report> reports;  ///< one per image, same order
  /// The numbers in the scan of the repetitions and slices, such as {3, 7}; empty: from 0 on.
  std::vector<std::int64_t> repetitions{}, slices{};
  /// How the scan file counts each of them; empty: it does not.
  std::vector<RepetitionCounters> repetition_counters{};
  std::vector<int> slice_counters{};
  double repetition_time_s = 0;  ///< from one of the repetitions to the next; 0: not known, or not even
  std::optional<FrameNumbers> frames{};  ///< the repetitions are frames, repetition_time_s apart
  std::vector<InputPiece> pieces{};
  /// Gives the reports in place of `reports`, to several threads at a time. Throws Error.
  std::function<ReportLines(std::size_t)> stored_report{};

  /// Returns the report of image `i`; an empty one where there is none.
  ReportJson report(std::size_t i) const;
  /// Returns the number in the scan of repetition, or slice, `i` of the results.
  std::int64_t repetition_number(std::size_t i) const;
  std::int64_t slice_number(std::size_t i) const;
  /// Returns how the scan file counts them; their numbers where it does not.
  RepetitionCounters counters_of_repetition(std::size_t i) const;
  int counter_of_slice(std::size_t i) const;
};

/// Everything that is known beside the images and their reports.
struct CompanionResults {
  std::optional<ImageSeries> gridded;  ///< the conventional image of every volume, same order
  DiagnosticImages diagnostic_images;  ///< of the first volume
  std::optional<NoiseMaps> noise{};    ///< of a series of one volume
  AcquisitionInfo acquisition{};       ///< what the scan says of patient and scanner
  std::vector<double> echo_times_s{};  ///< as in ScanSummary
  Compression compression{};  ///< its threads make all files; from level 6 on the PNG is compressed well, too
};

/// Writes the results that are asked for, for the holder of the lock of their prefix: all or none of them appear, and
/// existing files are untouched if it fails. Returns the paths of those that were written; a folder ends in "/". Throws
/// Error.
std::vector<std::string> write_results(const OutputLock& lock, const ResultRequest& request,
                                       const ImageSeries& series, const Provenance& provenance,
                                       const CompanionResults& companions = {});
/// Does the same with a lock for the time of writing.
std::vector<std::string> write_results(const ResultRequest& request, const ImageSeries& series,
                                       const Provenance& provenance, const CompanionResults& companions = {});
/// Writes named image series, e.g. {"/image", truth}, {"/ideal", ideal}, to one HDF5 file in the layout of
/// OUT.h5, with the attribute made_by where it is given. Adds it to `files`, for the caller to commit.
/// Throws Error.
void write_image_file(FileSet& files, const std::string& path,
                      const std::vector<std::pair<std::string, const ImageSeries*>>& datasets,
                      const std::string& made_by = {});
/// Writes a field map by itself, what ReadOptions::outside takes: off-resonance in rad/s, as NIfTI where `path` ends in .nii.gz,
/// else as HDF5, /field_map [z][y][x], or [slice][z][y][x], with the attributes of hdf5_geometry.hpp, and made_by where it is
/// given, on the root. Adds the file to `files`, for the caller to commit. Throws Error.
void write_field_map(FileSet& files, const std::string& path, const std::vector<const Array<float>*>& slices,
                     const std::vector<Geometry>& geometries, const std::string& made_by = {});
/// Returns the text of OUT.json, as OUT.h5 has it. Throws Error.
std::string read_report_text(const std::string& path);
/// Reads `/image` of OUT.h5 as written by write_results (and of a truth file of `fhd simulate`), or one complex image
/// [z][y][x] or [y][x] of any HDF5 file; in double too where it is stored so.
ImageSeries read_image(const std::string& path, const std::string& dataset = "/image");
/// Reads the file in this process.
ImageSeries read_image_here(const std::string& path, const std::string& dataset);

}  // namespace fhd::io

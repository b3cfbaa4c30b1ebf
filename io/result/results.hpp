#pragma once
// Result files of a reconstruction: OUT.h5, OUT.nii.gz, OUT.png, OUT.json. They appear together or not at all
// (io/files/file_set.hpp), and every one says of which run it is (io/result/run.hpp).
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/checksum.hpp"
#include "io/files/gzip.hpp"
#include "io/files/file_set.hpp"
#include "io/result/raw_images.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// All reconstructed volumes of one file, in the order [repetition][slice].
struct ImageSeries {
  std::int64_t repetition_count = 1, slice_count = 1;
  std::vector<Image> images;
  /// Where it is there, it holds the values of all images, which then are empty themselves.
  std::shared_ptr<const RawImages> stored{};

  /// With its values; what is stored is read anew. Throws Error.
  std::shared_ptr<const Image> image(std::size_t index) const;
  /// Those from voxel `first` on, in single precision. Throws Error.
  void copy_values(std::size_t index, std::int64_t first, std::span<Complex<float>> values) const;
};

/// Whether the slices state one position, so that they are stacked by their thickness. Else each lies at its own.
bool are_stacked(const ImageSeries& series);

/// A piece of the scan that came from a file of its own.
struct InputPiece {
  std::string what, path, checksum;  ///< "trajectory", ...
};

/// What put the readouts of a slice into bins.
struct GatingCourse {
  std::string source;                ///< in words
  std::vector<double> signal, bins;  ///< [readout]; bin -1: in none
};

/// Frames of a continuous acquisition, which take the place of repetitions.
struct FrameNumbers {
  std::int64_t readouts_per_frame = 0;
  std::vector<std::int64_t> first_readouts;  ///< of every frame, as the file counts them
  std::vector<GatingCourse> gating{};        ///< of every slice; empty: frames follow each other in time
};

/// How the images were made: what a reader needs to make them again.
struct Provenance {
  std::string program_version, command_line, input_path, input_checksum, started_at;  ///< ISO 8601, UTC
  std::vector<std::pair<std::string, std::string>>
      environment;              ///< processor, threads, device, library versions
  std::vector<Report> reports;  ///< one per image, same order
  /// Which of the scan they are, such as {3, 7}; empty: from 0 on.
  std::vector<std::int64_t> repetitions{}, slices{};
  /// How the scan file counts each of them; empty where it does not.
  std::vector<RepetitionCounters> repetition_counters{};
  std::vector<int> slice_counters{};
  double repetition_time_s = 0;  ///< from one of the repetitions to the next; 0: not known, or not even
  std::optional<FrameNumbers> frames{};  ///< the repetitions are frames, repetition_time_s apart
  std::vector<InputPiece> pieces{};
  std::string run{};  ///< run_identifier(); empty: the files state none
  /// The number in the scan of repetition, or slice, `i` of the results.
  std::int64_t repetition_number(std::size_t i) const;
  std::int64_t slice_number(std::size_t i) const;
  /// How the scan file counts them; by their numbers where it does not.
  RepetitionCounters counters_of_repetition(std::size_t i) const;
  int counter_of_slice(std::size_t i) const;
  /// In place of `reports`: that of an image as JSON text, for several threads at a time. Throws Error.
  std::function<std::string(std::size_t)> stored_report{};
};

/// A DICOM series beside the other results: io/result/dicom.hpp.
struct DicomRequest {
  std::string folder;
  AcquisitionInfo acquisition;
  std::vector<double> echo_times_s;  ///< as in ScanSummary
};

/// What else is written, in OUT.h5 or beside it: each may be empty.
struct CompanionResults {
  std::optional<ImageSeries> gridded;  ///< the conventional image of every volume, same order
  DiagnosticImages diagnostic_images;  ///< of the first volume
  bool with_phase = false;             ///< OUT_phase.nii.gz, the phase of every volume, in rad
  std::optional<DicomRequest> dicom{};
  std::string ismrmrd_images{};      ///< path of a file: io/result/ismrmrd_images.hpp
  std::optional<NoiseMaps> noise{};  ///< of a series of one volume: /noise, and files of noise_endings
  Compression
      compression{};  ///< of the NIfTI files, from level 6 on of the PNG; its threads make the other files as well
};

inline constexpr std::array result_endings{".h5", ".nii.gz", ".png", ".json"};
inline constexpr auto phase_ending = "_phase.nii.gz";
inline constexpr std::array noise_endings{"_noise.nii.gz", "_snr.nii.gz", "_gfactor.nii.gz"};
/// What the headers of these files say they hold, in the same order.
inline constexpr std::array noise_descriptions{"noise, unit of the image", "SNR, no unit",
                                               "g-factor, no unit"};
/// "x.nii.gz" -> "x": a user may name the result by one of its files.
std::string without_result_ending(std::string name);

/// OUT.h5, OUT.nii.gz, OUT.png, OUT.json and, where asked for, OUT_phase.nii.gz and those of noise_endings.
std::vector<std::string> files_of_results(const std::string& prefix, bool with_phase = false,
                                          bool with_noise = false);

/// Throws Error when results named `prefix` cannot be written: no name, no folder, no permission, a directory
/// in the way, or one of them is one of the files `inputs`. Called before the work starts.
void check_writable(const std::string& prefix, const std::vector<std::string>& inputs = {},
                    bool with_phase = false, bool with_noise = false);
/// What else may be replaced, and what to do where something may not.
struct Replacing {
  const char* remedy = "--force overwrites it, -o NAME writes beside it";
  bool earlier_content = false;  ///< results of the scan as it was, by its path
};
/// Throws Error where a file named like the results `prefix` is there already and is not of the scan `scan`: the
/// checksum that results record must be that of `scan`, `checksum`. A file that records none is of this scan where
/// another of the results says so. `with_phase`, `with_noise`: the files of these are some of them.
void require_replaceable(const std::string& prefix, const std::string& scan, const std::string& checksum,
                         bool with_phase, bool with_noise = false, const Replacing& replacing = {});
/// The same; waits for the checksum only where a file is there.
void require_replaceable(const std::string& prefix, const std::string& scan,
                         const ChecksumInBackground& checksum, bool with_phase, bool with_noise = false);
/// Throws Error naming `subject` where a format of the results has no room for so many volumes of this matrix, or for the
/// numbers that they have in the scan. Called before the work starts.
void require_room(const std::array<int, 3>& matrix_size, std::int64_t slice_count,
                  std::int64_t repetition_count, const std::string& subject);
/// Makes the files side by side, for the holder of the lock of `prefix`, with companions.compression.threads. Throws
/// Error; on failure no file of this call is
/// left behind and existing files are untouched.
void write_results(const OutputLock& lock, const std::string& prefix, const ImageSeries& series,
                   const Provenance& provenance, const CompanionResults& companions = {});
/// The same, with a lock for the time of writing.
void write_results(const std::string& prefix, const ImageSeries& series, const Provenance& provenance,
                   const CompanionResults& companions = {});
/// Writes named image series, e.g. {"/image", truth}, {"/ideal", ideal}, to one HDF5 file in the layout of
/// OUT.h5, with the attribute made_by where it is given. Adds it to `files`, for the caller to commit.
/// Throws Error.
void write_image_file(FileSet& files, const std::string& path,
                      const std::vector<std::pair<std::string, const ImageSeries*>>& datasets,
                      const std::string& made_by = {});
/// Reads `/image` of OUT.h5 as written by write_results (and of a truth file of `fhd simulate`), or one complex image
/// [z][y][x] or [y][x] of any HDF5 file; in double too where it is stored so.
ImageSeries read_image(const std::string& path, const std::string& dataset = "/image");
/// Reads the file in this process.
ImageSeries read_image_here(const std::string& path, const std::string& dataset);

}  // namespace fhd::io

#pragma once
// Scans of every format that fhd reads: open_scan returns a ScanFile, which is the source that a format gives and the
// corrections that each volume passes. Everything is in the program's units (cycles/FOV, mm, s, rad/s); what was
// inferred to get there is in the summary and in the messages of volumes.
//
// A format is a file with its `open` and `write`, a row of the table in scan_formats.cpp and a name in ScanFormat. A
// correction is a function Correction, added where open_scan adds leave_out_zeros; a unit is a row in trajectory_unit.cpp.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/files/file_set.hpp"
#include "io/files/input_stamps.hpp"
#include "recon/array/work.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// The unit of k-space positions in a file. `automatic`: as the file states, else inferred from the extents, the matrix
/// and the data; refused when ambiguous.
enum class TrajectoryUnit {
  automatic,
  cycles_per_fov,        ///< of the encoded space
  cycles_per_recon_fov,  ///< cycles per FOV of the reconstructed space, where a file states both
  cycles_per_voxel,
  radians_per_voxel,
  cycles_per_metre,
  cycles_per_mm,
  radians_per_metre,
  radians_per_mm,
  kmax  ///< 1 at the edge of k-space, N/2 cycles/FOV
};

/// The axes of k-space positions in a file: those of the image, or those of the magnet (trajectory_axes.hpp). `automatic`: as
/// the samples fit the directions of the image; refused when ambiguous.
enum class TrajectoryAxes { automatic, image, magnet };

/// The unit of a field map; rad/s is 2 pi Hz.
enum class FieldMapUnit { rad_per_s, hz };

/// Paths of pieces of a scan in files of their own (outside_pieces.cpp); empty: the scan's own.
struct OutsidePieces {
  std::string trajectory, sensitivity_maps, noise, field_map;
  FieldMapUnit field_map_unit = FieldMapUnit::rad_per_s;  ///< of `field_map`
  std::string decay, fields, gradient_coefficients;
  /// Returns name and path of each piece that is given.
  std::vector<std::pair<std::string, std::string>> given() const;
};

/// The moment from which sample times count: see "Off-resonance" in README.md.
enum class TimeOrigin { unknown, excitation, readout_start, train_start };
/// "the excitation", ...
std::string_view name_of(TimeOrigin origin);

/// The user's statements about a scan, which override those of the file.
struct ReadOptions {
  /// The matrix of the image. Units per voxel are converted with that of the file, where it states one.
  std::optional<std::array<int, 3>> matrix_size;
  std::optional<std::array<double, 3>> fov_mm;  ///< an axis of 0 keeps what the file says
  TrajectoryUnit trajectory_unit = TrajectoryUnit::automatic;
  TrajectoryAxes trajectory_axes = TrajectoryAxes::automatic;
  /// double_precision: values in double are kept so, beside the same in single (`in_double` of the parts of a Scan).
  Precision precision = Precision::single_precision;
  bool zeros_are_measured = false;  ///< keeps samples that leave_out_zeros would leave out
  bool anonymous = false;  ///< a copy is written without what identifies a patient (mrd/anonymous.hpp)
  std::string
      group;  ///< of a file with several measurements; empty: the only one, of Siemens raw data the last
  OutsidePieces outside;
};

/// The patient, the study and the scanner (io/result/dicom.hpp). Texts are as in the file, unchecked; empty, or 0, where it does not state them.
struct AcquisitionInfo {
  std::string patient_name, patient_id;
  std::string patient_birth_date, patient_sex;  ///< "1970-01-31"; "M", "F" or "O"
  double patient_weight_kg = 0;

  std::string study_uid, study_id, study_description, study_date, study_time;  ///< "2026-01-31", "12:30:00"
  std::string accession_number, referring_physician, body_part;
  std::string series_description, series_date, series_time, frame_of_reference_uid;
  std::string patient_position;  ///< "HFS", ...
  int first_series_number = 0;

  std::string vendor, model, institution, station, protocol;
  double field_strength_t = 0, resonance_frequency_hz = 0;  ///< of hydrogen

  std::string sequence;
  double excitation_time_s =
      0;                      ///< TR, from one excitation to the next; 0 where it is not one number above 0
  double flip_angle_deg = 0;  ///< likewise
};

/// The counters of what is one repetition here; ISMRMRD has four.
struct RepetitionCounters {
  int repetition = 0, contrast = 0, phase = 0, set = 0;
  auto operator<=>(const RepetitionCounters&) const = default;
};

/// The content of a scan, for `fhd info` and the report.
struct ScanSummary {
  std::string path, format;  ///< "ISMRMRD", "fhd", "BART cfl", "IMPATIENT", "Siemens twix"
  std::int64_t coil_count = 0;
  std::int64_t samples_per_scan = 0;  ///< of the first slice and repetition
  std::int64_t readout_length = 0;    ///< samples of one readout, where known and all are equal; else 0
  std::int64_t slice_count = 1, repetition_count = 1;
  std::vector<RepetitionCounters> repetition_counters;  ///< of each repetition; empty where the file has none
  std::vector<int> slice_counters;                      ///< of each slice; empty where the file has none
  /// Where each slice lies, in the first repetition; empty: all as `geometry`. Slices of ISMRMRD files are in the order of
  /// stacks_of (recon/domain/slice_stacks.hpp), not of their counters.
  std::vector<Geometry> slice_geometries;
  /// Times from the excitation to the centre of k-space, of each contrast; empty where not stated.
  std::vector<double> echo_times_s;
  double repetition_time_s = 0;   ///< from the start of one repetition to that of the next; 0: not known
  double readout_time_s = 0;      ///< from one readout to the next, if each is an excitation; 0: not known
  bool states_directions = true;  ///< of the axes in the patient; else those of `geometry` are assumed
  bool cartesian = false;         ///< every sample lies on an integer k-space position
  bool has_sensitivity_maps = false, has_field_map = false, has_sample_time = false, has_decay = false,
       has_fields = false;
  bool follows_sequence =
      false;  ///< positions and times are of the Pulseq sequence OutsidePieces::trajectory
  TimeOrigin time_origin = TimeOrigin::unknown;  ///< of the sample times, where there are some
  Geometry geometry;                             ///< of the first slice
  Geometry unit_geometry;  ///< that the unit of the trajectory refers to: with the file's own matrix
  std::vector<std::pair<std::string, std::string>> outside_pieces;  ///< as OutsidePieces::given
  AcquisitionInfo acquisition;                             ///< of the patient, the study and the scanner
  std::vector<std::pair<std::string, std::string>> facts;  ///< further things worth telling, name and value
  std::vector<std::string> inferred;  ///< what was inferred, and from what; one sentence each
  std::vector<std::string> missing;   ///< what is absent or unusable, and the option that supplies it
  InputStamps stamps;  ///< of its files and its pieces' files when it was opened; none for arrays
};

/// "contrast 1, set 0": the counters of repetition `i` that differ among `all`; empty where there is nothing to
/// add to its number, i.
std::string name_of_repetition(const std::vector<RepetitionCounters>& all, std::size_t i);

/// Returns the repetitions that are echoes of one excitation: contrasts of the first repetition, phase and set; where a
/// file does not count, all repetitions.
std::vector<std::int64_t> echoes_of(const ScanSummary& summary);
/// The least time between echoes whose phases tell a field: 0.1 ms is 10 kHz without wraps, and TE is often stated in s
/// where it should be in ms.
inline constexpr double least_echo_spacing_s = 1e-4;
/// Returns the time from the excitation to the centre of k-space, s, as the header states it for a repetition.
std::optional<double> echo_time_s(const ScanSummary& summary, std::int64_t repetition);

/// Bounds of a known field of view, mm, whose squares and ratios stay numbers in single precision.
inline constexpr double least_fov_mm = 1e-3, largest_fov_mm = 1e5;

/// The most volumes of a scan, all slices of all repetitions.
inline constexpr std::int64_t most_volumes = std::int64_t{1} << 24;
/// The most samples of all volumes together; no product of extents overflows.
inline constexpr std::int64_t most_samples = std::int64_t{1} << 48;
/// Returns whether the numbers of slices and repetitions are within these bounds.
bool has_count_of_volumes(const ScanSummary& summary);

/// A scan as a format gives it: its summary, and its volumes as they are stored.
struct ScanSource {
  ScanSummary summary;
  std::function<Scan(std::int64_t slice, std::int64_t repetition)> read;  ///< throws Error
  bool reads_concurrently = false;  ///< several threads may call `read` at once
  bool follows_sequence = false;  ///< its volumes are as the Pulseq sequence of OutsidePieces has played them
};

/// Makes a source of a reader that has `summary()` and `read(slice, repetition)`; the source keeps it.
template <class Reader>
ScanSource source_of(std::shared_ptr<Reader> reader, bool reads_concurrently = false) {
  auto summary = reader->summary();
  return {std::move(summary),
          [reader = std::move(reader)](std::int64_t slice, std::int64_t repetition) {
            return reader->read(slice, repetition);
          },
          reads_concurrently};
}

/// The volume that a correction is given. A correction that leaves out samples changes `readout_length`.
struct VolumeContext {
  std::int64_t slice = 0, repetition = 0;
  std::int64_t readout_length = 0;  ///< samples of one readout of the volume; 0: not known, or not equal
};
/// Changes a volume after it is read, and says so in its messages. Throws Error. Several threads may call it at once.
using Correction = std::function<void(Scan&, VolumeContext&)>;

/// Who validates a volume; a caller does so with every volume that needs no correction.
enum class ValidatedBy { file, caller };

/// An open scan: a source, and the corrections that each volume passes in their order.
class ScanFile {
 public:
  explicit ScanFile(ScanSource source)
      : source_(std::move(source)), stored_readout_length_(source_.summary.readout_length) {}
  const ScanSummary& summary() const { return source_.summary; }
  bool reads_concurrently() const { return source_.reads_concurrently; }
  /// Reads and validates one slice (or volume) of one repetition. Afterwards the summary's readout_length is that of this
  /// volume: 0 where a correction has left out single samples. Throws Error, also where a file has changed.
  Scan read(std::int64_t slice, std::int64_t repetition, ValidatedBy validated_by = ValidatedBy::file);
  /// Adds a correction behind the others.
  void add(Correction correction) { corrections_.push_back(std::move(correction)); }
  ScanSummary& editable_summary() { return source_.summary; }

 private:
  ScanSource source_;
  std::int64_t stored_readout_length_;
  std::vector<Correction> corrections_;
};

/// Opens `path`, recognising its format from its content: ISMRMRD HDF5, fhd HDF5, BART (NAME.cfl, NAME.hdr or NAME),
/// IMPATIENT (a directory of .dat files), Siemens raw data. Pieces of `options.outside` are in their places. Throws Error.
std::unique_ptr<ScanFile> open_scan(const std::string& path, const ReadOptions& options = {});
/// Opens the file in this process.
std::unique_ptr<ScanFile> open_scan_here(const std::string& path, const ReadOptions& options);

/// Returns a source that is no file as open_scan would. Throws Error.
std::unique_ptr<ScanFile> as_read(ScanSource source, const ReadOptions& options);

/// Returns whether `path` names a BART pair: NAME.cfl, NAME.hdr, or the bare NAME of an existing pair.
bool is_bart(const std::string& path);
/// Returns the NAME of a BART pair.
std::string bart_name(const std::string& path);

/// Returns whether a file begins as Siemens raw data (twix/raw_file.hpp). False where it cannot be read.
bool is_twix(const std::string& path);

/// Returns the files that a scan consists of: the file itself; of a directory every file in it, by name; of a BART scan
/// those of NAME, NAME_traj and NAME_sens that exist, .cfl before .hdr. Throws Error.
std::vector<std::string> files_of_scan(const std::string& path);

/// Returns all that is read of a scan: what `path` names, its files, and the files of its pieces.
std::vector<std::string> inputs_of_scan(const std::string& path, const ReadOptions& options);

/// File formats of scans: the rows of the table in scan_formats.cpp.
enum class ScanFormat { fhd, ismrmrd, bart, impatient, twix };
/// "fhd", "ismrmrd", ...
std::string_view name_of(ScanFormat format);
/// Returns the names of all formats, in the order of ScanFormat.
std::vector<std::string> scan_format_names();
/// Returns the format called `name` or, where that is empty, the one whose files are called like `path`. Throws Error.
ScanFormat format_of_output(const std::string& path, const std::string& name = {});

/// The volumes of a scan, in the order [repetition][slice].
struct ScanSeries {
  std::int64_t repetition_count = 1, slice_count = 1;
  std::int64_t readout_length = 0;  ///< samples of one readout where known, else 0: readouts are cut by it
  std::vector<Scan> scans;
  TimeOrigin time_origin = TimeOrigin::excitation;  ///< of their sample times
  std::vector<double> echo_times_s{};  ///< not empty: the repetitions are echoes (ISMRMRD: contrasts)
  std::string made_by{};               ///< not empty: the attribute made_by of the file (ISMRMRD)
  double field_strength_t = 0;         ///< 0: not stated (ISMRMRD)
};

/// Reads every volume.
ScanSeries read_all(ScanFile& file);

/// Writes `series` to `path`, whole or not at all; what was there is replaced. BART: `path` is NAME or NAME.cfl;
/// IMPATIENT: a directory, which must be new or empty. Values are stored in single precision (fhd: in double where the
/// scans have them so), times and (fhd only) trajectories in double. Returns what the format cannot hold, one sentence
/// each. Throws Error when it cannot hold the k-space itself.
std::vector<std::string> write_scan(const std::string& path, ScanFormat format, const ScanSeries& series);
/// Adds what it writes to `files`, for the caller to commit with others.
std::vector<std::string> write_scan(FileSet& files, const std::string& path, ScanFormat format,
                                    const ScanSeries& series);

/// Writes all volumes of `file`, which was opened from the path `from` with `options`, as write_scan; but from ISMRMRD, or
/// Siemens raw data, to ISMRMRD every readout keeps its head, also those that are no samples of an image, unless pieces, matrix or FOV are not
/// those of the file.
std::vector<std::string> convert_scan(ScanFile& file, const std::string& from, const ReadOptions& options,
                                      const std::string& path, ScanFormat format);

}  // namespace fhd::io

#pragma once
// Scan files of every format that fhd reads, behind one door. Everything behind it is in the program's units
// (cycles/FOV, mm, s, rad/s); what was inferred to get there is said in words.
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
#include "io/scan/acquisition_info.hpp"
#include "recon/array/work.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Unit of k-space positions in a file. `automatic`: from the file's own statement, else inferred from the
/// extents, the matrix and the data; refused when ambiguous.
enum class TrajectoryUnit {
  automatic,
  cycles_per_fov,        ///< of the encoded space
  cycles_per_recon_fov,  ///< cycles per FOV of the reconstructed space, where a file states both
  cycles_per_voxel,
  radians_per_voxel,
  cycles_per_metre,
  cycles_per_mm,
  kmax  ///< 1 at the edge of k-space, N/2 cycles/FOV
};

/// What the numbers of a field map are; rad/s is 2 pi Hz.
enum class FieldMapUnit { rad_per_s, hz };

/// Pieces of a scan that lie in files of their own, by path; empty: the scan's own. What each may be, and how it is
/// put in place: io/scan/outside_pieces.hpp.
struct OutsidePieces {
  std::string trajectory, sensitivity_maps, noise, field_map;
  FieldMapUnit field_map_unit = FieldMapUnit::rad_per_s;  ///< of the field map that is named here
  /// What is given: {"trajectory", its path}, ...
  std::vector<std::pair<std::string, std::string>> given() const;
};

/// The moment from which sample times count: see "Off-resonance" in README.md.
enum class TimeOrigin { unknown, excitation, readout_start };
/// "the excitation", ...
std::string_view name_of(TimeOrigin origin);

/// What the user said about a scan; it overrides what the file says.
struct ReadOptions {
  /// The matrix of the image. Units per voxel are still converted with the matrix that the file states, where
  /// it states one: asking for a finer image does not stretch k-space.
  std::optional<std::array<int, 3>> matrix_size;
  std::optional<std::array<double, 3>> fov_mm;  ///< an axis of 0 keeps what the file says
  TrajectoryUnit trajectory_unit = TrajectoryUnit::automatic;
  /// double_precision: what the file holds in double is kept so, beside the same in single (`in_double` of the parts
  /// of a Scan).
  Precision precision = Precision::single_precision;
  /// Whether samples that are exactly zero in every coil count although they look like a mask: see
  /// io/scan/zero_samples.hpp.
  bool zeros_are_measured = false;
  std::string group;  ///< of an ISMRMRD file with several measurements; empty: the only one
  OutsidePieces outside;
};

/// How a file counts what is one repetition here; ISMRMRD has four counters for it.
struct RepetitionCounters {
  int repetition = 0, contrast = 0, phase = 0, set = 0;
  auto operator<=>(const RepetitionCounters&) const = default;
};

/// What a file holds, for `fhd info` and the report.
struct ScanSummary {
  std::string path, format;  ///< "ISMRMRD", "fhd", "BART cfl", "IMPATIENT"
  std::int64_t coil_count = 0;
  std::int64_t samples_per_scan = 0;  ///< of the first slice and repetition
  std::int64_t readout_length =
      0;  ///< samples of one readout, where the file knows and all are equal; else 0
  std::int64_t slice_count = 1, repetition_count = 1;
  std::vector<RepetitionCounters> repetition_counters;  ///< of each repetition; empty where the file has none
  std::vector<int> slice_counters;                      ///< of each slice; empty where the file has none
  /// From the excitation to the centre of k-space, of each contrast that the counters count; empty where not stated.
  std::vector<double> echo_times_s;
  double repetition_time_s = 0;  ///< from the start of one repetition to that of the next; 0: not known
  double readout_time_s =
      0;  ///< from one readout to the next, TR if each is an excitation of its own; 0: not known
  bool states_directions = true;  ///< of the axes in the patient; else those of `geometry` are assumed
  bool cartesian = false;         ///< every sample lies on an integer k-space position
  bool has_sensitivity_maps = false, has_field_map = false, has_sample_time = false;
  TimeOrigin time_origin = TimeOrigin::unknown;  ///< of the sample times, where there are some
  Geometry geometry;
  Geometry
      unit_geometry;  ///< what the unit of the trajectory refers to: as `geometry`, with the file's own matrix
  /// Those that come from files of their own, as OutsidePieces::given.
  std::vector<std::pair<std::string, std::string>> outside_pieces;
  AcquisitionInfo acquisition;                             ///< of the patient, the study and the scanner
  std::vector<std::pair<std::string, std::string>> facts;  ///< further things worth telling, name and value
  std::vector<std::string> inferred;  ///< what was inferred, and from what; one sentence each
  std::vector<std::string> missing;   ///< what is absent or unusable, and the option that supplies it
  InputStamps stamps;                 ///< of its files and its pieces' when it was opened; of none for arrays
};

/// "contrast 1, set 0": the counters of repetition `i` that differ among `all`; empty where there is nothing to
/// tell beside its number, i.
std::string name_of_repetition(const std::vector<RepetitionCounters>& all, std::size_t i);

/// The bounds of a field of view that is known, mm: no scanner resolves a micrometre or is 100 m wide, and squares and
/// ratios of such lengths stay numbers in single precision, as results store them.
inline constexpr double least_fov_mm = 1e-3, largest_fov_mm = 1e5;

/// Of one scan, all slices of all repetitions; results hold fewer, and more are chosen from by --slices. An hour of
/// images of 0.2 ms is as many, and what is kept of each while it waits for its turn stays small.
inline constexpr std::int64_t most_volumes = std::int64_t{1} << 24;
/// Of all volumes together: 4 PB. No product of extents overflows.
inline constexpr std::int64_t most_samples = std::int64_t{1} << 48;
/// Whether there are as many as some scan has.
bool has_count_of_volumes(const ScanSummary& summary);

/// What a format gives: the summary of a scan, and its volumes as they are stored.
struct ScanSource {
  ScanSummary summary;
  std::function<Scan(std::int64_t slice, std::int64_t repetition)> read;  ///< validated; throws Error
  bool reads_concurrently = false;  ///< several threads may call `read` at once
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

/// Which volume a correction is given. A correction that leaves out samples changes `readout_length`.
struct VolumeContext {
  std::int64_t slice = 0, repetition = 0;
  std::int64_t readout_length = 0;  ///< samples of one readout of the volume; 0: not known, or not equal
};
/// Changes a volume after it is read, and says so in its remarks. Throws Error. Of a source that reads
/// concurrently, several threads call it at once.
using Correction = std::function<void(Scan&, VolumeContext&)>;

/// An open scan: a source, and the corrections that each volume passes in their order. Copies read from the same
/// source, and have lists of their own.
class ScanFile {
 public:
  explicit ScanFile(ScanSource source)
      : source_(std::move(source)), stored_readout_length_(source_.summary.readout_length) {}
  const ScanSummary& summary() const { return source_.summary; }
  bool reads_concurrently() const { return source_.reads_concurrently; }
  /// Reads one slice (or volume) of one repetition. Afterwards the summary's readout_length is that of this volume: 0
  /// where a correction has left out single samples. Throws Error, also where a file of the summary's stamps has
  /// changed.
  Scan read(std::int64_t slice, std::int64_t repetition);
  /// Adds a correction behind the others.
  void add(Correction correction) { corrections_.push_back(std::move(correction)); }
  /// Returns the summary, for those who add what changes it.
  ScanSummary& editable_summary() { return source_.summary; }

 private:
  ScanSource source_;
  std::int64_t stored_readout_length_;
  std::vector<Correction> corrections_;
};

/// Opens `path`, recognising its format from its content: ISMRMRD HDF5, fhd HDF5, BART (`NAME.cfl`,
/// `NAME.hdr` or the bare `NAME` of a pair of k-space files), IMPATIENT (a directory of .dat files). Pieces of
/// `options.outside` are in their places. A volume that is read is of the files as they were then: where one has changed
/// since, reading throws Error. Throws Error.
std::unique_ptr<ScanFile> open_scan(const std::string& path, const ReadOptions& options = {});
/// Opens the file in this process.
std::unique_ptr<ScanFile> open_scan_here(const std::string& path, const ReadOptions& options);

/// As open_scan, of a source that is no file. Throws Error.
std::unique_ptr<ScanFile> as_read(ScanSource source, const ReadOptions& options);

/// Whether `path` names a BART pair: NAME.cfl, NAME.hdr, or the bare NAME of an existing pair.
bool is_bart(const std::string& path);
/// NAME.
std::string bart_name(const std::string& path);

/// The files that a scan consists of: the file itself; of a directory every file in it, by name; of a BART
/// scan (NAME.cfl, NAME.hdr or NAME) those of NAME, NAME_traj and NAME_sens that exist, .cfl before .hdr. Throws
/// Error when a directory cannot be read.
std::vector<std::string> files_of_scan(const std::string& path);

/// All that is read of a scan: what `path` names, its files, and those of its pieces.
std::vector<std::string> inputs_of_scan(const std::string& path, const ReadOptions& options);

/// File formats that fhd writes.
enum class ScanFormat { fhd, ismrmrd, bart, impatient };

/// All volumes of one scan file, in the order [repetition][slice].
struct ScanSeries {
  std::int64_t repetition_count = 1, slice_count = 1;
  std::int64_t readout_length =
      0;  ///< samples of one readout where known, else 0: formats made of readouts cut by it
  std::vector<Scan> scans;
  TimeOrigin time_origin = TimeOrigin::excitation;  ///< of their sample times
  std::vector<double>
      echo_times_s{};     ///< not empty: what counts as repetitions are echoes (ISMRMRD: contrasts)
  std::string made_by{};  ///< not empty: kept as the attribute made_by of the file (ISMRMRD)
};

/// Every volume of an open file.
ScanSeries read_all(ScanFile& file);

/// Writes `series` to `path`, whole or not at all; what was there is replaced. BART: `path` is NAME or
/// NAME.cfl and several files appear; IMPATIENT: `path` is a directory, which must be new or empty. Values
/// are stored in single precision (fhd: in double where the scans have them so), times and (fhd only)
/// trajectories in double. Returns what the format cannot hold, one sentence each. Throws Error when it cannot
/// hold the k-space itself.
std::vector<std::string> write_scan(const std::string& path, ScanFormat format, const ScanSeries& series);
/// The same, without the last step: adds what it writes to `files`, for the caller to commit with others.
std::vector<std::string> write_scan(FileSet& files, const std::string& path, ScanFormat format,
                                    const ScanSeries& series);

/// Writes all volumes of `file`, which was opened from the path `from` with `options`, in another format, or
/// ISMRMRD again: then every readout keeps its head, also those that are no samples of an image, and the header
/// all that the user does not overrule; but with pieces from files of their own readouts are made anew. Otherwise as
/// write_scan.
std::vector<std::string> convert_scan(ScanFile& file, const std::string& from, const ReadOptions& options,
                                      const std::string& path, ScanFormat format);

}  // namespace fhd::io

#pragma once
// Functions that the readers and writers of several formats share.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

using Sentences = std::vector<std::string>;
/// The code of the message on a volume without a readout, which is zero.
inline constexpr auto missing_volume = "missing";
/// Adds a sentence, for ScanSummary::inferred and others.
template <class... T>
void say(Sentences& sentences, fmt::format_string<T...> text, T&&... values) {
  sentences.push_back(fmt::format(text, std::forward<T>(values)...));
}

/// Puts the user's matrix and FOV over those of the file. Returns what the unit of the file's trajectory
/// refers to: the matrix of the file, with the FOV that results.
Geometry apply_options(Geometry& geometry, const ReadOptions& options);
/// Returns the sentence for ScanSummary::inferred that the unit is the user's.
std::string unit_of_options(TrajectoryUnit unit);
/// Returns the unit of trajectories of a format in cycles/FOV, unless the user states another. Says so in `inferred`.
TrajectoryUnit unit_of_format(const char* format, const ReadOptions& options, Sentences& inferred);
/// Turns k [axis][sample] of the trajectory `subject`, of the first slice, into the axes of the image where it is in those of
/// the magnet. Returns whether it was, and says so in `summary`. Throws Error where the axes are ambiguous.
bool turn_as_found(ScanSummary& summary, const ReadOptions& options, const std::string& subject,
                   Array<double>& k);
/// Converts k [axis][sample] of the trajectory `subject`, of the first slice, to cycles/FOV along the axes of the image, and
/// says in `summary` what it tells. Returns whether the file has it in the axes of the magnet. Throws Error where the unit is
/// not credible, unless the user states it, or the axes are ambiguous.
bool look_at_trajectory(ScanSummary& summary, TrajectoryUnit unit, const ReadOptions& options,
                        const std::string& subject, Array<double>& k);

/// Returns the matrix for a trajectory in cycles/FOV of which nothing else is known: twice the largest |k|, rounded up.
/// Says so in `inferred`. Throws Error naming `subject` where that is a matrix of a few voxels: such
/// positions are normalised.
std::array<int, 3> matrix_of(const std::array<double, 3>& largest_k, const std::string& subject,
                             std::vector<std::string>& inferred);
/// Says in `inferred` where positions along z have no meaning: for one voxel along z. Rounding of what lies in the plane counts
/// as nothing.
void note_ignored_third_axis(const std::array<double, 3>& largest_k, const Geometry& geometry,
                             std::vector<std::string>& inferred);

/// Returns the largest |k| along each axis of k [axis][sample].
std::array<double, 3> largest_magnitude(const Array<double>& k);

/// Returns whether every position lies on an integer, to 1e-3 cycles/FOV (single-precision files of up to 4096
/// voxels).
bool lies_on_grid(const Trajectory& trajectory);

void multiply_axes(Array<double>& k, const std::array<double, 3>& scale);
/// Converts positions [axis][sample] in `unit` to cycles/FOV. `geometry` is the one that the unit refers to.
void convert_to_cycles_per_fov(Array<double>& k, TrajectoryUnit unit, const Geometry& geometry,
                               const std::string& subject);

/// Returns the geometry that is shown of a scan: without readout oversampling.
Geometry shown_geometry(const Scan& scan);
/// Says where the FOV is unknown along an axis of more than one voxel.
void note_missing_fov(ScanSummary& summary);

/// Returns whether read, phase and slice directions are unit vectors at right angles, to 1 %.
bool are_axes(const Geometry& geometry);
/// Returns whether a geometry says where it lies in the patient: one that does not lies at the origin, along its axes.
bool states_place(const Geometry& geometry);
/// Returns whether the corners of both matrices, of one size, lie within a tenth of a voxel of each other.
bool are_in_one_place(const Geometry& a, const Geometry& b);

/// Says in the messages of a scan with a field map, once, what it means that its times do not count from the excitation.
void note_time_origin(const ScanSummary& summary, Scan& scan);

/// Returns the place of a slice among those of the scan in the order of their counters, in which files hold pieces of slices;
/// the slice itself where a scan does not count.
std::int64_t slice_by_counter(const ScanSummary& summary, std::int64_t slice);

/// Throws Error when a slice or repetition does not exist.
void require_volume(const ScanSummary& summary, std::int64_t slice, std::int64_t repetition);

/// Throws Error unless `series` has [repetition][slice] scans of the same coils and matrix.
void require_consistent(const ScanSeries& series, const std::string& subject);

/// Returns whether all volumes have the same trajectory. Throws Error unless they have as many samples.
bool have_one_trajectory(const ScanSeries& series, const std::string& subject);

/// Returns what a format without a place for some parts of a scan loses, one sentence each.
Sentences lost_parts(const Scan& scan, bool with_field_map_and_times);

/// Returns the length of the pieces into which `samples` are cut: `readout_length` where it divides them, else the
/// largest equal pieces of at most `longest` samples that need no more than twice the fewest pieces possible,
/// else `longest`.
std::int64_t piece_length(std::int64_t samples, std::int64_t readout_length, std::int64_t longest);

/// Adds to `file` corrections that put the pieces of `options.outside` in their places, and says so in its summary.
/// The source of `file` has not looked at a trajectory of its own where one is named here. Throws Error naming a piece
/// that cannot be read or does not agree with the scan.
void add_outside_pieces(ScanFile& file, const ReadOptions& options);

/// Opens `path` by the first format that recognises it, as it is stored. Throws Error.
ScanSource open_as_stored(const std::string& path, const ReadOptions& options);
/// Throws Error where a format has no place for so many volumes.
void require_room(ScanFormat format, std::int64_t slices, std::int64_t repetitions, std::int64_t coils,
                  const std::string& path);

/// Leaves out the zeros of a scan and of its calibration where they are a mask, never measured: more than one sample in a
/// hundred or whole readouts, at most 63 in 64, ten times as many as would be zero by chance, were the zeros of each
/// coil's real and imaginary parts independent of each other's, and not made by rounding. Says so in the messages: a note, a
/// warning of a few readouts that were lost, or the suspicion that the scan was stopped, where all samples from one on
/// are zero and are not one side of k-space (partial Fourier). Numbers the readouts that are left in
/// readout_numbers where whole ones are left out; else the readout length becomes 0.
void leave_out_zeros(Scan& scan, VolumeContext& context);

/// Returns the groups of an HDF5 file that hold an ISMRMRD measurement (header and readouts), by name.
std::vector<std::string> ismrmrd_groups(const hdf5::File& file);

/// ScanSummary::format of Siemens raw data.
inline constexpr auto twix_format = "Siemens twix";

/// Copies ISMRMRD, or Siemens raw data, to ISMRMRD: every readout of `from`, of any role, with its head; the header with what the user says.
/// Writes the copy to `temporary`, which messages call `path`.
Sentences copy_ismrmrd_here(const std::string& from, const ReadOptions& options, const std::string& temporary,
                            const std::string& path);
Sentences copy_ismrmrd(FileSet& files, const std::string& from, const ReadOptions& options,
                       const std::string& path);

}  // namespace fhd::io

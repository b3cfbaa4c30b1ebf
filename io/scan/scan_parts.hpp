#pragma once
// Functions that the readers and writers of several formats share.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Puts the user's matrix and FOV over those of the file. Returns what the unit of the file's trajectory
/// refers to: the matrix of the file, with the FOV that results.
Geometry apply_options(Geometry& geometry, const ReadOptions& options);
/// Returns the sentence for ScanSummary::inferred that the unit is the user's.
std::string unit_of_options(TrajectoryUnit unit);

/// Returns the matrix for a trajectory in cycles/FOV of which nothing else is known: twice the largest |k|, rounded up.
/// Says so in `inferred`. Throws Error naming `subject` where that is a matrix of a few voxels: such
/// positions are normalised.
std::array<int, 3> matrix_of(const std::array<double, 3>& largest_k, const std::string& subject,
                             std::vector<std::string>& inferred);
/// Says in `inferred` where positions along z have no meaning: for one voxel along z.
void note_ignored_third_axis(const std::array<double, 3>& largest_k, const Geometry& geometry,
                             std::vector<std::string>& inferred);

/// Returns the largest |k| along each axis of k [axis][sample].
std::array<double, 3> largest_magnitude(const Array<double>& k);

/// Returns whether every position lies on an integer, to 1e-3 cycles/FOV (single-precision files of up to 4096
/// voxels).
bool lies_on_grid(const Trajectory& trajectory);

/// Converts positions [axis][sample] in `unit` to cycles/FOV. `geometry` is the one that the unit refers to.
void convert_to_cycles_per_fov(Array<double>& k, TrajectoryUnit unit, const Geometry& geometry,
                               const std::string& subject);

/// Returns a sentence where the FOV is unknown along an axis of more than one voxel.
std::optional<std::string> missing_fov(const Geometry& geometry);

/// Returns whether read, phase and slice directions are unit vectors at right angles, to 1 %.
bool are_axes(const Geometry& geometry);

/// Says in the messages of a scan with a field map, once, what it means that its times do not count from the excitation.
void note_time_origin(const ScanSummary& summary, Scan& scan);

/// Throws Error when a slice or repetition does not exist.
void require_volume(const ScanSummary& summary, std::int64_t slice, std::int64_t repetition);

/// Throws Error unless `series` has [repetition][slice] scans of the same coils and matrix.
void require_consistent(const ScanSeries& series, const std::string& subject);

/// Returns whether all volumes have the same trajectory. Throws Error unless they have as many samples.
bool have_one_trajectory(const ScanSeries& series, const std::string& subject);

using Sentences = std::vector<std::string>;
/// Returns what a format without a place for some parts of a scan loses, one sentence each.
Sentences lost_parts(const Scan& scan, bool with_field_map_and_times);

/// Returns the length of the pieces into which `samples` are cut: `readout_length` where it divides them, else the
/// largest equal pieces of at most `longest` samples that need no more than twice the fewest pieces possible,
/// else `longest`.
std::int64_t piece_length(std::int64_t samples, std::int64_t readout_length, std::int64_t longest);

/// Returns the groups of an HDF5 file that hold an ISMRMRD measurement (header and readouts), by name.
std::vector<std::string> ismrmrd_groups(const hdf5::File& file);

/// Copies ISMRMRD to ISMRMRD: every readout of `from`, of any role, with its head; the header with what the user says.
/// Writes the copy to `temporary`, which messages call `path`.
Sentences copy_ismrmrd_here(const std::string& from, const ReadOptions& options, const std::string& temporary,
                            const std::string& path);
Sentences copy_ismrmrd(FileSet& files, const std::string& from, const ReadOptions& options,
                       const std::string& path);

}  // namespace fhd::io

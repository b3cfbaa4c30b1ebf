#pragma once
// Optional datasets at the root of an HDF5 scan, the same in the fhd layout and beside the group of an
// ISMRMRD file (which has no place for them):
//
//   /sensitivity_maps  complex  [coil][z][y][x], or [slice][coil][z][y][x]
//   /noise             complex  [coil][sample], noise without signal, of all slices and repetitions
//   /calibration       complex  [coil][sample], or [slice][coil][sample]: a reference for the maps alone, with
//   /calibration_trajectory  real  [3][sample], or [slice][3][sample], cycles/FOV of the image
//   /field_map         real     [z][y][x], or [slice][z][y][x], off-resonance in rad/s
//   /sample_time_s     real     [sample], or [repetition][slice][sample], s
//     attribute origin text     from when: "the excitation" (so without it too), "the start of each readout", or
//                               other words for a moment that is not known (README.md, "Off-resonance")
#include <array>
#include <cstdint>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Says in `summary` which of them are there.
void find_maps(const hdf5::File& file, ScanSummary& summary);
/// Reads those that are there into `scan`, whose k-space is already read; `matrix_size` is that of the maps,
/// `precision` that of ReadOptions.
void read_maps(const hdf5::File& file, const std::array<int, 3>& matrix_size, std::int64_t slice,
               std::int64_t repetition, Precision precision, Scan& scan);
/// Whether there is a dataset of that name; a group is a measurement that happens to be called so.
bool holds(const hdf5::File& file, const char* name);
/// One of them each, of a scan's own file or of another. Throws Error where it has another shape.
SensitivityMaps read_sensitivity_maps(const hdf5::File& file, std::int64_t coils,
                                      const std::array<int, 3>& matrix_size, std::int64_t slice,
                                      Precision precision);
Array<Complex<float>> read_noise(const hdf5::File& file, std::int64_t coils);

constexpr auto noise_name = "/noise", maps_name = "/sensitivity_maps", field_name = "/field_map";

/// Writes those that the scans have. Throws Error unless all scans of the series have them or none; but a calibration
/// that only some have is not written, which lost_calibration says.
void write_maps(hdf5::File& file, const ScanSeries& series);
/// Those of one file as they are in another.
void copy_maps(const hdf5::File& from, hdf5::File& to);
std::vector<std::string> lost_calibration(const ScanSeries& series);

}  // namespace fhd::io

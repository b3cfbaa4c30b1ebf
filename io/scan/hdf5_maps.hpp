#pragma once
// Optional datasets at the root of an HDF5 scan, the same in the fhd layout and beside the group of an
// ISMRMRD file (which has no place for them):
//
//   /sensitivity_maps  complex  [coil][z][y][x], or [slice][coil][z][y][x]
//   /noise             complex  [coil][sample], noise without signal, of all slices and repetitions
//   /calibration       complex  [coil][sample], or [slice][coil][sample]: a reference for the maps alone, with
//   /calibration_trajectory  real  [3][sample], or [slice][3][sample], cycles/FOV of the image
//   /field_map         real     [z][y][x], or [slice][z][y][x], off-resonance in rad/s
//   /r2star            real     as /field_map: decay, 1/T2*, in 1/s; of two components that of the first, with
//   /r2star_second     real     as /field_map: that of the second, and
//   /r2star_fraction   real     as /field_map: the share of the first, 0 ... 1
//   /field_coefficients         and what belongs to it: fields_file.hpp
//   /sample_time_s     real     [sample], or [repetition][slice][sample], s
//     attribute origin text     from when: "the excitation" (so without it too), "the start of each readout", or
//                               other words for a moment that is not known (README.md, "Off-resonance")
//
// and /trajectory, the scan's own or in a file beside it:
//
//   /trajectory        real    [sample][axis] with axes x, y or x, y, z, or [repetition][slice][sample][axis]
//     attribute unit   text    cycles/FOV, cycles/voxel, radians/voxel, 1/m, 1/mm, radians/m, radians/mm or kmax; required
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Reads the datasets that are there. They are looked for once, and what all volumes share is read once where it is small:
/// every call of libhdf5 is one that other threads wait for.
class MapReader {
 public:
  /// Says in `summary` which of the datasets are there.
  MapReader(const hdf5::File& file, ScanSummary& summary);
  /// Reads them into `scan`, whose k-space is already read; `matrix_size` is that of the maps. Several threads may call it.
  void read(const hdf5::File& file, const std::array<int, 3>& matrix_size, std::int64_t slice,
            std::int64_t repetition, Precision precision, Scan& scan);

 private:
  Array<double> times(const hdf5::File& file, std::int64_t slice, std::int64_t repetition,
                      std::int64_t samples);

  bool has_maps_, has_noise_, has_calibration_, has_field_, has_times_, has_decay_, has_second_decay_,
      has_fields_;
  std::mutex mutex_;
  std::optional<Array<double>> common_times_;
};
/// Returns whether there is a dataset of that name; a group is a measurement that happens to be called so.
bool holds(const hdf5::File& file, const char* name);
/// Reads one dataset, of a scan's own file or of another. Throws Error where it has another shape.
SensitivityMaps read_sensitivity_maps(const hdf5::File& file, std::int64_t coils,
                                      const std::array<int, 3>& matrix_size, std::int64_t slice,
                                      Precision precision);
Array<Complex<float>> read_noise(const hdf5::File& file, std::int64_t coils);

constexpr auto noise_name = "/noise", maps_name = "/sensitivity_maps", field_name = "/field_map",
               decay_name = "/r2star", second_decay_name = "/r2star_second",
               decay_fraction_name = "/r2star_fraction";

/// How the volumes of a series share a dataset.
enum class Shared { by_all, by_repetitions, by_none };
/// Writes the arrays get(scan) of a series: one, else [slice] or [repetition][slice] blocks. Throws Error where shapes differ.
template <class Get>
void write_volumes(hdf5::File& file, const char* name, const ScanSeries& series, Shared shared,
                   const Get& get) {
  const auto& first = get(series.scans.front());
  using T = std::remove_cvref_t<decltype(first[0])>;
  if (shared == Shared::by_repetitions && series.slice_count == 1) shared = Shared::by_all;
  hdf5::Extents extents;
  if (shared == Shared::by_none) extents.push_back(series.repetition_count);
  if (shared != Shared::by_all) extents.push_back(series.slice_count);
  for (int axis = 0; axis < first.shape().rank(); ++axis) extents.push_back(first.shape()[axis]);
  if (shared == Shared::by_all) return file.write(name, first.data(), extents);
  file.create<T>(name, extents);
  const auto count = shared == Shared::by_none ? std::ssize(series.scans) : series.slice_count;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& block = get(series.scans[static_cast<std::size_t>(i)]);
    require_shape(block, first.shape(), file.subject(name));
    file.write_block<T>(name, block,
                        shared == Shared::by_none
                            ? hdf5::Extents{i / series.slice_count, i % series.slice_count}
                            : hdf5::Extents{i});
  }
}
/// Writes the arrays in double where all scans have them so, else in single precision.
template <class Single, class Double>
void write_volumes(hdf5::File& file, const char* name, const ScanSeries& series, Shared shared,
                   const Single& single, const Double& in_double) {
  const bool all =
      std::ranges::none_of(series.scans, [&](const Scan& scan) { return in_double(scan).empty(); });
  all ? write_volumes(file, name, series, shared, in_double)
      : write_volumes(file, name, series, shared, single);
}

/// Writes what the scans have. Throws Error unless all scans of the series have it or none; but a calibration that only
/// some have is not written, which lost_calibration says.
void write_maps(hdf5::File& file, const ScanSeries& series);
/// Copies the datasets of one file to another.
void copy_maps(const hdf5::File& from, hdf5::File& to);
std::vector<std::string> lost_calibration(const ScanSeries& series);

constexpr auto trajectory_name = "/trajectory";

/// Returns the user's unit, which `inferred` then says, else that of the file. Throws Error where neither is known.
TrajectoryUnit unit_of_trajectory(const hdf5::File& file, TrajectoryUnit told,
                                  std::vector<std::string>& inferred);
/// Reads positions [axis][sample] in the unit of the file; 0 along an axis that is left out. Throws Error.
Array<double> read_stored_trajectory(const hdf5::File& file, std::int64_t slice, std::int64_t repetition);

}  // namespace fhd::io

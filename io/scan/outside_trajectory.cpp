#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/cfl_file.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/outside_pieces.hpp"
#include "io/scan/scan_formats.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// A source of positions [axis][sample] of one slice and repetition, cycles/FOV of the scan.
struct Source {
  std::string subject, shape;  ///< what errors call it, and ": " with its extents in words; may be empty
  std::function<Array<double>(std::int64_t slice, std::int64_t repetition)> read;
};

/// Throws Error unless there is one trajectory for all slices and repetitions, or one for each.
void require_volumes(std::int64_t slices, std::int64_t repetitions, const Source& source,
                     const ScanSummary& scan) {
  const bool agree = (slices == 1 || slices == scan.slice_count) &&
                     (repetitions == 1 || repetitions == scan.repetition_count);
  if (!agree)
    throw Error(source.subject,
                fmt::format("a trajectory for all, or for each, of the {} slices and {} repetitions of {}",
                            scan.slice_count, scan.repetition_count, scan.path),
                fmt::format("{} slices and {} repetitions", slices, repetitions));
}

/// Converts what `stored` reads into cycles/FOV of the scan, and checks it.
Source converted_from(TrajectoryUnit unit, bool told, Source stored, ScanSummary& scan) {
  const auto geometry = scan.unit_geometry;
  const auto largest = largest_magnitude(stored.read(0, 0));
  if (!told) require_credible_unit(unit, largest, geometry, stored.subject);
  note_ignored_third_axis(largest, geometry, scan.inferred);
  auto source = stored;
  source.read = [=](std::int64_t slice, std::int64_t repetition) {
    auto k = stored.read(slice, repetition);
    convert_to_cycles_per_fov(k, unit, geometry, stored.subject);
    return k;
  };
  return source;
}

Source from_cfl(const std::string& path, TrajectoryUnit told, ScanSummary& scan) {
  const auto file = std::make_shared<cfl::CflFile>(bart_name(path));
  cfl::require_trajectory(*file);
  const Source stored{file->path(), ": " + cfl::text_of(file->extents()),
                      [=](std::int64_t slice, std::int64_t repetition) {
                        return cfl::read_trajectory(*file, slice, repetition);
                      }};
  require_volumes(file->extents()[cfl::slice_axis], file->extents()[cfl::repetition_axis], stored, scan);
  const bool is_told = told != TrajectoryUnit::automatic;
  scan.inferred.push_back(is_told ? unit_of_options(told)
                                  : "The trajectory is taken to be in cycles/FOV, the unit of BART.");
  return converted_from(is_told ? told : TrajectoryUnit::cycles_per_fov, is_told, stored, scan);
}

Source from_dataset(hdf5::File opened, TrajectoryUnit told, ScanSummary& scan) {
  const auto file = std::make_shared<hdf5::File>(std::move(opened));
  const auto extents = file->dataset(trajectory_name).extents();
  const bool shares_slices = extents.size() == 4 && extents[1] == 1,
             shares_repetitions = extents.size() == 4 && extents[0] == 1;
  const Source stored{file->subject(trajectory_name), ": " + hdf5::text_of(extents),
                      [=](std::int64_t slice, std::int64_t repetition) {
                        return read_stored_trajectory(*file, shares_slices ? 0 : slice,
                                                      shares_repetitions ? 0 : repetition);
                      }};
  if (extents.size() == 4) require_volumes(extents[1], extents[0], stored, scan);
  const auto unit = unit_of_trajectory(*file, told, scan.inferred);
  return converted_from(unit, told != TrajectoryUnit::automatic, stored, scan);
}

/// Opens the trajectory of another scan, whose header says what its unit refers to.
Source from_scan(const std::string& path, const ReadOptions& options, ScanSummary& scan) {
  ReadOptions of_file;
  of_file.matrix_size = options.matrix_size;
  of_file.fov_mm = options.fov_mm;
  of_file.trajectory_unit = options.trajectory_unit;
  const auto file = open_as_stored(path, of_file);
  const auto& summary = file.summary;
  for (const auto& sentence : summary.inferred) scan.inferred.push_back(path + ": " + sentence);
  std::array<double, 3> scale{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const double own = summary.geometry.fov_mm[axis], of_scan = scan.geometry.fov_mm[axis];
    if (!(own > 0 && of_scan > 0) || std::abs(own - of_scan) <= 1e-6 * of_scan) continue;
    scale[axis] = of_scan / own;
    if (scan.geometry.matrix_size[axis] > 1)
      scan.inferred.push_back(fmt::format(
          "The FOV along {} of {} is {:g} mm and that of the scan {:g} mm: k is scaled by their ratio.",
          "xyz"[axis], path, own, of_scan));
  }
  const auto shape =
      summary.readout_length > 0
          ? fmt::format(": {} readouts of {}", summary.samples_per_scan / summary.readout_length,
                        summary.readout_length)
          : "";
  Source source{path, shape, [=](std::int64_t slice, std::int64_t repetition) {
                  auto k = file.read(file.summary.slice_count == 1 ? 0 : slice,
                                     file.summary.repetition_count == 1 ? 0 : repetition)
                               .trajectory.k;
                  const auto samples = k.extent(1);
                  for (int axis = 0; axis < 3; ++axis)
                    for (std::int64_t m = 0; m < samples; ++m) k[axis * samples + m] *= scale[axis];
                  return k;
                }};
  require_volumes(summary.slice_count, summary.repetition_count, source, scan);
  return source;
}

Source open_source(const ReadOptions& options, ScanSummary& scan) {
  const auto& path = options.outside.trajectory;
  std::error_code status;
  if (scan.format == "IMPATIENT")
    throw Error(scan.path, "an ISMRMRD, fhd or BART scan, for --trajectory", "an IMPATIENT directory",
                "put kx.dat, ky.dat and kz.dat of that trajectory into a copy of it");
  if (std::filesystem::is_directory(path, status))
    throw Error(path, "a trajectory: an HDF5 file or a BART pair", "a directory");
  if (is_bart(path)) return from_cfl(path, options.trajectory_unit, scan);
  auto file = hdf5::File::open(path);
  const bool has_dataset = file.has(trajectory_name);
  if (has_dataset && !file.has("/kspace"))
    return from_dataset(std::move(file), options.trajectory_unit, scan);
  if (!has_dataset && ismrmrd_groups(file).empty())
    throw Error(path, "a trajectory: /trajectory, or the readouts of an ISMRMRD measurement",
                "an HDF5 file without them");
  return from_scan(path, options, scan);
}

/// Reads the positions of a volume of so many samples. Throws Error where there are others.
Array<double> positions_of(const Source& source, const ScanSummary& scan, std::int64_t samples,
                           std::int64_t slice, std::int64_t repetition) {
  auto k = source.read(slice, repetition);
  if (k.extent(1) == samples) return k;
  const auto length = scan.readout_length;
  const auto readouts = length > 0 && samples % length == 0
                            ? fmt::format(" ({} readouts of {})", samples / length, length)
                            : "";
  throw Error(source.subject,
              fmt::format("positions of the {} samples{} of {}", samples, readouts, scan.path),
              fmt::format("{}{}", k.extent(1), source.shape),
              "give one position per sample, readout by readout, in the order of the scan");
}

}  // namespace

Correction open_outside_trajectory(const ReadOptions& options, ScanSummary& summary) {
  const auto source = open_source(options, summary);
  summary.cartesian = lies_on_grid({positions_of(source, summary, summary.samples_per_scan, 0, 0)});
  const auto remark =
      "the trajectory was taken from " + options.outside.trajectory + ", in place of any of the scan's own";
  return [=, scan_summary = summary](Scan& scan, VolumeContext& context) {
    scan.trajectory.k =
        positions_of(source, scan_summary, scan.kspace.sample_count(), context.slice, context.repetition);
    scan.messages.push_back({"trajectory", Severity::note, remark});
  };
}

}  // namespace fhd::io

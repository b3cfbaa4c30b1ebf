// Pieces of a scan from files of their own (ReadOptions::outside). A piece replaces the scan's own and must agree with
// the scan; it is read as the scan's own would be:
//
//   trajectory        HDF5 with /trajectory (hdf5_maps.hpp); a BART pair [3][readout][spoke]; the trajectories of an
//                     ISMRMRD or fhd scan. As many positions as the scan has samples, in their order; discarded samples
//                     of ISMRMRD readouts count in neither. Units refer to the matrix and FOV that a scan with the
//                     trajectory states, else to those of this scan. Its axes may be those of the magnet
//                     (trajectory_axes.hpp), which the directions of each slice of this scan turn into its own. Or a
//                     Pulseq sequence, which gives the times as well (pulseq/sequence.hpp): the readouts of ISMRMRD take theirs
//                     one by one (mrd/sequence_readouts.hpp), the volumes of other formats theirs as a whole
//                     (pulseq/sequence_volumes.hpp).
//   sensitivity maps  HDF5 with /sensitivity_maps, or a BART pair [x][y][z][coil]: the coils and matrix of the scan.
//   noise             HDF5 with /noise; an ISMRMRD measurement (mrd/noise_readouts.hpp); a BART pair with the coils
//                     along axis 3. Of the coils of the scan. Scaled to its dwell time where both are known.
//   field map         NIfTI (.nii, .nii.gz), interpolated at the voxels of the scan by both affine maps; HDF5 with
//                     /field_map, on the voxels of the scan, or interpolated likewise where its attributes
//                     (hdf5_geometry.hpp) say that it lies elsewhere. In rad/s, or in Hz (OutsidePieces::field_map_unit).
//                     Needs the times of the samples.
//   decay             as a field map, with /r2star, in 1/s; of two components HDF5 with /r2star_second and
//                     /r2star_fraction beside.
//   fields            fields_file.hpp.
//   gradient coefficients  gradient_file.hpp.
//
// Pieces of several slices hold them in the order of the slice counters of the scan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_geometry.hpp"
#include "io/scan/cfl_file.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/fields_file.hpp"
#include "io/scan/gradient_file.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/noise_readouts.hpp"
#include "io/scan/pulseq/sequence_volumes.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_axes.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/geometry.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/slice_stacks.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

const char* in_place_of(bool own) { return own ? ", in place of the scan's own" : ""; }

/// Opens an HDF5 file with the dataset `name`. Throws Error where there is none, or where its extents without those of
/// slices are not `expected`, which `meaning` describes.
hdf5::File open_agreeing(const std::string& path, const char* name, const char* piece,
                         const hdf5::Extents& expected, const char* meaning, const ScanSummary& summary,
                         const std::string& remedy) {
  auto file = hdf5::File::open(path);
  if (!holds(file, name)) throw Error(path, piece, "an HDF5 file without one");
  const auto dataset = file.dataset(name);
  const bool complex = name == std::string_view(maps_name);
  auto found = complex ? dataset.complex_extents() : dataset.extents();
  const auto stored = hdf5::text_of(found);
  if (found.size() == expected.size() + 1 && found.front() == summary.slice_count) found.erase(found.begin());
  if (found != expected)
    throw Error(file.subject(name),
                fmt::format("{}, {} of {}", hdf5::text_of(expected), meaning, summary.path), stored, remedy);
  return file;
}

// --- Trajectory

/// A source of positions [axis][sample] of one slice and repetition, cycles/FOV of the scan.
struct Source {
  std::string subject, shape;  ///< what errors call it, and ": " with its extents in words; may be empty
  std::function<Array<double>(std::int64_t slice, std::int64_t repetition)> read;
  /// Returns the times of the samples; null where they are not known.
  std::function<Array<double>(std::int64_t slice, std::int64_t repetition)> times{};
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

/// Returns `stored` in cycles/FOV of the scan, and checks it.
Source converted_from(TrajectoryUnit unit, const ReadOptions& options, const Source& stored,
                      ScanSummary& scan) {
  auto k = stored.read(slice_by_counter(scan, 0), 0);
  const bool in_magnet = look_at_trajectory(scan, unit, options, stored.subject, k);
  auto source = stored;
  source.read = [=, scan_summary = scan](std::int64_t slice, std::int64_t repetition) {
    auto converted = stored.read(slice_by_counter(scan_summary, slice), repetition);
    if (in_magnet) turn_into_image(converted, along_gradients(scan_summary, slice));
    convert_to_cycles_per_fov(converted, unit, scan_summary.unit_geometry, stored.subject);
    return converted;
  };
  return source;
}

Source from_cfl(const ReadOptions& options, ScanSummary& scan) {
  const auto file = std::make_shared<cfl::CflFile>(bart_name(options.outside.trajectory));
  cfl::require_trajectory(*file);
  const Source stored{file->path(), ": " + cfl::text_of(file->extents()),
                      [=](std::int64_t slice, std::int64_t repetition) {
                        return cfl::read_trajectory(*file, slice, repetition);
                      }};
  require_volumes(file->extents()[cfl::slice_axis], file->extents()[cfl::repetition_axis], stored, scan);
  return converted_from(unit_of_format("BART", options, scan.inferred), options, stored, scan);
}

Source from_dataset(hdf5::File opened, const ReadOptions& options, ScanSummary& scan) {
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
  return converted_from(unit_of_trajectory(*file, options.trajectory_unit, scan.inferred), options, stored,
                        scan);
}

/// Opens the trajectory of another scan, whose header says what its unit refers to.
Source from_scan(const std::string& path, const ReadOptions& options, ScanSummary& scan) {
  ReadOptions of_file;
  of_file.matrix_size = options.matrix_size;
  of_file.fov_mm = options.fov_mm;
  of_file.trajectory_unit = options.trajectory_unit;
  of_file.trajectory_axes = options.trajectory_axes;
  const auto file = open_as_stored(path, of_file);
  const auto& summary = file.summary;
  for (const auto& sentence : summary.inferred) scan.inferred.push_back(path + ": " + sentence);
  std::array<double, 3> scale{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const double own = summary.geometry.fov_mm[axis], of_scan = scan.geometry.fov_mm[axis];
    if (!(own > 0 && of_scan > 0) || std::abs(own - of_scan) <= 1e-6 * of_scan) continue;
    scale[axis] = of_scan / own;
    if (scan.geometry.matrix_size[axis] > 1)
      say(scan.inferred,
          "The FOV along {} of {} is {:g} mm and that of the scan {:g} mm: k is scaled by their ratio.",
          "xyz"[axis], path, own, of_scan);
  }
  const auto shape =
      summary.readout_length > 0
          ? fmt::format(": {} readouts of {}", summary.samples_per_scan / summary.readout_length,
                        summary.readout_length)
          : "";
  // Both scans count their slices, which either may hold in another order.
  std::vector<std::int64_t> slice_of(static_cast<std::size_t>(summary.slice_count));
  std::iota(slice_of.begin(), slice_of.end(), std::int64_t{0});
  if (const auto& counters = summary.slice_counters; !counters.empty())
    std::ranges::sort(slice_of, {}, [&](std::int64_t i) { return counters[static_cast<std::size_t>(i)]; });
  Source source{path, shape, [=, scan_summary = scan](std::int64_t slice, std::int64_t repetition) {
                  const auto counted = static_cast<std::size_t>(slice_by_counter(scan_summary, slice));
                  auto k = file.read(file.summary.slice_count == 1 ? 0 : slice_of[counted],
                                     file.summary.repetition_count == 1 ? 0 : repetition)
                               .trajectory.k;
                  multiply_axes(k, scale);
                  return k;
                }};
  require_volumes(summary.slice_count, summary.repetition_count, source, scan);
  return source;
}

/// Plays a Pulseq sequence for a scan that keeps no readouts, along the axes of the image unless `options` say otherwise.
Source from_sequence(const ReadOptions& options, ScanSummary& scan) {
  const auto& path = options.outside.trajectory;
  const auto volumes = std::make_shared<pulseq::SequenceVolumes>(pulseq::read_sequence(path), scan);
  const auto axes = options.trajectory_axes;
  const bool in_magnet =
      axes == TrajectoryAxes::magnet || (axes == TrajectoryAxes::automatic && volumes->is_along_magnet());
  Source source{path, volumes->shape(), [=, of_scan = scan](std::int64_t slice, std::int64_t repetition) {
                  auto k = volumes->read(slice_by_counter(of_scan, slice), repetition).k;
                  if (in_magnet) turn_into_image(k, along_gradients(of_scan, slice));
                  multiply_axes(k, volumes->scale());
                  return k;
                }};
  if (volumes->has_times())
    source.times = [=, of_scan = scan](std::int64_t slice, std::int64_t repetition) {
      return volumes->read(slice_by_counter(of_scan, slice), repetition).time_s;
    };
  return source;
}

Source open_source(const ReadOptions& options, ScanSummary& scan) {
  const auto& path = options.outside.trajectory;
  std::error_code status;
  if (scan.format == "IMPATIENT")
    throw Error(scan.path, "an ISMRMRD, fhd or BART scan, for " + option_words("trajectory"),
                "an IMPATIENT directory",
                "put kx.dat, ky.dat and kz.dat of that trajectory into a copy of it");
  if (std::filesystem::is_directory(path, status))
    throw Error(path, "a trajectory: an HDF5 file or a BART pair", "a directory");
  if (is_bart(path)) return from_cfl(options, scan);
  if (pulseq::is_sequence(path)) return from_sequence(options, scan);
  auto file = hdf5::File::open(path);
  const bool has_dataset = file.has(trajectory_name);
  if (has_dataset && !file.has("/kspace")) return from_dataset(std::move(file), options, scan);
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

std::string remark_on_trajectory(const ReadOptions& options) {
  return "the trajectory was taken from " + options.outside.trajectory +
         ", in place of any of the scan's own";
}

Correction open_outside_trajectory(const ReadOptions& options, ScanSummary& summary) {
  const auto source = open_source(options, summary);
  summary.cartesian = lies_on_grid({positions_of(source, summary, summary.samples_per_scan, 0, 0)});
  if (source.times) {
    summary.has_sample_time = true;
    summary.time_origin = TimeOrigin::excitation;
  }
  const auto remark = remark_on_trajectory(options);
  return [=, scan_summary = summary](Scan& scan, VolumeContext& context) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (scan.geometry.fov_mm[axis] == 0) scan.geometry.fov_mm[axis] = scan_summary.geometry.fov_mm[axis];
    if (source.times) scan.sample_time_s = source.times(context.slice, context.repetition);
    scan.trajectory.k =
        positions_of(source, scan_summary, scan.kspace.sample_count(), context.slice, context.repetition);
    scan.messages.push_back({"trajectory", Severity::note, remark});
  };
}

// --- Sensitivity maps

using MapsOfSlice = std::function<SensitivityMaps(std::int64_t slice)>;

MapsOfSlice open_maps(const ReadOptions& options, const ScanSummary& summary) {
  const auto remedy = "give maps of these coils and this matrix, or the matrix of the maps with " +
                      option_words("matrix", "X,Y,Z");
  const auto& path = options.outside.sensitivity_maps;
  const auto& matrix = summary.geometry.matrix_size;
  const auto coils = summary.coil_count;
  if (!is_bart(path)) {
    const auto file = std::make_shared<hdf5::File>(
        open_agreeing(path, maps_name,
                      "sensitivity maps: /sensitivity_maps [coil][z][y][x], or a BART pair [x][y][z][coil]",
                      {coils, matrix[2], matrix[1], matrix[0]}, "the coils and the matrix", summary, remedy));
    return [=, precision = options.precision](std::int64_t slice) {
      return read_sensitivity_maps(*file, coils, matrix, slice, precision);
    };
  }
  const auto file = std::make_shared<cfl::CflFile>(bart_name(path));
  cfl::require_maps(*file);
  const auto& n = file->extents();
  const bool agrees = n[cfl::coil_axis] == coils && std::equal(matrix.begin(), matrix.end(), n.begin()) &&
                      (n[cfl::slice_axis] == 1 || n[cfl::slice_axis] == summary.slice_count);
  if (!agrees)
    throw Error(file->path(),
                fmt::format("sensitivity maps [{}][{}][{}][{}], the matrix and the coils of {}", matrix[0],
                            matrix[1], matrix[2], coils, summary.path),
                cfl::text_of(n), remedy);
  return [file](std::int64_t slice) { return SensitivityMaps{cfl::read_maps(*file, slice)}; };
}

Correction open_outside_maps(const ReadOptions& options, ScanSummary& summary) {
  const auto remark =
      fmt::format("the sensitivity maps were taken from {}{}", options.outside.sensitivity_maps,
                  in_place_of(summary.has_sensitivity_maps));
  const auto maps = open_maps(options, summary);
  summary.has_sensitivity_maps = true;
  return [=, of_scan = summary](Scan& scan, VolumeContext& context) {
    scan.sensitivity_maps = maps(slice_by_counter(of_scan, context.slice));
    scan.messages.push_back({"sensitivity_maps", Severity::note, remark});
  };
}

// --- Noise

/// Reads all values of a BART pair as [coil][sample]: coils along their axis, samples along all others.
Array<Complex<float>> noise_of_cfl(const std::string& path) {
  cfl::CflFile file(bart_name(path));
  const auto& n = file.extents();
  std::int64_t inner = 1, outer = 1;
  for (std::size_t axis = 0; axis < cfl::coil_axis; ++axis) inner *= n[axis];
  for (std::size_t axis = cfl::coil_axis + 1; axis < cfl::axis_count; ++axis) outer *= n[axis];
  const auto coils = n[cfl::coil_axis];
  Array<Complex<float>> stored({outer, coils, inner}), noise({coils, outer * inner});
  file.read(0, 0, stored.data(), stored.size());
  for (std::int64_t block = 0; block < outer; ++block)
    for (std::int64_t coil = 0; coil < coils; ++coil)
      std::copy_n(stored.data() + (block * coils + coil) * inner, inner,
                  noise.data() + (coil * outer + block) * inner);
  return noise;
}

/// Returns the time from one sample to the next, us; 0 where it is unknown.
double dwell_us(const Scan& scan) {
  if (!scan.sample_time_s || scan.sample_time_s->size() < 2) return 0;
  return std::max(0.0, ((*scan.sample_time_s)[1] - (*scan.sample_time_s)[0]) * 1e6);
}

mrd::NoiseMeasurement open_noise(const std::string& path, const ScanSummary& summary) {
  mrd::NoiseMeasurement noise;
  if (is_bart(path))
    noise.samples = noise_of_cfl(path);
  else if (const auto file = hdf5::File::open(path); holds(file, noise_name))
    noise.samples = read_noise(file, summary.coil_count);
  else
    noise = mrd::read_noise_measurement(path);
  if (noise.samples.extent(0) != summary.coil_count)
    throw Error(path,
                fmt::format("noise of the {} coils of {}, [coil][sample]", summary.coil_count, summary.path),
                noise.samples.shape().text(), "give noise that was measured with these coils");
  return noise;
}

Correction open_outside_noise(const ReadOptions& options, ScanSummary& summary) {
  return [path = options.outside.noise, noise = open_noise(options.outside.noise, summary)](Scan& scan,
                                                                                            VolumeContext&) {
    const double dwell = dwell_us(scan),
                 scale = mrd::noise_scale(noise.dwell_us, dwell, noise.relative_bandwidth);
    auto remark = fmt::format("the noise was taken from {}{}: {} samples", path,
                              in_place_of(scan.noise.has_value()), noise.samples.extent(1));
    if (noise.readouts > 0)
      remark +=
          fmt::format(" of {} readouts{}", noise.readouts,
                      noise.flagged ? " that are flagged as noise" : ", of which none is flagged as noise");
    if (noise.dwell_us > 0 && dwell > 0)
      remark += fmt::format(", scaled by {:.4g} from a dwell time of {:.4g} us to one of {:.4g} us", scale,
                            noise.dwell_us, dwell);
    else
      remark += ", not scaled, because the dwell time of one of both is unknown";
    scan.noise = noise.samples;
    mrd::multiply(*scan.noise, scale);
    scan.messages.push_back({"noise", Severity::note, std::move(remark)});
  };
}

// --- Field map and decay

/// A map of real numbers at the voxels of the scan.
struct MapPiece {
  const char *dataset, *words;  ///< "/field_map", "a field map"
  const std::string& path;
};

/// The values of a map at the voxels of a scan, and what was done beside taking them.
struct MapValues {
  Array<double> values{};
  std::string how{};
};
using MapOfScan = std::function<MapValues(const Scan&, std::int64_t slice)>;

MapOfScan interpolated_map(const MapPiece& piece, Volume map, const ScanSummary& summary) {
  const std::string path = piece.path, words = piece.words;
  const auto volume = std::make_shared<const Volume>(std::move(map));
  for (int axis = 0; axis < 3; ++axis)
    if (summary.geometry.matrix_size[axis] > 1 && !(summary.geometry.fov_mm[axis] > 0))
      throw Error(path, "a known FOV of " + summary.path + ", to find its voxels in " + words,
                  "none along " + std::string(1, "xyz"[axis]),
                  "give it with " + option_words("fov-mm", "X,Y,Z"));
  return [=, of_scan = summary.path](const Scan& scan, std::int64_t) {
    const auto seen = interpolated_at_voxels(*volume, shown_geometry(scan), path);
    const auto inside = seen.values.size() - seen.voxels_outside;
    if (2 * inside < seen.values.size())
      throw Error(path, words + " of the same place: at least half of the voxels of " + of_scan,
                  fmt::format("{} of {}", inside, seen.values.size()),
                  "check the place (of NIfTI: sform, qform) of the one and position, directions and FOV of "
                  "the other ('fhd info')");
    const auto [values, outside] = interpolated_at_voxels(*volume, scan.geometry, path);
    MapValues found{converted<double>(values), ", interpolated at the voxels"};
    if (outside > 0)
      found.how +=
          fmt::format("; {} of {} lie outside of it and have its nearest value", outside, values.size());
    return found;
  };
}

/// Returns whether slices of a map have the voxels of the scan, as far as both say where they lie.
bool have_voxels_of(const ScanSummary& scan, const std::vector<Geometry>& map) {
  const bool has_each = std::ssize(map) == scan.slice_count;
  if (!has_each && map.size() != 1) return false;
  for (std::size_t slice = 0; slice < map.size(); ++slice) {
    const auto& own = scan.slice_geometries.empty() ? scan.geometry : scan.slice_geometries[slice];
    const auto& given = map[has_each ? slice_by_counter(scan, static_cast<std::int64_t>(slice)) : 0];
    auto there = has_each && states_place(own) && states_place(given) ? given : own;
    for (std::size_t axis = 0; axis < 3; ++axis)
      there.fov_mm[axis] =
          given.fov_mm[axis] > 0 && own.fov_mm[axis] > 0 ? given.fov_mm[axis] : own.fov_mm[axis];
    if (given.matrix_size != own.matrix_size || !are_in_one_place(own, there)) return false;
  }
  return true;
}

/// Returns the map of an HDF5 file that says where it lies, if that is not on the voxels of the scan; else nothing.
std::optional<Volume> volume_elsewhere(const MapPiece& piece, const ScanSummary& scan) {
  const auto file = hdf5::File::open(piece.path);
  if (!holds(file, piece.dataset) || !file.has_attribute("/", "fov_mm")) return {};
  const auto map = file.dataset(piece.dataset);
  auto n = map.extents();
  if (n.size() == 3) n.insert(n.begin(), 1);
  const auto fits = [](std::int64_t extent) { return extent >= 1 && extent <= largest_matrix; };
  if (n.size() != 4 || !std::ranges::all_of(n, fits)) return {};
  const std::array matrix{static_cast<int>(n[3]), static_cast<int>(n[2]), static_cast<int>(n[1])};
  const auto slices = read_geometry(file, "/", matrix, static_cast<std::size_t>(n[0]));
  if (have_voxels_of(scan, slices)) return {};
  if (!states_place(slices.front()) && states_place(scan.geometry))
    return {};  // it is not known where it lies
  const auto stacks = stacks_of(slices);
  if (stacks.size() != 1 || !stacks.front().is_even())
    throw Error(map.subject(),
                "slices on the voxels of " + scan.path + ", or one stack of them at even steps", "others",
                "give a NIfTI image");
  Volume volume{Array<float>({n[0] * n[1], n[2], n[3]}), stacks.front().voxel_to_lps_mm};
  const Shape shape = slices.front().image_shape();
  for (std::size_t place = 0; place < slices.size(); ++place) {
    const auto slice = static_cast<std::int64_t>(stacks.front().slices[place]);
    const auto values =
        map.read<float>(shape, map.extents().size() == 4 ? hdf5::Extents{slice} : hdf5::Extents{});
    std::ranges::copy(values, volume.values.begin() + static_cast<std::int64_t>(place) * shape.size());
  }
  return volume;
}

MapOfScan open_hdf5_map(const MapPiece& piece, const ScanSummary& summary) {
  const auto& n = summary.geometry.matrix_size;
  if (auto volume = volume_elsewhere(piece, summary))
    return interpolated_map(piece, std::move(*volume), summary);
  const auto expected =
      fmt::format("{}: {} [z][y][x], or a NIfTI image (.nii, .nii.gz)", piece.words, piece.dataset);
  const auto file = std::make_shared<hdf5::File>(
      open_agreeing(piece.path, piece.dataset, expected.c_str(), {n[2], n[1], n[0]}, "the matrix", summary,
                    fmt::format("give {} on these voxels, or one that says where it lies: a NIfTI image, or "
                                "the file of 'fhd fieldmap'",
                                piece.words)));
  return [file, dataset = piece.dataset](const Scan& scan, std::int64_t slice) {
    const auto map = file->dataset(dataset);
    return MapValues{map.read<double>(scan.geometry.image_shape(),
                                      map.extents().size() == 4 ? hdf5::Extents{slice} : hdf5::Extents{})};
  };
}

bool is_nifti(const std::string& path) { return path.ends_with(".nii") || path.ends_with(".nii.gz"); }

/// Opens a map, which needs the times of the samples.
MapOfScan open_map(const MapPiece& piece, const ScanSummary& summary) {
  const auto& path = piece.path;
  if (!summary.has_sample_time)
    throw Error(
        path, fmt::format("sample times in {}, without which {} cannot be used", summary.path, piece.words),
        "none", "write them into an fhd HDF5 file ('fhd convert' makes one) as /sample_time_s, [sample], s");
  return is_nifti(path) ? interpolated_map(piece, read_nifti_volume(path), summary)
                        : open_hdf5_map(piece, summary);
}

Correction open_outside_field_map(const ReadOptions& options, ScanSummary& summary) {
  const auto& path = options.outside.field_map;
  const auto map = open_map({field_name, "a field map", path}, summary);
  const bool in_hz = options.outside.field_map_unit == FieldMapUnit::hz;
  const auto remark = fmt::format("the field map was taken from {}{}, in {}", path,
                                  in_place_of(summary.has_field_map), in_hz ? "Hz" : "rad/s");
  summary.has_field_map = true;
  const bool in_double = options.precision == Precision::double_precision && !is_nifti(path);
  return [=, of_scan = summary](Scan& scan, VolumeContext& context) {
    auto [omega, how] = map(scan, slice_by_counter(of_scan, context.slice));
    for (double& value : omega) value *= in_hz ? 2 * std::numbers::pi : 1;
    scan.field_map = converted<float>(omega);
    scan.field_map_in_double = in_double && how.empty() ? std::move(omega) : Array<double>();
    scan.messages.push_back({"field_map", Severity::note, remark + how});
    note_time_origin(of_scan, scan);
  };
}

Correction open_outside_decay(const ReadOptions& options, ScanSummary& summary) {
  const auto& path = options.outside.decay;
  const auto map = open_map({decay_name, "a map of decay", path}, summary);
  const auto remark =
      fmt::format("the map of decay was taken from {}{}, in 1/s", path, in_place_of(summary.has_decay));
  MapOfScan second, fraction;
  if (!is_nifti(path)) {
    const auto file = hdf5::File::open(path);
    if (holds(file, second_decay_name) || holds(file, decay_fraction_name)) {
      second = open_map({second_decay_name, "the decay of a second component", path}, summary);
      fraction = open_map({decay_fraction_name, "the fraction of the first component", path}, summary);
    }
  }
  summary.has_decay = true;
  return [=, of_scan = summary](Scan& scan, VolumeContext& context) {
    const auto slice = slice_by_counter(of_scan, context.slice);
    const auto [rates, how] = map(scan, slice);
    scan.decay_per_s = converted<float>(rates);
    scan.second_decay.reset();
    if (second)
      scan.second_decay = SecondDecay{converted<float>(second(scan, slice).values),
                                      converted<float>(fraction(scan, slice).values)};
    scan.messages.push_back({"decay", Severity::note, remark + (second ? ", of two components" : "") + how});
    note_time_origin(of_scan, scan);
  };
}

// --- Fields

Correction open_outside_fields(const ReadOptions& options, ScanSummary& summary) {
  const auto path = options.outside.fields;
  const auto last = read_fields(path, slice_by_counter(summary, summary.slice_count - 1),
                                summary.repetition_count - 1, summary.samples_per_scan);
  if ((last.repetitions != 1 && last.repetitions != summary.repetition_count) ||
      (last.slices != 1 && last.slices != summary.slice_count))
    throw Error(path,
                fmt::format("fields for all, or for each, of the {} slices and {} repetitions of {}",
                            summary.slice_count, summary.repetition_count, summary.path),
                fmt::format("{} slices and {} repetitions", last.slices, last.repetitions));
  if (!summary.has_sample_time && !last.sample_time_s.empty())
    summary.has_sample_time = true, summary.time_origin = TimeOrigin::unknown;
  summary.has_fields = true;
  return [=, of_scan = summary](Scan& scan, VolumeContext& context) {
    put_fields(read_fields(path, slice_by_counter(of_scan, context.slice), context.repetition,
                           scan.kspace.sample_count()),
               path, scan);
    if (scan.kspace.sample_count() != of_scan.samples_per_scan) context.readout_length = 0;
  };
}

Correction open_gradient_coefficients(const ReadOptions& options, ScanSummary& summary) {
  const auto& path = options.outside.gradient_coefficients;
  const auto harmonics = read_gradient_harmonics(path);
  summary.has_fields = true;
  return [=](Scan& scan, VolumeContext&) {
    if (!scan.fields) scan.fields.emplace();
    auto& moved = scan.fields->displacement_mm;
    moved = displacement_of(harmonics, scan.geometry, scan.fields->axes);
    float farthest = 0;
    for (const float value : moved) farthest = std::max(farthest, std::abs(value));
    scan.messages.push_back(
        {"gradient_coefficients", Severity::note,
         fmt::format("gradients are not linear, as {} says: places move by up to {:.2g} mm along an axis",
                     path, farthest)});
  };
}

}  // namespace

void add_outside_pieces(ScanFile& file, const ReadOptions& options) {
  const auto& outside = options.outside;
  auto& summary = file.editable_summary();
  const auto add = [&](const std::string& path, auto open) {
    if (path.empty()) return;
    file.add([path, put_in_place = open(options, summary)](Scan& scan, VolumeContext& context) {
      put_in_place(scan, context);
      scan.validate(path);  // it was valid before: what is wrong now is the piece
    });
  };
  if (summary.follows_sequence)
    file.add([remark = remark_on_trajectory(options)](Scan& scan, VolumeContext&) {
      scan.messages.push_back({"trajectory", Severity::note, remark});
    });
  else
    add(outside.trajectory, open_outside_trajectory);
  add(outside.sensitivity_maps, open_outside_maps);
  add(outside.noise, open_outside_noise);
  add(outside.fields, open_outside_fields);  // which may tell the times that the next need
  add(outside.field_map, open_outside_field_map);
  add(outside.decay, open_outside_decay);
  add(outside.gradient_coefficients, open_gradient_coefficients);
  if (summary.has_fields && !summary.states_directions)
    file.add([](Scan& scan, VolumeContext&) { warn_of_place(scan); });
  summary.outside_pieces = outside.given();
  for (const auto& [what, path] : summary.outside_pieces) summary.facts.emplace_back(what + " from", path);
}

}  // namespace fhd::io

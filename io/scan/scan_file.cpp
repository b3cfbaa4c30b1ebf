#include "io/scan/scan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "io/files/in_reader.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/scan/hdf5_trajectory.hpp"
#include "io/scan/mrd/readout.hpp"
#include "io/scan/outside_pieces.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "io/scan/zero_samples.hpp"
#include "recon/error.hpp"

namespace fhd::io {

namespace fs = std::filesystem;

std::vector<std::pair<std::string, std::string>> OutsidePieces::given() const {
  std::vector<std::pair<std::string, std::string>> pieces;
  const auto add = [&](const char* what, const std::string& path) {
    if (!path.empty()) pieces.emplace_back(what, path);
  };
  add("trajectory", trajectory);
  add("sensitivity maps", sensitivity_maps);
  add("noise", noise);
  add("field map", field_map);
  return pieces;
}

std::string_view name_of(TimeOrigin origin) {
  switch (origin) {
    case TimeOrigin::excitation:
      return "the excitation";
    case TimeOrigin::readout_start:
      return "the start of each readout";
    default:
      return "a moment that the file does not tell";
  }
}

Geometry apply_options(Geometry& geometry, const ReadOptions& options) {
  Geometry of_unit = geometry;
  if (options.matrix_size) geometry.matrix_size = *options.matrix_size;
  if (options.fov_mm)
    for (int axis = 0; axis < 3; ++axis)
      if ((*options.fov_mm)[axis] > 0) geometry.fov_mm[axis] = (*options.fov_mm)[axis];
  of_unit.fov_mm = geometry.fov_mm;
  return of_unit;
}

std::string unit_of_options(TrajectoryUnit unit) {
  return "The trajectory is taken to be in " + std::string(name_of(unit)) + ", as --trajectory-unit says.";
}

std::array<int, 3> matrix_of(const std::array<double, 3>& largest_k, const std::string& subject,
                             std::vector<std::string>& inferred) {
  std::array<int, 3> n{1, 1, 1};
  const double extent = *std::max_element(largest_k.begin(), largest_k.end());
  if (extent > 0 && extent <= edge_rounding * std::numbers::pi)  // radians/voxel, kmax or cycles/voxel
    throw Error(
        subject, "k-space positions in cycles/FOV of a matrix of more than 6 voxels",
        fmt::format("|k| up to {:.4g}", extent),
        "give --matrix X,Y,Z with --trajectory-unit cycles/voxel, radians/voxel or kmax (or cycles/FOV)");
  for (int axis = 0; axis < 3; ++axis)
    if (std::isfinite(largest_k[axis]))
      n[axis] = std::max(1, static_cast<int>(std::min(2 * std::ceil(largest_k[axis] * 0.999), 1e6)));
  inferred.push_back(fmt::format("The matrix {} x {} x {} is twice the largest |k|.", n[0], n[1], n[2]));
  return n;
}

void note_ignored_third_axis(const std::array<double, 3>& largest_k, const Geometry& geometry,
                             std::vector<std::string>& inferred) {
  if (geometry.matrix_size[2] == 1 && largest_k[2] > 0)
    inferred.emplace_back("The third axis of the trajectory is ignored: the matrix has one voxel along z.");
}

std::array<double, 3> largest_magnitude(const Array<double>& k) {
  std::array<double, 3> largest{};
  const auto samples = k.extent(1);
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m)
      largest[axis] = std::max(largest[axis], std::abs(k[axis * samples + m]));
  return largest;
}

bool lies_on_grid(const Trajectory& trajectory) {
  return std::all_of(trajectory.k.begin(), trajectory.k.end(),
                     [](double k) { return std::abs(k - std::round(k)) <= 1e-3; });
}

void convert_to_cycles_per_fov(Array<double>& k, TrajectoryUnit unit, const Geometry& geometry,
                               const std::string& subject) {
  const auto scale = scale_to_cycles_per_fov(unit, {geometry}, subject);
  const auto samples = k.extent(1);
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) k[axis * samples + m] *= scale[axis];
}

std::optional<std::string> missing_fov(const Geometry& geometry) {
  std::string axes;
  for (int axis = 0; axis < 3; ++axis)
    if (geometry.fov_mm[axis] == 0 && geometry.matrix_size[axis] > 1)
      axes += std::string(axes.empty() ? "" : ", ") + "xyz"[axis];
  if (axes.empty()) return std::nullopt;
  return "The FOV along " + axes +
         " is unknown: images will have voxels of 1 mm there; --fov-mm X,Y,Z supplies it.";
}

bool are_axes(const Geometry& geometry) {
  const std::array directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < 3; ++i) product += directions[a][i] * directions[b][i];
      if (!(std::abs(product - (a == b ? 1 : 0)) <= 0.01)) return false;
    }
  return true;
}

void note_time_origin(const ScanSummary& summary, Scan& scan) {
  if (!scan.sample_time_s || summary.time_origin == TimeOrigin::excitation) return;
  add_once(scan.messages, {"times", Severity::note,
                           fmt::format("sample times counted from {}: the phase of the image is that of this "
                                       "moment, not of the excitation",
                                       name_of(summary.time_origin))});
}

void require_volume(const ScanSummary& summary, std::int64_t slice, std::int64_t repetition) {
  if (slice < 0 || slice >= summary.slice_count)
    throw Error(summary.path, "a slice from 0 to " + std::to_string(summary.slice_count - 1),
                std::to_string(slice));
  if (repetition < 0 || repetition >= summary.repetition_count)
    throw Error(summary.path, "a repetition from 0 to " + std::to_string(summary.repetition_count - 1),
                std::to_string(repetition));
}

void require_consistent(const ScanSeries& series, const std::string& subject) {
  const auto expected = series.repetition_count * series.slice_count;
  if (expected < 1 || expected != static_cast<std::int64_t>(series.scans.size()))
    throw Error(subject, std::to_string(expected) + " scans [repetition][slice]",
                std::to_string(series.scans.size()));
  const auto& first = series.scans.front();
  for (const auto& scan : series.scans) {
    scan.validate(subject);
    if (scan.kspace.coil_count() != first.kspace.coil_count() ||
        scan.geometry.matrix_size != first.geometry.matrix_size)
      throw Error(subject, "the same coils and matrix in every slice and repetition", "different ones",
                  "convert them one by one");
  }
}

bool have_one_trajectory(const ScanSeries& series, const std::string& subject) {
  const auto& first = series.scans.front().trajectory.k;
  bool one = true;
  for (const auto& scan : series.scans) {
    const auto& k = scan.trajectory.k;
    if (k.size() != first.size())
      throw Error(subject, "as many samples in every slice and repetition", "different numbers",
                  "write ISMRMRD, or one slice or repetition only");
    one = one && std::equal(k.begin(), k.end(), first.begin());
  }
  return one;
}

Sentences lost_parts(const Scan& scan, bool with_field_map_and_times) {
  Sentences lost;
  const bool in_double =
      !scan.kspace.in_double.empty() || (scan.sensitivity_maps && !scan.sensitivity_maps->in_double.empty());
  if (in_double) lost.emplace_back("Values are rounded to single precision.");
  if (with_field_map_and_times && scan.field_map) lost.emplace_back("The field map is not written.");
  if (scan.noise) lost.emplace_back("The noise is not written.");
  if (scan.calibration) lost.emplace_back("The separate calibration readouts are not written.");
  if (with_field_map_and_times && scan.sample_time_s) lost.emplace_back("The sample times are not written.");
  if (scan.cropped_matrix_size != std::array<int, 3>{})
    lost.emplace_back("The matrix to crop to is not written.");
  return lost;
}

std::int64_t piece_length(std::int64_t samples, std::int64_t readout_length, std::int64_t longest) {
  if (readout_length > 0 && readout_length <= longest && samples % readout_length == 0) return readout_length;
  const auto fewest = (samples + longest - 1) / longest;
  for (auto pieces = fewest; pieces <= 2 * fewest; ++pieces)
    if (samples % pieces == 0) return samples / pieces;
  return longest;
}

namespace {

ScanSource open_as_stored(const std::string& path, const ReadOptions& options) {
  std::error_code status;
  require_reachable(path);
  if (fs::is_directory(path, status)) return open_impatient(path, options);
  if (is_bart(path)) return open_bart(path, options);
  const auto file = hdf5::File::open(path);
  if (file.has("/kspace") || file.has(trajectory_name)) return open_fhd(path, options);
  if (!options.group.empty() || file.has("/dataset") || !ismrmrd_groups(file).empty())
    return open_ismrmrd(path, options);
  throw Error(path, "a scan: '/dataset' (ISMRMRD) or '/kspace' and '/trajectory' (fhd)",
              "an HDF5 file without them",
              file.has("/image") ? "it holds images: give the scan that they were made of" : "");
}

}  // namespace

bool has_count_of_volumes(const ScanSummary& summary) {
  return summary.slice_count >= 1 && summary.repetition_count >= 1 && summary.slice_count <= most_volumes &&
         summary.repetition_count <= most_volumes / summary.slice_count;
}

namespace {

/// Throws Error unless each length is in bounds, or 0: not known.
void require_fov(const ScanSummary& summary) {
  for (int axis = 0; axis < 3; ++axis) {
    const double length = summary.geometry.fov_mm[axis];
    if (length == 0 || (length >= least_fov_mm && length <= largest_fov_mm)) continue;
    throw Error(summary.path, "a FOV from 0.001 to 100000 mm along each axis, or 0 where it is not known",
                fmt::format("{:g} mm along {}", length, "xyz"[axis]), "give it with --fov-mm X,Y,Z");
  }
}

/// Throws Error where there are more than most_volumes.
void require_volumes(const ScanSummary& summary) {
  if (has_count_of_volumes(summary)) return;
  throw Error(summary.path, fmt::format("at most {} slices of all repetitions", most_volumes),
              fmt::format("{} slices of {} repetitions", summary.slice_count, summary.repetition_count),
              "the file is damaged, or to be split");
}

/// Puts in their places the pieces of `options`; throws Error unless the summary is one of a scan.
std::unique_ptr<ScanFile> with_pieces(ScanSource source, const ReadOptions& options) {
  auto file = std::make_unique<ScanFile>(std::move(source));
  add_outside_pieces(*file, options);
  require_fov(file->summary());
  require_volumes(file->summary());
  return file;
}

}  // namespace

std::unique_ptr<ScanFile> open_scan_here(const std::string& path, const ReadOptions& options) {
  const hdf5::LibraryLock lock;
  return with_pieces(open_as_stored(path, options), options);
}

Scan ScanFile::read(std::int64_t slice, std::int64_t repetition) {
  auto& summary = source_.summary;
  VolumeContext context{slice, repetition, stored_readout_length_};
  auto scan = read_unchanged(summary.stamps, [&] {
    auto volume = source_.read(slice, repetition);
    for (const auto& correct : corrections_) correct(volume, context);
    return volume;
  });
  std::atomic_ref(summary.readout_length) = context.readout_length;
  return scan;
}

namespace {

/// Of a directory the files that are read: results may be written beside them.
InputStamps stamps_of_scan(const std::string& path, const ReadOptions& options) {
  auto files = inputs_of_scan(path, options);
  std::error_code status;
  const auto inside = fs::is_directory(path, status) ? files_of_scan(path) : std::vector<std::string>{};
  std::erase_if(files, [&](const std::string& file) {
    return !file.ends_with(".dat") && std::find(inside.begin(), inside.end(), file) != inside.end();
  });
  return InputStamps(files);
}

}  // namespace

std::unique_ptr<ScanFile> open_scan(const std::string& path, const ReadOptions& options) {
  complete_interrupted_set(path);
  auto stamps = stamps_of_scan(path, options);
  auto file = read_unchanged(stamps, [&] { return in_reader<&open_scan_here>(path, options); });
  file->editable_summary().stamps = std::move(stamps);
  if (!options.zeros_are_measured) file->add(leave_out_zeros);
  return file;
}

std::unique_ptr<ScanFile> as_read(ScanSource source, const ReadOptions& options) {
  auto file = with_pieces(std::move(source), options);
  if (!options.zeros_are_measured) file->add(leave_out_zeros);
  return file;
}

ScanSeries read_all(ScanFile& file) {
  const auto& summary = file.summary();
  ScanSeries series{
      summary.repetition_count, summary.slice_count, summary.readout_length, {}, summary.time_origin};
  for (std::int64_t repetition = 0; repetition < series.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < series.slice_count; ++slice)
      series.scans.push_back(file.read(slice, repetition));
  return series;
}

namespace {

/// Throws Error where a format has no place for so many volumes. Before they are read.
void require_room(ScanFormat format, std::int64_t slices, std::int64_t repetitions, std::int64_t coils,
                  const std::string& path) {
  if (format == ScanFormat::ismrmrd && std::max({slices, repetitions, coils}) > mrd::largest_count)
    throw Error(path, fmt::format("at most {} slices, repetitions and coils (ISMRMRD)", mrd::largest_count),
                fmt::format("{} slices, {} repetitions and {} coils", slices, repetitions, coils),
                "write the fhd layout: NAME.h5");
  if (format == ScanFormat::impatient && slices * repetitions != 1)
    throw Error(path, "one slice and one repetition (IMPATIENT)",
                fmt::format("{} volumes", slices * repetitions), "write another format");
}

}  // namespace

std::vector<std::string> write_scan(FileSet& files, const std::string& path, ScanFormat format,
                                    const ScanSeries& series) {
  require_consistent(series, path);
  require_room(format, series.slice_count, series.repetition_count, series.scans.front().kspace.coil_count(),
               path);
  switch (format) {
    case ScanFormat::fhd:
      return write_fhd(files, path, series);
    case ScanFormat::ismrmrd:
      return write_ismrmrd(files, path, series);
    case ScanFormat::bart:
      return write_bart(files, path, series);
    case ScanFormat::impatient:
      return write_impatient(files, path, series);
  }
  return {};
}

std::vector<std::string> write_scan(const std::string& path, ScanFormat format, const ScanSeries& series) {
  const OutputLock lock(path);
  FileSet files(lock);
  auto lost = write_scan(files, path, format, series);
  files.commit();
  return lost;
}

std::vector<std::string> convert_scan(ScanFile& file, const std::string& from, const ReadOptions& options,
                                      const std::string& path, ScanFormat format) {
  const auto& summary = file.summary();
  require_room(format, summary.slice_count, summary.repetition_count, summary.coil_count, path);
  const bool copies = format == ScanFormat::ismrmrd && summary.format == "ISMRMRD";
  if (!copies || !summary.outside_pieces.empty()) {
    auto lost = write_scan(path, format, read_all(file));
    if (copies)
      lost.emplace_back("Readouts are made anew, without flags and counters: pieces come from other files.");
    return lost;
  }
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice)
      file.read(slice, repetition);  // is valid
  const OutputLock lock(path);
  FileSet files(lock);
  auto lost = read_unchanged(summary.stamps, [&] { return copy_ismrmrd(files, from, options, path); });
  files.commit();
  return lost;
}

std::vector<std::string> files_of_scan(const std::string& path) {
  std::vector<std::string> files;
  std::error_code status;
  if (fs::is_directory(path, status)) {
    for (fs::directory_iterator entry(path, status), end; !status && entry != end; entry.increment(status))
      if (entry->is_regular_file(status)) files.push_back(entry->path().string());
    if (status) throw Error(path, "a readable directory", status.message());
    std::sort(files.begin(), files.end());
  } else if (is_bart(path)) {
    for (const char* part : {"", "_traj", "_sens"})
      for (const char* ending : {".cfl", ".hdr"})
        if (const auto name = bart_name(path) + part + ending; fs::exists(name, status))
          files.push_back(name);
  }
  if (files.empty()) files.push_back(path);
  return files;
}

std::vector<std::string> inputs_of_scan(const std::string& path, const ReadOptions& options) {
  std::vector<std::string> inputs;
  const auto add = [&](const std::string& name) {
    inputs.push_back(name);
    for (auto& file : files_of_scan(name)) inputs.push_back(std::move(file));
  };
  add(path);
  for (const auto& [what, piece] : options.outside.given()) add(piece);
  return inputs;
}

}  // namespace fhd::io

#include "io/scan/scan_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "io/scan/trajectory_axes.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {

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
  return fmt::format("The trajectory is taken to be in {}, as {} says.", name_of(unit),
                     option_words("trajectory-unit"));
}

TrajectoryUnit unit_of_format(const char* format, const ReadOptions& options, Sentences& inferred) {
  if (const auto told = options.trajectory_unit; told != TrajectoryUnit::automatic) {
    inferred.push_back(unit_of_options(told));
    return told;
  }
  say(inferred, "The trajectory is taken to be in cycles/FOV, the unit of {}.", format);
  return TrajectoryUnit::cycles_per_fov;
}

bool turn_as_found(ScanSummary& summary, const ReadOptions& options, const std::string& subject,
                   Array<double>& k) {
  AxesEvidence evidence;
  const auto geometry = along_gradients(summary, 0);
  const auto samples = k.extent(1);
  bool is_weight = true;
  for (std::int64_t m = 0; m < samples; ++m) {
    evidence.add(0, {k[m], k[samples + m], k[2 * samples + m]}, directions_of(geometry));
    is_weight = is_weight && k[2 * samples + m] >= 0;
  }
  const auto axes = find_axes(options.trajectory_axes, evidence, summary.unit_geometry.matrix_size[2] == 1,
                              is_weight, summary.states_directions, subject);
  if (axes.in_magnet) turn_into_image(k, geometry);
  if (!axes.sentence.empty()) summary.inferred.push_back(axes.sentence);
  return axes.in_magnet;
}

bool look_at_trajectory(ScanSummary& summary, TrajectoryUnit unit, const ReadOptions& options,
                        const std::string& subject, Array<double>& k) {
  const bool in_magnet = turn_as_found(summary, options, subject, k);
  const auto largest = largest_magnitude(k);
  if (options.trajectory_unit == TrajectoryUnit::automatic)
    require_credible_unit(unit, largest, summary.unit_geometry, subject);
  note_ignored_third_axis(largest, summary.unit_geometry, summary.inferred);
  convert_to_cycles_per_fov(k, unit, summary.unit_geometry, subject);
  summary.cartesian = lies_on_grid({k});
  return in_magnet;
}

std::array<int, 3> matrix_of(const std::array<double, 3>& largest_k, const std::string& subject,
                             std::vector<std::string>& inferred) {
  std::array<int, 3> n{1, 1, 1};
  const double extent = *std::max_element(largest_k.begin(), largest_k.end());
  if (extent > 0 && extent <= edge_rounding * std::numbers::pi)  // radians/voxel, kmax or cycles/voxel
    throw Error(subject, "k-space positions in cycles/FOV of a matrix of more than 6 voxels",
                fmt::format("|k| up to {:.4g}", extent),
                "give " + option_words("matrix", "X,Y,Z") + " with " +
                    option_words("trajectory-unit", "cycles/voxel, radians/voxel or kmax (or cycles/FOV)"));
  for (int axis = 0; axis < 3; ++axis)
    if (std::isfinite(largest_k[axis]))
      n[axis] = std::max(1, static_cast<int>(std::min(2 * std::ceil(largest_k[axis] * 0.999), 1e6)));
  say(inferred, "The matrix {} x {} x {} is twice the largest |k|.", n[0], n[1], n[2]);
  return n;
}

void note_ignored_third_axis(const std::array<double, 3>& largest_k, const Geometry& geometry,
                             std::vector<std::string>& inferred) {
  constexpr double rounding = 1e-5;
  if (geometry.matrix_size[2] == 1 && largest_k[2] > rounding * std::max(largest_k[0], largest_k[1]))
    say(inferred, "The third axis of the trajectory is ignored: the matrix has one voxel along z.");
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
  return std::ranges::all_of(trajectory.k, [](double k) { return std::abs(k - std::round(k)) <= 1e-3; });
}

void multiply_axes(Array<double>& k, const std::array<double, 3>& scale) {
  const auto samples = k.extent(1);
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) k[axis * samples + m] *= scale[axis];
}

void convert_to_cycles_per_fov(Array<double>& k, TrajectoryUnit unit, const Geometry& geometry,
                               const std::string& subject) {
  multiply_axes(k, scale_to_cycles_per_fov(unit, {geometry}, subject));
}

Geometry shown_geometry(const Scan& scan) {
  Geometry geometry = scan.geometry;
  for (int axis = 0; axis < 3; ++axis)
    if (const int cropped = scan.cropped_matrix_size[axis]; cropped > 0) {
      geometry.fov_mm[axis] = geometry.fov_mm[axis] * cropped / geometry.matrix_size[axis];
      geometry.matrix_size[axis] = cropped;
    }
  return geometry;
}

void note_missing_fov(ScanSummary& summary) {
  std::string axes;
  for (int axis = 0; axis < 3; ++axis)
    if (summary.geometry.fov_mm[axis] == 0 && summary.geometry.matrix_size[axis] > 1)
      axes += std::string(axes.empty() ? "" : ", ") + "xyz"[axis];
  if (!axes.empty())
    say(summary.missing,
        "The FOV along {} is unknown: images will have voxels of 1 mm there; {} supplies it.", axes,
        option_words("fov-mm", "X,Y,Z"));
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

bool states_place(const Geometry& geometry) {
  const Geometry silent;
  return geometry.position_mm != silent.position_mm || geometry.read_direction != silent.read_direction ||
         geometry.phase_direction != silent.phase_direction ||
         geometry.slice_direction != silent.slice_direction;
}

bool are_in_one_place(const Geometry& a, const Geometry& b) {
  const auto of_a = voxel_to_lps_mm(a), of_b = voxel_to_lps_mm(b);
  const auto length = [](double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); };
  double voxel = INFINITY;
  for (std::size_t axis = 0; axis < 3; ++axis)
    voxel = std::min(voxel, length(of_a[0][axis], of_a[1][axis], of_a[2][axis]));
  for (std::size_t axis = 0; axis < 4; ++axis) {  // the ends of the axes; last, where they begin
    const auto apart = [&](std::size_t row) {
      const double along = axis < 3 ? (of_a[row][axis] - of_b[row][axis]) * a.matrix_size[axis] : 0;
      return of_a[row][3] - of_b[row][3] + along;
    };
    if (!(length(apart(0), apart(1), apart(2)) <= 0.1 * voxel)) return false;
  }
  return true;
}

void note_time_origin(const ScanSummary& summary, Scan& scan) {
  if (!scan.sample_time_s || summary.time_origin == TimeOrigin::excitation) return;
  add_once(scan.messages,
           {"times", scan.decay_per_s ? Severity::warning : Severity::note,
            fmt::format("sample times counted from {}: the {} of the image {} of this moment, not of the excitation",
                        name_of(summary.time_origin), scan.decay_per_s ? "phase and intensity" : "phase",
                        scan.decay_per_s ? "are those" : "is that")});
}

std::int64_t slice_by_counter(const ScanSummary& summary, std::int64_t slice) {
  const auto& counters = summary.slice_counters;
  if (counters.empty()) return slice;
  const int own = counters[static_cast<std::size_t>(slice)];
  return std::ranges::count_if(counters, [own](int counter) { return counter < own; });
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
  if (in_double) say(lost, "Values are rounded to single precision.");
  if (with_field_map_and_times && scan.field_map) say(lost, "The field map is not written.");
  if (scan.decay_per_s) say(lost, "The map of decay is not written.");
  if (scan.fields) say(lost, "The fields are not written.");
  if (scan.noise) say(lost, "The noise is not written.");
  if (scan.calibration) say(lost, "The separate calibration readouts are not written.");
  if (with_field_map_and_times && scan.sample_time_s) say(lost, "The sample times are not written.");
  if (scan.cropped_matrix_size != std::array<int, 3>{}) say(lost, "The matrix to crop to is not written.");
  return lost;
}

std::int64_t piece_length(std::int64_t samples, std::int64_t readout_length, std::int64_t longest) {
  if (readout_length > 0 && readout_length <= longest && samples % readout_length == 0) return readout_length;
  const auto fewest = (samples + longest - 1) / longest;
  for (auto pieces = fewest; pieces <= 2 * fewest; ++pieces)
    if (samples % pieces == 0) return samples / pieces;
  return longest;
}

}  // namespace fhd::io

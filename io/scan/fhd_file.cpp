// The fhd scan layout: HDF5. Real numbers may be of any type;
// complex numbers are a compound of two floats {r, i} (h5py and NumPy write it) or {real, imag}, or real
// numbers with a last axis of 2. Numbers of 64 bits are used as they are where ReadOptions::precision is double;
// those that were read so are written so.
//
//   /kspace            complex  [coil][sample], or [repetition][slice][coil][sample]
//   /trajectory        real     [sample][axis] with axes x, y or x, y, z,
//                               or [repetition][slice][sample][axis]
//     attribute unit   text     cycles/FOV, cycles/voxel, radians/voxel, 1/m, 1/mm, radians/m, radians/mm or kmax; required
//
// and the optional maps of io/scan/hdf5_maps.hpp: /sensitivity_maps, /field_map, /sample_time_s.
//
// Attributes of the root: matrix_size (x, y, z), and optionally fov_mm (x, y, z), position_mm (3 numbers, or
// 3 per slice), read_direction, phase_direction, slice_direction (patient LPS; likewise), cropped_matrix_size (x, y,
// z), readout_length (samples). Matrices and FOVs of two numbers are 2D. Signs and centring are those of
// recon/domain/scan.hpp.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/files/file_set.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_geometry.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_axes.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using hdf5::Extents;

/// Reads x, y and z. Where z is left out, it is `z`, and `inferred` says so: `meaning`; null: three are needed, or three
/// for each of `count`.
std::vector<double> three_numbers(const hdf5::File& file, const char* name, Sentences& inferred,
                                  const char* meaning = nullptr, double z = 0, std::int64_t count = 1) {
  auto numbers = file.number_attribute("/", name);
  if (meaning != nullptr && numbers.size() == 2) {
    numbers.push_back(z);
    say(inferred, "The attribute '{}' has two numbers: {}.", name, meaning);
  }
  if (const auto found = std::ssize(numbers); found != 3 && found != 3 * count)
    throw Error(file.subject("/") + " attribute '" + name + "'", "3 numbers (x, y, z)",
                std::to_string(found));
  return numbers;
}

std::array<int, 3> whole_numbers(const hdf5::File& file, const char* name, Sentences& inferred,
                                 const char* meaning, double z) {
  std::array<int, 3> whole{};
  const auto numbers = three_numbers(file, name, inferred, meaning, z);
  for (int axis = 0; axis < 3; ++axis) {
    if (!(numbers[axis] >= 0 && numbers[axis] <= largest_matrix &&
          numbers[axis] == std::floor(numbers[axis])))
      throw Error(file.subject("/") + " attribute '" + name + "'",
                  fmt::format("whole numbers from 0 to {}", largest_matrix), std::to_string(numbers[axis]));
    whole[axis] = static_cast<int>(numbers[axis]);
  }
  return whole;
}

class FhdFile {
 public:
  FhdFile(const std::string& path, const ReadOptions& options)
      : file_(hdf5::File::open(path)),
        precision_(options.precision),
        has_trajectory_(options.outside.trajectory.empty()) {
    summary_.path = path;
    summary_.format = "fhd";
    if (!file_.has("/kspace") || (has_trajectory_ && !file_.has(trajectory_name)))
      throw Error(
          file_.subject(file_.has("/kspace") ? trajectory_name : "/kspace"), "a dataset", "none",
          "the fhd layout needs /kspace and /trajectory (or " + option_words("trajectory", "FILE") + ")");
    read_extents();
    read_geometry(options);
    maps_.emplace(file_, summary_);
    if (file_.has_attribute("/", "readout_length")) {
      const auto length = file_.number_attribute("/", "readout_length");
      if (length.size() == 1 && length[0] >= 1 && length[0] <= static_cast<double>(summary_.samples_per_scan))
        summary_.readout_length = static_cast<std::int64_t>(length[0]);
    }
    if (has_trajectory_) read_unit(options);
    note_missing_fov(summary_);
  }

  const ScanSummary& summary() const { return summary_; }

  Scan read(std::int64_t slice, std::int64_t repetition) {
    hdf5::be_silent();
    Scan scan;
    scan.geometry = geometry_of(slice);
    scan.cropped_matrix_size = cropped_matrix_size_;
    scan.trajectory = has_trajectory_ ? read_trajectory(slice, repetition)
                                      : Trajectory{Array<double>({3, summary_.samples_per_scan})};
    const auto kspace = file_.dataset("/kspace");
    const Shape coils_samples{summary_.coil_count, summary_.samples_per_scan};
    kspace.read(coils_samples, has_leading_axes_ ? Extents{repetition, slice} : Extents{}, precision_,
                scan.kspace.values, scan.kspace.in_double);
    maps_->read(file_, file_matrix_size_, slice, repetition, precision_, scan);
    return scan;
  }

 private:
  void read_extents() {
    const auto extents = file_.dataset("/kspace").complex_extents();
    if (extents.size() != 2 && extents.size() != 4)
      throw Error(file_.subject("/kspace"), "[coil][sample] or [repetition][slice][coil][sample]",
                  hdf5::text_of(extents));
    if (std::find(extents.begin(), extents.end(), 0) != extents.end())
      throw Error(file_.subject("/kspace"), "at least one sample", hdf5::text_of(extents));
    std::int64_t left = most_samples;
    for (const auto extent : extents) left /= extent;
    if (left == 0)
      throw Error(file_.subject("/kspace"), "at most 2^48 samples in all", hdf5::text_of(extents));
    has_leading_axes_ = extents.size() == 4;
    if (has_leading_axes_) {
      summary_.repetition_count = extents[0];
      summary_.slice_count = extents[1];
    }
    summary_.coil_count = extents[extents.size() - 2];
    summary_.samples_per_scan = extents.back();
  }

  void read_geometry(const ReadOptions& options) {
    auto& geometry = summary_.geometry;
    auto& inferred = summary_.inferred;
    if (file_.has_attribute("/", "matrix_size"))
      geometry.matrix_size = whole_numbers(file_, "matrix_size", inferred, "one voxel along z", 1);
    else if (options.matrix_size)
      geometry.matrix_size = *options.matrix_size;
    else
      throw Error(file_.subject("/") + " attribute 'matrix_size'", "3 numbers (x, y, z)", "none",
                  "give it with " + option_words("matrix", "X,Y,Z"));
    file_matrix_size_ = geometry.matrix_size;

    const auto read_vector = [&](const char* name, std::array<double, 3>& vector,
                                 const char* meaning = nullptr) {
      if (file_.has_attribute("/", name))
        std::ranges::copy(three_numbers(file_, name, inferred, meaning), vector.begin());
    };
    read_vector("fov_mm", geometry.fov_mm, "the FOV along z is unknown");
    summary_.states_directions =
        file_.has_attribute("/", "read_direction") || file_.has_attribute("/", "phase_direction");
    read_slices();
    if (file_.has_attribute("/", "cropped_matrix_size") && !options.matrix_size)
      cropped_matrix_size_ = whole_numbers(file_, "cropped_matrix_size", inferred, "z is not cropped", 0);
    summary_.unit_geometry = apply_options(geometry, options);
    for (auto& slice : summary_.slice_geometries)
      slice.matrix_size = geometry.matrix_size, slice.fov_mm = geometry.fov_mm;
  }

  /// Reads directions and positions: three numbers, or three for each slice.
  void read_slices() {
    auto& geometry = summary_.geometry;
    auto& slices = summary_.slice_geometries;
    constexpr std::pair<const char*, std::array<double, 3> Geometry::*> attributes[]{
        {"read_direction", &Geometry::read_direction},
        {"phase_direction", &Geometry::phase_direction},
        {"slice_direction", &Geometry::slice_direction},
        {"position_mm", &Geometry::position_mm}};
    for (const auto& [name, vector] : attributes) {
      if (!file_.has_attribute("/", name)) continue;
      const auto numbers = three_numbers(file_, name, summary_.inferred, nullptr, 0, summary_.slice_count);
      if (!std::ranges::all_of(numbers, [](double number) { return std::abs(number) <= 1e6; }))
        throw Error(file_.subject("/") + " attribute '" + name + "'", "finite numbers up to 1e6", "others");
      if (numbers.size() > 3 && slices.empty())
        slices.assign(static_cast<std::size_t>(summary_.slice_count), geometry);
      std::copy_n(numbers.begin(), 3, (geometry.*vector).begin());
      for (std::size_t i = 0; i < slices.size(); ++i)
        std::copy_n(numbers.begin() + (numbers.size() > 3 ? 3 * static_cast<std::ptrdiff_t>(i) : 0), 3,
                    (slices[i].*vector).begin());
    }
    if (!are_axes(geometry) || !std::ranges::all_of(slices, are_axes))
      throw Error(file_.subject("/") + " attributes 'read_direction', 'phase_direction', 'slice_direction'",
                  "unit vectors at right angles", "others", "correct them, or leave all three out");
  }

  void read_unit(const ReadOptions& options) {
    unit_ = unit_of_trajectory(file_, options.trajectory_unit, summary_.inferred);
    summary_.facts.emplace_back("trajectory unit", file_.has_attribute(trajectory_name, "unit")
                                                       ? file_.text_attribute(trajectory_name, "unit")
                                                       : "not stated");
    auto k = stored_trajectory(0, 0);
    in_magnet_ = look_at_trajectory(summary_, unit_, options, file_.subject(trajectory_name), k);
  }

  Array<double> stored_trajectory(std::int64_t slice, std::int64_t repetition) const {
    auto k = read_stored_trajectory(file_, slice, repetition);
    const auto extents = file_.dataset(trajectory_name).extents();
    if (k.extent(1) != summary_.samples_per_scan)
      throw Error(file_.subject(trajectory_name),
                  fmt::format("[{}][{}]", summary_.samples_per_scan, extents.back()), hdf5::text_of(extents));
    return k;
  }

  const Geometry& geometry_of(std::int64_t slice) const {
    const auto& slices = summary_.slice_geometries;
    return slices.empty() ? summary_.geometry : slices[static_cast<std::size_t>(slice)];
  }

  Trajectory read_trajectory(std::int64_t slice, std::int64_t repetition) const {
    auto k = stored_trajectory(slice, repetition);
    if (in_magnet_) turn_into_image(k, geometry_of(slice));
    convert_to_cycles_per_fov(k, unit_, summary_.unit_geometry, file_.subject(trajectory_name));
    return {std::move(k)};
  }

  hdf5::File file_;
  std::optional<MapReader> maps_;
  Precision precision_;
  bool has_trajectory_;  ///< false: another file holds it (ReadOptions::outside)
  ScanSummary summary_;
  bool has_leading_axes_ = false;
  TrajectoryUnit unit_ = TrajectoryUnit::automatic;
  bool in_magnet_ = false;  ///< the trajectory is in the axes of the magnet
  std::array<int, 3> file_matrix_size_{}, cropped_matrix_size_{};
};

/// [axis][sample] -> [sample][axis]
Array<double> sample_major(const Array<double>& k) {
  const auto samples = k.extent(1);
  Array<double> result({samples, 3});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) result[m * 3 + axis] = k[axis * samples + m];
  return result;
}

}  // namespace

ScanSource open_fhd(const std::string& path, const ReadOptions& options) {
  return source_of(std::make_shared<FhdFile>(path, options));
}

Sentences write_fhd(FileSet& files, const std::string& path, const ScanSeries& series) {
  const auto& first = series.scans.front();
  const auto one_or_none = [](bool one) { return one ? Shared::by_all : Shared::by_none; };
  files.add(path);
  auto file = hdf5::File::create(files.back().temporary(), path);
  const bool one_trajectory = have_one_trajectory(series, path);
  write_volumes(
      file, "/kspace", series, one_or_none(series.scans.size() == 1),
      [](const Scan& scan) -> auto& { return scan.kspace.values; },
      [](const Scan& scan) -> auto& { return scan.kspace.in_double; });
  write_volumes(file, trajectory_name, series, one_or_none(one_trajectory),
                [](const Scan& scan) { return sample_major(scan.trajectory.k); });
  file.write_attribute(trajectory_name, "unit", name_of(TrajectoryUnit::cycles_per_fov));
  write_maps(file, series);

  write_geometry(file, "/", geometries_of_slices(series.scans, series.slice_count));
  if (first.cropped_matrix_size != std::array<int, 3>{})
    file.write_attribute(
        "/", "cropped_matrix_size",
        std::vector<int>(first.cropped_matrix_size.begin(), first.cropped_matrix_size.end()));
  if (series.readout_length > 0)
    file.write_attribute("/", "readout_length", std::vector<int>{static_cast<int>(series.readout_length)});
  file.close();
  return lost_calibration(series);
}

}  // namespace fhd::io

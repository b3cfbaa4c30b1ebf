#include <fmt/format.h>

#include <numbers>
#include <optional>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/nifti_volume.hpp"
#include "io/scan/outside_pieces.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/domain/resampling.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// What is shown of a scan: without readout oversampling.
Geometry shown(const Scan& scan) {
  Geometry geometry = scan.geometry;
  for (int axis = 0; axis < 3; ++axis)
    if (const int cropped = scan.cropped_matrix_size[axis]; cropped > 0) {
      geometry.fov_mm[axis] *= static_cast<double>(cropped) / geometry.matrix_size[axis];
      geometry.matrix_size[axis] = cropped;
    }
  return geometry;
}

class OutsideFieldMap {
 public:
  OutsideFieldMap(const ReadOptions& options, ScanSummary& summary)
      : path_(options.outside.field_map),
        in_hz_(options.outside.field_map_unit == FieldMapUnit::hz),
        precision_(options.precision),
        replaces_(summary.has_field_map) {
    if (!summary.has_sample_time)
      throw Error(
          path_, "sample times in " + summary.path + ", without which no field map can be used", "none",
          "write them into an fhd HDF5 file ('fhd convert' makes one) as /sample_time_s, [sample], s");
    if (path_.ends_with(".nii") || path_.ends_with(".nii.gz"))
      open_nifti(summary);
    else
      open_hdf5(summary);
    scan_ = summary;
    summary.has_field_map = true;
  }

  void put_into(Scan& scan, std::int64_t slice, std::int64_t) {
    std::string how;
    scan.field_map_in_double = {};
    if (volume_)
      how = interpolate(scan);
    else
      read(scan, slice);
    scan.messages.push_back(
        {"field_map", Severity::note,
         fmt::format("the field map was taken from {}{}, in {}{}", path_,
                     replaces_ ? ", in place of the scan's own" : "", in_hz_ ? "Hz" : "rad/s", how)});
    note_time_origin(scan_, scan);
  }

 private:
  void open_nifti(const ScanSummary& summary) {
    volume_ = read_nifti_volume(path_);
    for (int axis = 0; axis < 3; ++axis)
      if (summary.geometry.matrix_size[axis] > 1 && !(summary.geometry.fov_mm[axis] > 0))
        throw Error(path_, "a known FOV of " + summary.path + ", to find its voxels in the field map",
                    "none along " + std::string(1, "xyz"[axis]), "give it with --fov-mm X,Y,Z");
  }

  void open_hdf5(const ScanSummary& summary) {
    file_.emplace(hdf5::File::open(path_));
    if (!holds(*file_, field_name))
      throw Error(path_, "a field map: /field_map [z][y][x], or a NIfTI image (.nii, .nii.gz)",
                  "an HDF5 file without one");
    const auto& n = summary.geometry.matrix_size;
    const hdf5::Extents expected{n[2], n[1], n[0]};
    auto found = file_->dataset(field_name).extents();
    const auto stored = hdf5::text_of(found);
    has_slices_ = found.size() == 4 && found.front() == summary.slice_count;
    if (has_slices_) found.erase(found.begin());
    if (found != expected)
      throw Error(file_->subject(field_name),
                  fmt::format("{}, the matrix of {}", hdf5::text_of(expected), summary.path), stored,
                  "give a field map on these voxels, or a NIfTI image of any");
  }

  double factor() const { return in_hz_ ? 2 * std::numbers::pi : 1; }

  /// On the voxels of the scan already.
  void read(Scan& scan, std::int64_t slice) const {
    auto omega =
        file_->dataset(field_name)
            .read<double>(scan.geometry.image_shape(), has_slices_ ? hdf5::Extents{slice} : hdf5::Extents{});
    for (double& value : omega) value *= factor();
    scan.field_map = converted<float>(omega);
    if (precision_ == Precision::double_precision) scan.field_map_in_double = std::move(omega);
  }

  /// Says what was done beside it.
  std::string interpolate(Scan& scan) const {
    const auto seen = interpolated_at_voxels(*volume_, shown(scan), path_);
    if (2 * seen.voxels_outside > seen.values.size())
      throw Error(
          path_, "a field map of the same place: at least half of the voxels of " + scan_.path,
          fmt::format("{} of {}", seen.values.size() - seen.voxels_outside, seen.values.size()),
          "check the affine map (sform, qform) of the one and position, directions and FOV of the other "
          "('fhd info')");
    auto [omega, outside] = interpolated_at_voxels(*volume_, scan.geometry, path_);
    for (float& value : omega) value = static_cast<float>(value * factor());
    const auto count = omega.size();
    scan.field_map = std::move(omega);
    std::string how = ", interpolated at the voxels";
    if (outside > 0)
      how += fmt::format("; {} of {} lie outside of it and have its nearest value", outside, count);
    return how;
  }

  std::string path_;
  bool in_hz_;
  Precision precision_;
  bool replaces_, has_slices_ = false;
  ScanSummary scan_;
  std::optional<Volume> volume_;
  std::optional<hdf5::File> file_;
};

}  // namespace

Correction open_outside_field_map(const ReadOptions& options, ScanSummary& summary) {
  return correction_of(std::make_shared<OutsideFieldMap>(options, summary));
}

}  // namespace fhd::io

#include "app/run/series_formats.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "io/files/atomic_file.hpp"
#include "io/result/dicom.hpp"
#include "io/result/ismrmrd_images.hpp"
#include "recon/error.hpp"

namespace fhd::app {

SeriesFormats::SeriesFormats(const RunOptions& options, const std::string& prefix)
    : dicom_(options.dicom ? prefix + "_dicom" : options.dicom_folder),
      ismrmrd_images_(options.ismrmrd_images ? prefix + "_images.h5" : options.ismrmrd_images_file) {}

void SeriesFormats::add_to(CLI::App& app) {
  const auto is_named = [](const std::string& name) {
    return name.empty() ? "expected a name, found none" : "";
  };
  app.add_option(
         "--dicom", dicom_,
         "also write the magnitudes as a DICOM series: a folder, new, empty or with an earlier series of "
         "this scan")
      ->type_name("DIR")
      ->check(is_named);
  app.add_option("--ismrmrd-images", ismrmrd_images_,
                 "also write the magnitudes as ISMRMRD images: /dataset/image_0 of this HDF5 file")
      ->type_name("FILE")
      ->check(is_named);
}

void SeriesFormats::check(const std::string& prefix, const std::vector<std::string>& inputs) const {
  if (!dicom_.empty()) {
    io::require_dicom();
    io::check_dicom_folder(dicom_, prefix, inputs);
  }
  if (ismrmrd_images_.empty()) return;
  io::check_ismrmrd_images(ismrmrd_images_, prefix, inputs);
  if (!dicom_.empty() && io::lies_in(ismrmrd_images_, dicom_))
    throw Error("--ismrmrd-images " + ismrmrd_images_, "a file outside of the folder of --dicom", dicom_);
}

void SeriesFormats::require_can(const io::ScanSummary& summary, const io::ChecksumInBackground& checksum,
                                bool force) const {
  if (!dicom_.empty()) {
    io::require_dicom_geometry(summary.geometry, summary.slice_count, summary.path);
    io::require_replaceable_dicom(dicom_, checksum, force);
  }
  if (!ismrmrd_images_.empty() && !force) io::require_replaceable_images(ismrmrd_images_, checksum);
}

void SeriesFormats::require_room(const std::array<int, 3>& matrix_size, const ScanResults& results) const {
  if (ismrmrd_images_.empty()) return;
  std::int64_t largest = 0;
  for (const auto& [repetition, slice] : results.volumes()) largest = std::max({largest, repetition, slice});
  io::require_ismrmrd_images_room(matrix_size, static_cast<std::int64_t>(results.volumes().size()), largest,
                                  results.path());
}

void SeriesFormats::add_to(ScanResults& results) const {
  if (!dicom_.empty()) results.add_dicom(dicom_);
  if (!ismrmrd_images_.empty()) results.add_ismrmrd_images(ismrmrd_images_);
}

std::vector<std::string> SeriesFormats::names() const {
  std::vector<std::string> names;
  if (!dicom_.empty()) names.push_back(dicom_ + (dicom_.back() == '/' ? "" : "/"));
  if (!ismrmrd_images_.empty()) names.push_back(ismrmrd_images_);
  return names;
}

}  // namespace fhd::app

#include "app/run/series_formats.hpp"

#include <algorithm>

#include "io/files/atomic_file.hpp"
#include "io/result/dicom.hpp"
#include "io/result/ismrmrd_images.hpp"
#include "recon/error.hpp"

namespace fhd::app {

SeriesFormats::SeriesFormats(const RunOptions& options, const std::string& prefix)
    : dicom_(options.dicom ? prefix + "_dicom" : options.dicom_folder),
      ismrmrd_images_(options.ismrmrd_images ? prefix + "_images.h5" : options.ismrmrd_images_file) {}

void SeriesFormats::require_scan(const io::ScanSummary& summary) const {
  if (dicom_.empty()) return;
  io::require_dicom();
  io::require_dicom_geometry(summary.geometry, summary.slice_count, summary.path);
}

void SeriesFormats::require_room(const ScanResults& results) const {
  if (ismrmrd_images_.empty()) return;
  std::int64_t largest = 0;
  for (const auto& [repetition, slice] : results.volumes()) largest = std::max({largest, repetition, slice});
  io::require_ismrmrd_images_room(results.matrix_size(), static_cast<std::int64_t>(results.volumes().size()),
                                  largest, results.path());
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

void SeriesFormats::require_replaceable(const io::ChecksumInBackground& checksum, bool force) const {
  if (!dicom_.empty()) io::require_replaceable_dicom(dicom_, checksum, force);
  if (!ismrmrd_images_.empty() && !force) io::require_replaceable_images(ismrmrd_images_, checksum);
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

#include "io/result/dicom.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <vector>

#include "io/files/installed_file.hpp"
#include "io/result/dicom/content.hpp"
#include "io/result/dicom/module.hpp"
#include "io/result/formats.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

/// The functions of fhd_dicom.so, which stays open.
struct DicomModule {
  dicom::Encode* encode = nullptr;
  dicom::ReadChecksum* read_checksum = nullptr;
};

DicomModule opened_module() {
  const fs::path path = installed_file("fhd_dicom.so");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string reason = dlerror();
    std::error_code unknown;
    throw Error("DICOM files", path.string() + ", which a build with DCMTK makes",
                fs::exists(path, unknown) ? reason : "none",
                "install fhd-dicom where fhd is a package; else libdcmtk-dev, and build fhd again");
  }
  const DicomModule module{reinterpret_cast<dicom::Encode*>(dlsym(library, "fhd_dicom_encode")),
                           reinterpret_cast<dicom::ReadChecksum*>(dlsym(library, "fhd_dicom_read_checksum"))};
  if (module.encode == nullptr || module.read_checksum == nullptr)
    throw Error("fhd_dicom.so", "that of this fhd", "another", "build fhd again");
  return module;
}

const DicomModule& dicom_module() {
  static const DicomModule module = opened_module();
  return module;
}

/// Returns the scan of the files in a folder, "several" if they differ. Throws Error unless all are DICOM files of fhd.
RecordedScan scan_in_dicom(const std::string& folder) {
  RecordedScan found;
  std::error_code status;
  fs::directory_iterator entry(folder, status);
  for (; !status && entry != fs::directory_iterator(); entry.increment(status)) {
    const auto path = entry->path();
    std::error_code unknown;
    const bool is_file = !entry->is_symlink(unknown) && entry->is_regular_file(unknown);
    std::string checksum;
    if (is_file && path.extension() == ".dcm") dicom_module().read_checksum(path.string(), checksum);
    if (checksum.empty())
      throw Error(folder, "a folder, new, empty or with a DICOM series of fhd",
                  "'" + path.filename().string() + "', which fhd did not make", "choose another folder");
    found.checksum = found.checksum.empty() || found.checksum == checksum ? checksum : "several";
  }
  if (status) throw Error(folder, "a folder that can be read", status.message());
  return found;
}

}  // namespace

void require_dicom_geometry(const Geometry& geometry, std::int64_t slice_count, const std::string& subject) {
  const bool needs_depth = geometry.matrix_size[2] > 1 || slice_count > 1;
  for (int axis = 0; axis < (needs_depth ? 3 : 2); ++axis)
    if (!(geometry.fov_mm[axis] > 0 && std::isfinite(geometry.fov_mm[axis])))
      throw Error(subject, "a FOV in mm, for a DICOM series", fmt::format("none along {}", "xyz"[axis]),
                  "give it with " + option_words("fov-mm", "X,Y,Z"));
  constexpr int longest = 65535;
  if (*std::max_element(geometry.matrix_size.begin(), geometry.matrix_size.end()) > longest)
    throw Error(subject, "at most 65535 voxels along each axis (DICOM)", "more");
  constexpr double tolerance = 1e-3;  // an eighth of a voxel at the edge of 256
  const std::array directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b) {
      const double product = directions[a][0] * directions[b][0] + directions[a][1] * directions[b][1] +
                             directions[a][2] * directions[b][2];
      if (!(std::abs(product - (a == b ? 1 : 0)) <= tolerance))
        throw Error(subject, "unit vectors at right angles for the directions of a DICOM series",
                    fmt::format("{} and {} with the product {:.4g}", "xyz"[a], "xyz"[b], product));
    }
  for (const double position : geometry.position_mm)
    if (!std::isfinite(position)) throw Error(subject, "a position in mm", "NaN or infinity");
}

std::string note_of_pseudonym(const AcquisitionInfo& acquisition, const std::string& checksum) {
  const bool has_name = !dicom::person_name(acquisition.patient_name).empty(),
             has_id = !dicom::patient_id(acquisition.patient_id).empty();
  if (has_name && has_id) return {};
  const auto [name, id] = dicom::pseudonym_of(checksum);
  return fmt::format("the scan states no {} of the patient: {}{}{} stands for it",
                     has_name ? "ID"
                     : has_id ? "name"
                              : "name and ID",
                     has_name ? "" : name, !has_name && !has_id ? ", " : "", has_id ? "" : id);
}

namespace {

void write_dicom(const AtomicFile& to, ResultContent& results, std::size_t) {
  const auto& series = results.series;
  for (const auto& image : series.images)
    require_dicom_geometry(image.geometry, series.slice_count, to.path());
  if (fs::exists(to.path())) scan_in_dicom(to.path());  // also of what came meanwhile
  const auto scaling = dicom::scaling_of(series, to.path());
  const dicom::SeriesContent content(results, scaling);
  const auto planes = dicom::planes_of(series);
  const auto digits = std::max<std::size_t>(4, std::to_string(planes.size()).size());
  std::shared_ptr<const Image> image;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const auto& plane = planes[i];
    if (!image || plane.z == 0) image = series.image(plane.image);
    const auto [nx, ny, nz] = image->geometry.matrix_size;
    const std::int64_t voxels = std::int64_t{nx} * ny;
    std::vector<std::uint16_t> pixels(static_cast<std::size_t>(voxels));
    for (std::int64_t v = 0; v < voxels; ++v)
      pixels[static_cast<std::size_t>(v)] = scaling.stored(abs(image->values[plane.z * voxels + v]));
    const auto name = fmt::format("/image_{:0{}}.dcm", i + 1, digits);
    std::vector<char> bytes;
    std::string failure;
    dicom_module().encode(content.common(), content.of_plane(plane, i + 1), pixels, bytes, failure);
    if (!failure.empty()) throw Error(to.path() + name, "attributes that DICOM allows", failure);
    write_bytes(to.temporary() + name, bytes.data(), bytes.size(), to.path() + name);
  }
}

}  // namespace

const ResultFormat dicom_format{.name = "dicom",
                                .ending = "_dicom",
                                .is_folder = true,
                                .option = "--dicom",
                                .help =
                                    "the magnitudes as a DICOM series, in a folder that is new, empty or "
                                    "has an earlier series of this scan",
                                .require_available = [] { dicom_module(); },
                                .require_room =
                                    [](const ResultLayout& layout, const std::string& subject) {
                                      require_dicom_geometry(layout.geometry, layout.slice_count, subject);
                                    },
                                .recorded_scan = scan_in_dicom,
                                .write = write_dicom};

}  // namespace fhd::io

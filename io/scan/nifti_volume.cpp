#include "io/scan/nifti_volume.hpp"

#include <nifti1_io.h>

#include <cmath>
#include <memory>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

template <class From>
void convert_values(const void* from, Array<float>& to, double slope, double intercept) {
  const auto* values = static_cast<const From*>(from);
  for (std::int64_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<float>(slope * static_cast<double>(values[i]) + intercept);
}

}  // namespace

Volume read_nifti_volume(const std::string& path) {
  nifti_set_debug_level(0);  // quiet: its messages would reach the terminal
  const auto release = [](nifti_image* image) { nifti_image_free(image); };
  std::unique_ptr<nifti_image, decltype(release)> header(nifti_image_read(path.c_str(), 0), release);
  const char* remedy = "give an image such as brain.nii.gz";
  if (!header) throw Error(path, "a NIfTI image", "a file that cannot be read as one", remedy);
  if (header->nx < 1 || header->ny < 1 || header->nz < 1 || header->nx > 4096 || header->ny > 4096 ||
      header->nz > 4096)
    throw Error(
        path, "1 ... 4096 voxels per axis",
        std::to_string(header->nx) + " x " + std::to_string(header->ny) + " x " + std::to_string(header->nz));
  std::unique_ptr<nifti_image, decltype(release)> image(nifti_image_read(path.c_str(), 1), release);
  if (!image || image->data == nullptr)
    throw Error(path, "as many voxels as its header states", "fewer", "the file is damaged");

  Volume volume;
  volume.values = Array<float>(Shape{image->nz, image->ny, image->nx});
  const bool scaled =
      image->scl_slope != 0 && std::isfinite(image->scl_slope) && std::isfinite(image->scl_inter);
  const double slope = scaled ? image->scl_slope : 1, intercept = scaled ? image->scl_inter : 0;
  switch (image->datatype) {
    case DT_UINT8:
      convert_values<std::uint8_t>(image->data, volume.values, slope, intercept);
      break;
    case DT_INT8:
      convert_values<std::int8_t>(image->data, volume.values, slope, intercept);
      break;
    case DT_UINT16:
      convert_values<std::uint16_t>(image->data, volume.values, slope, intercept);
      break;
    case DT_INT16:
      convert_values<std::int16_t>(image->data, volume.values, slope, intercept);
      break;
    case DT_UINT32:
      convert_values<std::uint32_t>(image->data, volume.values, slope, intercept);
      break;
    case DT_INT32:
      convert_values<std::int32_t>(image->data, volume.values, slope, intercept);
      break;
    case DT_FLOAT32:
      convert_values<float>(image->data, volume.values, slope, intercept);
      break;
    case DT_FLOAT64:
      convert_values<double>(image->data, volume.values, slope, intercept);
      break;
    default:
      throw Error(path, "real numbers",
                  std::string("voxels of type ") + nifti_datatype_string(image->datatype),
                  "save the magnitude");
  }
  for (float value : volume.values)
    if (!std::isfinite(value))
      throw Error(path, "finite voxels", "NaN or infinity", "replace them, for example by 0");

  if (image->sform_code <= 0 && image->qform_code <= 0)
    throw Error(path, "an image that says where it lies in the patient", "neither sform nor qform",
                "write it with its affine map, for example by nibabel or dcm2niix");
  const mat44& to_ras = image->sform_code > 0 ? image->sto_xyz : image->qto_xyz;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      volume.voxel_to_lps_mm[row][column] =
          (row < 2 ? -1.0 : 1.0) * static_cast<double>(to_ras.m[row][column]);
  return volume;
}

}  // namespace fhd::io

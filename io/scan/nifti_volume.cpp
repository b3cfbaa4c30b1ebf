#include "io/scan/nifti_volume.hpp"

#include <nifti1_io.h>

#include <cmath>
#include <map>
#include <memory>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

using NiftiImage = std::unique_ptr<nifti_image, decltype(&nifti_image_free)>;
NiftiImage read_nifti(const std::string& path, bool with_values) {
  return {nifti_image_read(path.c_str(), with_values ? 1 : 0), nifti_image_free};
}

template <class From>
void convert(const nifti_image& image, Array<float>& to) {
  const bool scaled =
      image.scl_slope != 0 && std::isfinite(image.scl_slope) && std::isfinite(image.scl_inter);
  const double slope = scaled ? image.scl_slope : 1, intercept = scaled ? image.scl_inter : 0;
  const auto* values = static_cast<const From*>(image.data);
  for (std::int64_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<float>(slope * static_cast<double>(values[i]) + intercept);
}

/// Throws Error unless the voxels are real and finite numbers.
Array<float> values_of(const nifti_image& image, const std::string& path) {
  using Convert = void (*)(const nifti_image&, Array<float>&);
  static const std::map<int, Convert> conversions{
      {DT_UINT8, convert<std::uint8_t>},   {DT_INT8, convert<std::int8_t>},
      {DT_UINT16, convert<std::uint16_t>}, {DT_INT16, convert<std::int16_t>},
      {DT_UINT32, convert<std::uint32_t>}, {DT_INT32, convert<std::int32_t>},
      {DT_FLOAT32, convert<float>},        {DT_FLOAT64, convert<double>}};
  Array<float> values(Shape{image.nz, image.ny, image.nx});
  const auto conversion = conversions.find(image.datatype);
  if (conversion == conversions.end())
    throw Error(path, "real numbers", std::string("voxels of type ") + nifti_datatype_string(image.datatype),
                "save the magnitude");
  conversion->second(image, values);
  for (const float value : values)
    if (!std::isfinite(value))
      throw Error(path, "finite voxels", "NaN or infinity", "replace them, for example by 0");
  return values;
}

}  // namespace

Volume read_nifti_volume(const std::string& path) {
  nifti_set_debug_level(0);  // quiet: its messages would reach the terminal
  const auto header = read_nifti(path, false);
  const char* remedy = "give an image such as brain.nii.gz";
  if (!header) throw Error(path, "a NIfTI image", "a file that cannot be read as one", remedy);
  if (header->nx < 1 || header->ny < 1 || header->nz < 1 || header->nx > 4096 || header->ny > 4096 ||
      header->nz > 4096)
    throw Error(
        path, "1 ... 4096 voxels per axis",
        std::to_string(header->nx) + " x " + std::to_string(header->ny) + " x " + std::to_string(header->nz));
  const auto image = read_nifti(path, true);
  if (!image || image->data == nullptr)
    throw Error(path, "as many voxels as its header states", "fewer", "the file is damaged");

  Volume volume;
  volume.values = values_of(*image, path);
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

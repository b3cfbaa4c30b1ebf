#include "io/scan/nifti_volume.hpp"

#include <nifti1_io.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

using NiftiImage = std::unique_ptr<nifti_image, decltype(&nifti_image_free)>;

/// The bytes of the first volume, in the order of this machine. The library's own reader makes zeros of NaN and infinity.
std::vector<char> first_volume(const nifti_image& image, const std::string& path) {
  const auto plane = static_cast<std::size_t>(image.nx) * static_cast<std::size_t>(image.ny) *
                     static_cast<std::size_t>(image.nbyper);
  std::vector<char> bytes;
  bool complete = image.iname != nullptr && image.iname_offset >= 0;
  if (complete) {
    znzFile file = znzopen(image.iname, "rb", nifti_is_gzfile(image.iname));
    complete = !znz_isnull(file) && znzseek(file, image.iname_offset, SEEK_SET) >= 0;
    for (int z = 0; z < image.nz && complete; ++z) {  // a header that lies costs no memory
      bytes.resize(bytes.size() + plane);
      complete = znzread(bytes.data() + bytes.size() - plane, 1, plane, file) == plane;
    }
    if (!znz_isnull(file)) znzclose(file);
  }
  if (!complete) throw Error(path, "as many voxels as its header states", "fewer", "the file is damaged");
  if (image.swapsize > 1 && image.byteorder != nifti_short_order())
    nifti_swap_Nbytes(bytes.size() / static_cast<std::size_t>(image.swapsize), image.swapsize, bytes.data());
  return bytes;
}

template <class From>
void convert(const nifti_image& image, const char* bytes, Array<float>& to) {
  const bool scaled =
      image.scl_slope != 0 && std::isfinite(image.scl_slope) && std::isfinite(image.scl_inter);
  const double slope = scaled ? image.scl_slope : 1, intercept = scaled ? image.scl_inter : 0;
  for (std::int64_t i = 0; i < to.size(); ++i) {
    From value;
    std::memcpy(&value, bytes + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    to[i] = static_cast<float>(slope * static_cast<double>(value) + intercept);
  }
}

/// Throws Error unless the voxels are real and finite numbers.
Array<float> values_of(const nifti_image& image, const std::string& path) {
  using Convert = void (*)(const nifti_image&, const char*, Array<float>&);
  static const std::map<int, Convert> conversions{
      {DT_UINT8, convert<std::uint8_t>},   {DT_INT8, convert<std::int8_t>},
      {DT_UINT16, convert<std::uint16_t>}, {DT_INT16, convert<std::int16_t>},
      {DT_UINT32, convert<std::uint32_t>}, {DT_INT32, convert<std::int32_t>},
      {DT_FLOAT32, convert<float>},        {DT_FLOAT64, convert<double>}};
  const auto conversion = conversions.find(image.datatype);
  if (conversion == conversions.end())
    throw Error(path, "real numbers", std::string("voxels of type ") + nifti_datatype_string(image.datatype),
                "save the magnitude");
  const auto bytes = first_volume(image, path);
  Array<float> values(Shape{image.nz, image.ny, image.nx});
  conversion->second(image, bytes.data(), values);
  for (const float value : values)
    if (!std::isfinite(value))
      throw Error(path, "finite voxels", "NaN or infinity", "replace them, for example by 0");
  return values;
}

}  // namespace

Volume read_nifti_volume(const std::string& path) {
  nifti_set_debug_level(0);  // quiet: its messages would reach the terminal
  const NiftiImage header(nifti_image_read(path.c_str(), 0), nifti_image_free);
  const char* remedy = "give an image such as brain.nii.gz";
  if (!header) throw Error(path, "a NIfTI image", "a file that cannot be read as one", remedy);
  if (header->nx < 1 || header->ny < 1 || header->nz < 1 || header->nx > 4096 || header->ny > 4096 ||
      header->nz > 4096)
    throw Error(
        path, "1 ... 4096 voxels per axis",
        std::to_string(header->nx) + " x " + std::to_string(header->ny) + " x " + std::to_string(header->nz));

  Volume volume;
  volume.values = values_of(*header, path);
  if (header->sform_code <= 0 && header->qform_code <= 0)
    throw Error(path, "an image that says where it lies in the patient", "neither sform nor qform",
                "write it with its affine map, for example by nibabel or dcm2niix");
  const mat44& to_ras = header->sform_code > 0 ? header->sto_xyz : header->qto_xyz;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      volume.voxel_to_lps_mm[row][column] =
          (row < 2 ? -1.0 : 1.0) * static_cast<double>(to_ras.m[row][column]);
  return volume;
}

}  // namespace fhd::io

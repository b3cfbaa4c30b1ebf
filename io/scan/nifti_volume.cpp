// A NIfTI-1 file (.nii, .nii.gz): a header of 348 bytes, then, from vox_offset on, the voxels, x fastest.
//
// The library (nifti1_io) gives the layout of the header and the formulas of the affine maps. Its readers are not used:
// they print, follow names of other files in headers that are text, take memory for what a header claims, and replace
// NaN by 0.
#include <fmt/format.h>
#include <nifti1_io.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "io/files/in_reader.hpp"
#include "io/files/input_file.hpp"
#include "io/files/input_memory.hpp"
#include "io/files/input_stamps.hpp"
#include "io/files/stored_bytes.hpp"
#include "io/scan/companion_files.hpp"
#include "recon/domain/geometry.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr auto remedy_for_other_images = "give an image such as brain.nii.gz";
constexpr const char* nifti_is_damaged = "the file is damaged";

static_assert(sizeof(nifti_1_header) == 348);

/// Reads a file, which may be compressed.
class Content {
 public:
  explicit Content(const std::string& path) : file_(path, "a NIfTI image") {
    const int descriptor = ::dup(file_.descriptor());
    stream_.reset(descriptor < 0 ? nullptr : gzdopen(descriptor, "rb"));
    if (!stream_ && descriptor >= 0) ::close(descriptor);
    if (!stream_) throw Error(path, "a NIfTI image", "a file that cannot be opened");
  }
  /// Returns an upper bound of the bytes that there are.
  double most_bytes() const {
    return static_cast<double>(file_.size()) * (gzdirect(stream_.get()) != 0 ? 1 : deflate_limit);
  }
  /// Reads the next `count` bytes; false where there are fewer.
  bool read(char* to, std::size_t count) {
    return gzread(stream_.get(), to, static_cast<unsigned>(count)) == int(count);
  }
  /// A file that ends before tells when it is read.
  void skip(std::int64_t count) { gzseek(stream_.get(), count, SEEK_CUR); }

 private:
  struct Close {
    void operator()(gzFile stream) const { gzclose(stream); }
  };
  InputFile file_;
  std::unique_ptr<gzFile_s, Close> stream_;
};

/// The part of the header that is used, in the byte order of this machine.
struct Header {
  nifti_1_header fields;
  bool swapped = false;
  std::array<std::int64_t, 3> n{1, 1, 1};
  std::size_t value_bytes = 0;

  std::int64_t voxel_count() const { return n[0] * n[1] * n[2]; }
};

Header header_of(Content& content, const std::string& path) {
  Header header;
  auto& fields = header.fields;
  const auto refuse = [&](const char* found) {
    throw Error(path, "a NIfTI image (NIfTI-1, header and voxels in one file)", found,
                remedy_for_other_images);
  };
  if (!content.read(reinterpret_cast<char*>(&fields), sizeof fields))
    refuse("a file that cannot be read as one");
  if (std::memcmp(fields.magic, "n+1", 4) != 0)
    refuse(std::memcmp(fields.magic, "ni1", 4) == 0 ? "one whose voxels lie in another file"
                                                    : "a file that cannot be read as one");
  header.swapped = fields.dim[0] < 1 || fields.dim[0] > 7;
  if (header.swapped) swap_nifti_header(&fields, 1);
  if (fields.dim[0] < 1 || fields.dim[0] > 7) refuse("one with no axes");
  for (int axis = 0; axis < std::min<int>(3, fields.dim[0]); ++axis)
    header.n[static_cast<std::size_t>(axis)] =
        axis == 0 ? fields.dim[1] : std::max<int>(1, fields.dim[axis + 1]);
  const auto& n = header.n;
  if (std::any_of(n.begin(), n.end(),
                  [](std::int64_t extent) { return extent < 1 || extent > largest_matrix; }))
    throw Error(path, fmt::format("1 ... {} voxels per axis", largest_matrix),
                fmt::format("{} x {} x {}", n[0], n[1], n[2]));
  return header;
}

/// Returns the bytes of the first volume, in the byte order of this machine. A header that lies costs no memory.
std::vector<char> first_volume(Content& content, const Header& header, const std::string& path) {
  const auto refuse = [&] {
    throw Error(path, "as many voxels as its header states", "fewer", nifti_is_damaged);
  };
  // The voxels begin behind the header, also where the offset is NaN.
  const double offset = header.fields.vox_offset > sizeof(nifti_1_header)
                            ? std::floor(header.fields.vox_offset)
                            : double{sizeof(nifti_1_header)};
  const double wanted = static_cast<double>(header.voxel_count()) * static_cast<double>(header.value_bytes);
  if (!(offset + wanted <= content.most_bytes())) refuse();
  require_input_memory(wanted + static_cast<double>(header.voxel_count()) * sizeof(float), path);
  content.skip(static_cast<std::int64_t>(offset) - std::int64_t{sizeof(nifti_1_header)});
  const auto all = static_cast<std::size_t>(header.voxel_count()) * header.value_bytes;
  constexpr std::size_t at_once = std::size_t{1} << 20;
  std::vector<char> bytes;
  while (bytes.size() < all) {
    const auto before = bytes.size(), more = std::min(at_once, all - before);
    bytes.resize(before + more);
    if (!content.read(bytes.data() + before, more)) refuse();
  }
  if (header.swapped && header.value_bytes > 1)
    nifti_swap_Nbytes(bytes.size() / header.value_bytes, static_cast<int>(header.value_bytes), bytes.data());
  return bytes;
}

template <class From>
void convert(const nifti_1_header& fields, const char* bytes, Array<float>& to) {
  const bool scaled =
      fields.scl_slope != 0 && std::isfinite(fields.scl_slope) && std::isfinite(fields.scl_inter);
  const double slope = scaled ? fields.scl_slope : 1, intercept = scaled ? fields.scl_inter : 0;
  for (std::int64_t i = 0; i < to.size(); ++i) {
    From value;
    std::memcpy(&value, bytes + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    const double scaled_value = slope * static_cast<double>(value) + intercept;
    // A value that float cannot hold becomes infinity, which is refused.
    to[i] = std::abs(scaled_value) <= std::numeric_limits<float>::max()
                ? static_cast<float>(scaled_value)
                : std::numeric_limits<float>::infinity();
  }
}

/// Throws Error unless the voxels are real and finite numbers.
Array<float> values_of(Content& content, Header& header, const std::string& path) {
  using Convert = void (*)(const nifti_1_header&, const char*, Array<float>&);
  static const std::map<int, std::pair<Convert, std::size_t>> conversions{
      {DT_UINT8, {convert<std::uint8_t>, 1}},   {DT_INT8, {convert<std::int8_t>, 1}},
      {DT_UINT16, {convert<std::uint16_t>, 2}}, {DT_INT16, {convert<std::int16_t>, 2}},
      {DT_UINT32, {convert<std::uint32_t>, 4}}, {DT_INT32, {convert<std::int32_t>, 4}},
      {DT_FLOAT32, {convert<float>, 4}},        {DT_FLOAT64, {convert<double>, 8}}};
  const auto conversion = conversions.find(header.fields.datatype);
  if (conversion == conversions.end())
    throw Error(path, "real numbers",
                std::string("voxels of type ") + nifti_datatype_string(header.fields.datatype),
                "save the magnitude");
  header.value_bytes = conversion->second.second;
  const auto bytes = first_volume(content, header, path);
  Array<float> values(Shape{header.n[2], header.n[1], header.n[0]});
  conversion->second.first(header.fields, bytes.data(), values);
  return values;
}

/// Returns the affine map from voxels to RAS, mm.
mat44 affine_map_of(const nifti_1_header& fields, const std::string& path) {
  if (fields.sform_code <= 0 && fields.qform_code <= 0)
    throw Error(path, "an image that says where it lies in the patient", "neither sform nor qform",
                "write it with its affine map, for example by nibabel or dcm2niix");
  mat44 map{};
  if (fields.sform_code > 0) {
    std::copy_n(fields.srow_x, 4, map.m[0]);
    std::copy_n(fields.srow_y, 4, map.m[1]);
    std::copy_n(fields.srow_z, 4, map.m[2]);
  } else {
    const auto step = [&](int axis) {  // as the library: 1 where none is stated
      const float stated = fields.pixdim[axis];
      return stated != 0 && std::isfinite(stated) ? stated : 1.0F;
    };
    map = nifti_quatern_to_mat44(fields.quatern_b, fields.quatern_c, fields.quatern_d, fields.qoffset_x,
                                 fields.qoffset_y, fields.qoffset_z, step(1), step(2), step(3),
                                 fields.pixdim[0] < 0 ? -1.0F : 1.0F);
  }
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      if (!std::isfinite(map.m[row][column]))
        throw Error(path, "a finite affine map", "NaN or infinity", nifti_is_damaged);
  return map;
}

}  // namespace

Volume read_nifti_volume_here(const std::string& path) {
  Content content(path);
  Header header = header_of(content, path);
  Volume volume;
  volume.values = values_of(content, header, path);
  const mat44 to_ras = affine_map_of(header.fields, path);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      volume.voxel_to_lps_mm[row][column] =
          (row < 2 ? -1.0 : 1.0) * static_cast<double>(to_ras.m[row][column]);
  return volume;
}

Volume read_nifti_volume(const std::string& path) {
  auto volume = read_unchanged(InputStamps({path}), [&] { return in_reader<&read_nifti_volume_here>(path); });
  if (volume.values.shape().rank() != 3 || volume.values.empty())
    throw Error(path, "a volume", volume.values.shape().text(), nifti_is_damaged);
  if (!std::ranges::all_of(volume.values, [](float value) { return std::isfinite(value); }))
    throw Error(path, "finite voxels", "NaN or infinity", "replace them, for example by 0");
  return volume;
}

}  // namespace fhd::io

// The magnitudes of a series as ISMRMRD images, for viewers of that format: /dataset/image_0 with
//
//   header      one for each image, [repetition][slice], packed as the format has it (198 bytes)
//   data        [image][channel = 1][z][y][x], float
//   attributes  a text of meta data for each image
//
// Positions and directions are patient LPS, in mm; the position is that of voxel floor(N/2), as everywhere in fhd. The root's
// attributes made_by and input_checksum say what made the file, of which scan.
#include <fmt/format.h>
#include <ismrmrd/ismrmrd.h>
#include <ismrmrd/version.h>

#include <algorithm>
#include <cstddef>

#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/result/formats.hpp"
#include "io/scan/mrd/readout.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using hdf5::Handle;
using ImageHead = ISMRMRD::ISMRMRD_ImageHeader;  // packed by the format to two bytes

constexpr auto images_group = "/dataset/image_0", checksum_of_input = "input_checksum";

Handle image_head_type(const std::string& subject) {
  struct Member {
    const char* name;
    std::size_t offset;
    hid_t type;
    hsize_t count;
  };
  const hid_t u16 = H5T_NATIVE_UINT16, u32 = H5T_NATIVE_UINT32, f32 = H5T_NATIVE_FLOAT;
  const Member members[]{
      {"version", offsetof(ImageHead, version), u16, 0},
      {"data_type", offsetof(ImageHead, data_type), u16, 0},
      {"flags", offsetof(ImageHead, flags), H5T_NATIVE_UINT64, 0},
      {"measurement_uid", offsetof(ImageHead, measurement_uid), u32, 0},
      {"matrix_size", offsetof(ImageHead, matrix_size), u16, 3},
      {"field_of_view", offsetof(ImageHead, field_of_view), f32, 3},
      {"channels", offsetof(ImageHead, channels), u16, 0},
      {"position", offsetof(ImageHead, position), f32, 3},
      {"read_dir", offsetof(ImageHead, read_dir), f32, 3},
      {"phase_dir", offsetof(ImageHead, phase_dir), f32, 3},
      {"slice_dir", offsetof(ImageHead, slice_dir), f32, 3},
      {"patient_table_position", offsetof(ImageHead, patient_table_position), f32, 3},
      {"average", offsetof(ImageHead, average), u16, 0},
      {"slice", offsetof(ImageHead, slice), u16, 0},
      {"contrast", offsetof(ImageHead, contrast), u16, 0},
      {"phase", offsetof(ImageHead, phase), u16, 0},
      {"repetition", offsetof(ImageHead, repetition), u16, 0},
      {"set", offsetof(ImageHead, set), u16, 0},
      {"acquisition_time_stamp", offsetof(ImageHead, acquisition_time_stamp), u32, 0},
      {"physiology_time_stamp", offsetof(ImageHead, physiology_time_stamp), u32,
       ISMRMRD::ISMRMRD_PHYS_STAMPS},
      {"image_type", offsetof(ImageHead, image_type), u16, 0},
      {"image_index", offsetof(ImageHead, image_index), u16, 0},
      {"image_series_index", offsetof(ImageHead, image_series_index), u16, 0},
      {"user_int", offsetof(ImageHead, user_int), H5T_NATIVE_INT32, ISMRMRD::ISMRMRD_USER_INTS},
      {"user_float", offsetof(ImageHead, user_float), f32, ISMRMRD::ISMRMRD_USER_FLOATS},
      {"attribute_string_len", offsetof(ImageHead, attribute_string_len), u32, 0}};
  constexpr auto image_type = "the ISMRMRD image type";
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(ImageHead)), H5Tclose, subject, image_type);
  for (const auto& [name, offset, member, count] : members) {
    Handle array;
    if (count > 0) array = {H5Tarray_create2(member, 1, &count), H5Tclose, subject, image_type};
    hdf5::check(H5Tinsert(type.get(), name, offset, count > 0 ? array.get() : member), subject, image_type);
  }
  return type;
}

ImageHead head_of(const ImageSeries& series, const Provenance& provenance, std::size_t index,
                  std::size_t attribute_bytes) {
  const auto& geometry = series.images[index].geometry;
  const auto repetition = index / static_cast<std::size_t>(series.slice_count),
             slice = index % static_cast<std::size_t>(series.slice_count);
  std::array<double, 3> to_next{};  // mm, of slices that state no position of their own
  const auto affine = voxel_to_lps_mm(geometry);
  for (std::size_t axis = 0; axis < 3; ++axis) to_next[axis] = affine[axis][2] * geometry.matrix_size[2];
  const auto u16 = [](auto number) { return static_cast<std::uint16_t>(number); };
  ImageHead head{};
  head.version = ISMRMRD_VERSION_MAJOR;
  head.data_type = ISMRMRD::ISMRMRD_FLOAT;
  head.channels = 1;
  head.image_type = ISMRMRD::ISMRMRD_IMTYPE_MAGNITUDE;
  head.image_index = u16(index + 1);
  head.attribute_string_len = static_cast<std::uint32_t>(attribute_bytes);
  for (int axis = 0; axis < 3; ++axis) {
    head.matrix_size[axis] = u16(geometry.matrix_size[axis]);
    head.field_of_view[axis] = static_cast<float>(geometry.fov_mm[axis]);
    const double stacked = are_stacked(series) ? to_next[axis] * static_cast<double>(slice) : 0;
    head.position[axis] = static_cast<float>(geometry.position_mm[axis] + stacked);
    head.read_dir[axis] = static_cast<float>(geometry.read_direction[axis]);
    head.phase_dir[axis] = static_cast<float>(geometry.phase_direction[axis]);
    head.slice_dir[axis] = static_cast<float>(geometry.slice_direction[axis]);
  }
  head.slice = u16(provenance.counter_of_slice(slice));
  const auto counted = provenance.counters_of_repetition(repetition);
  head.repetition = u16(counted.repetition), head.contrast = u16(counted.contrast);
  head.phase = u16(counted.phase), head.set = u16(counted.set);
  return head;
}

/// Throws Error where the numbers of the headers, of 16 bits, are too small for the images.
void require_ismrmrd_room(const ResultLayout& layout, const std::string& subject) {
  const auto& n = layout.geometry.matrix_size;
  const auto images = layout.slice_count * layout.repetition_count;
  if (images > mrd::largest_count || *std::max_element(n.begin(), n.end()) > mrd::largest_count)
    throw Error(
        subject,
        fmt::format("at most {} images, and voxels along an axis (--ismrmrd-images)", mrd::largest_count),
        fmt::format("{} images", images), "reconstruct fewer, or leave out --ismrmrd-images");
  if (layout.largest_number > mrd::largest_count)
    throw Error(
        subject,
        fmt::format("slices and repetitions with numbers up to {} (--ismrmrd-images)", mrd::largest_count),
        std::to_string(layout.largest_number), "leave out --ismrmrd-images");
}

void write_ismrmrd_images(const AtomicFile& to, ResultContent& results) {
  const auto& series = results.series;
  const auto& provenance = results.provenance;
  const auto& made_by = results.made_by;
  const auto& geometry = series.images.front().geometry;
  const auto count = static_cast<std::int64_t>(series.images.size());
  const auto slice_count = static_cast<std::size_t>(series.slice_count);
  std::int64_t largest_number = 0;
  for (std::size_t i = 0; i < series.images.size(); ++i)
    largest_number = std::max({largest_number, provenance.repetition_number(i / slice_count),
                               provenance.slice_number(i % slice_count)});
  require_ismrmrd_room({geometry, series.slice_count, series.repetition_count, largest_number}, to.path());
  const auto meta = [](const char* name, const std::string& value) {
    return fmt::format("<meta><name>{}</name><value>{}</value></meta>", name, value);
  };
  const auto attributes = "<ismrmrdMeta>" + meta(made_by_attribute, made_by) +
                          meta(checksum_of_input, provenance.input_checksum) + "</ismrmrdMeta>";
  const auto shape = geometry.image_shape();
  constexpr std::uint64_t per_image = 1 << 10;  // head and attributes
  const hdf5::LibraryLock lock;
  auto file = hdf5::File::create(to.temporary(), to.path(),
                                 static_cast<std::uint64_t>(count) *
                                     (static_cast<std::uint64_t>(shape.size()) * sizeof(float) + per_image));
  file.write_attribute("/", made_by_attribute, made_by);
  file.write_attribute("/", checksum_of_input, provenance.input_checksum);
  file.create_group("/dataset");
  file.create_group(images_group);
  std::vector<ImageHead> heads;
  for (std::size_t i = 0; i < series.images.size(); ++i)
    heads.push_back(head_of(series, provenance, i, attributes.size()));
  const std::vector<const char*> texts(heads.size(), attributes.c_str());
  const std::string group = images_group, data = group + "/data", subject = file.subject(group);
  file.write_list(group + "/header", image_head_type(subject), heads.data(), count);
  file.write_list(group + "/attributes", hdf5::text_type(H5T_VARIABLE, H5T_CSET_ASCII, subject), texts.data(),
                  count);
  file.create<float>(data, {count, 1, shape[0], shape[1], shape[2]});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto image = series.image(static_cast<std::size_t>(i));
    Array<float> magnitude(shape);
    std::transform(image->values.begin(), image->values.end(), magnitude.begin(),
                   [](Complex<float> value) { return abs(value); });
    file.write_block(data, magnitude, {i, 0});
  }
  file.close();
}

RecordedScan scan_in_ismrmrd(const std::string& path) {
  const auto facts = facts_of_hdf5(path, {images_group, std::string("/@") + checksum_of_input});
  return {facts && facts->front() ? facts->back().value_or("") : ""};
}

}  // namespace

const ResultFormat ismrmrd_format{.name = "ismrmrd",
                                  .ending = "_images.h5",
                                  .in_calling_thread = true,
                                  .option = "--ismrmrd-images",
                                  .require_room = require_ismrmrd_room,
                                  .recorded_scan = scan_in_ismrmrd,
                                  .write = write_ismrmrd_images};

}  // namespace fhd::io

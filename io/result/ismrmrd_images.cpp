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

#include "io/hdf5/compound.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/result/formats.hpp"
#include "io/scan/mrd/readout.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using hdf5::Handle;
using ImageHead = ISMRMRD::ISMRMRD_ImageHeader;  // packed by the format to two bytes

constexpr auto images_group = "/dataset/image_0", checksum_of_input = "input_checksum";

Handle image_head_type(const std::string& subject) {
  return FHD_COMPOUND(ImageHead, subject, H5I_INVALID_HID, version, data_type, flags, measurement_uid,
                      matrix_size, field_of_view, channels, position, read_dir, phase_dir, slice_dir,
                      patient_table_position, average, slice, contrast, phase, repetition, set,
                      acquisition_time_stamp, physiology_time_stamp, image_type, image_index,
                      image_series_index, user_int, user_float, attribute_string_len);
}

/// `voxel_map`: that of the image, voxel_maps_of.
ImageHead head_of(const ImageSeries& series, const Provenance& provenance, std::size_t index,
                  const Affine& voxel_map, std::size_t attribute_bytes) {
  const auto& geometry = series.images[index].geometry;
  const auto repetition = index / static_cast<std::size_t>(series.slice_count),
             slice = index % static_cast<std::size_t>(series.slice_count);
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
    const auto& row = voxel_map[static_cast<std::size_t>(axis)];
    double position = row[3];
    for (std::size_t column = 0; column < 3; ++column)
      position += row[column] * (geometry.matrix_size[column] / 2);
    head.position[axis] = static_cast<float>(position);
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
    throw Error(subject,
                fmt::format("at most {} images, and voxels along an axis ({})", mrd::largest_count,
                            flag_words("ismrmrd-images")),
                fmt::format("{} images", images),
                "reconstruct fewer, or leave out " + option_words("ismrmrd-images"));
  if (layout.largest_number > mrd::largest_count)
    throw Error(subject,
                fmt::format("slices and repetitions with numbers up to {} ({})", mrd::largest_count,
                            flag_words("ismrmrd-images")),
                std::to_string(layout.largest_number), "leave out " + option_words("ismrmrd-images"));
}

void write_ismrmrd_images(const AtomicFile& to, ResultContent& results, std::size_t) {
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
  const auto voxel_maps = voxel_maps_of(series);
  for (std::size_t i = 0; i < series.images.size(); ++i)
    heads.push_back(head_of(series, provenance, i, voxel_maps[i], attributes.size()));
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

const ResultFormat ismrmrd_format{
    .name = "ismrmrd",
    .ending = "_images.h5",
    .in_calling_thread = true,
    .option = "--ismrmrd-images",
    .help = "the magnitudes as ISMRMRD images, /dataset/image_0 of an HDF5 file",
    .require_room = require_ismrmrd_room,
    .recorded_scan = scan_in_ismrmrd,
    .write = write_ismrmrd_images};

}  // namespace fhd::io

#include "io/result/nifti.hpp"

#include <fmt/format.h>
#include <nifti1_io.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "io/result/formats.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// The bytes before the numbers: the header, and four that announce no extension. They are a whole number of floats.
constexpr std::size_t header_bytes = 352;

std::int64_t voxels_of_image(const ImageSeries& series) {
  return series.images.front().geometry.image_shape().size();
}

/// Puts the magnitudes, phases or real parts number `first` on, counted through all images of the stack, into `bytes`.
void copy_numbers(const ImageSeries& series, const SliceStack& stack, NiftiPart part, std::int64_t first,
                  std::span<std::uint8_t> bytes) {
  const auto image_of = [&](std::size_t i) {
    const auto slices = stack.slices.size();
    return i / slices * static_cast<std::size_t>(series.slice_count) + stack.slices[i % slices];
  };
  const auto per_image = voxels_of_image(series);
  std::vector<Complex<float>> values;
  auto left = static_cast<std::int64_t>(bytes.size() / sizeof(float));
  for (auto* to = bytes.data(); left > 0;) {
    const auto begin = first % per_image, count = std::min(left, per_image - begin);
    values.resize(static_cast<std::size_t>(count));
    series.copy_values(image_of(static_cast<std::size_t>(first / per_image)), begin, values);
    for (const auto value : values) {
      const float number = part == NiftiPart::real    ? value.re
                           : part == NiftiPart::phase ? std::atan2(value.im, value.re)
                                                      : abs(value);
      std::memcpy(to, &number, sizeof(number));
      to += sizeof(number);
    }
    first += count;
    left -= count;
  }
}

}  // namespace

Affine affine_of(const SliceStack& stack) {
  Affine affine = stack.voxel_to_lps_mm;
  for (int row = 0; row < 2; ++row)  // LPS -> RAS
    for (double& value : affine[row]) value = -value;
  return affine;
}

/// Returns the cosine of the angle between the steps from plane to plane and the planes; 0: at right angles.
static double shear_of(const Affine& affine) {
  double largest = 0;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    double product = 0, squares[2]{};
    for (std::size_t row = 0; row < 3; ++row) {
      product += affine[row][axis] * affine[row][2];
      squares[0] += affine[row][axis] * affine[row][axis];
      squares[1] += affine[row][2] * affine[row][2];
    }
    largest = std::max(largest, std::abs(product) / std::sqrt(squares[0] * squares[1]));
  }
  return largest;
}

constexpr double right_angle = 1e-4;  // as stacks_of

std::string note_of_places(const std::vector<SliceStack>& stacks) {
  double misplaced_mm = 0, shear = 0;
  for (const auto& stack : stacks) {
    if (!stack.is_even()) misplaced_mm = std::max(misplaced_mm, stack.misplaced_mm);
    if (stack.step_mm > 0) shear = std::max(shear, shear_of(stack.voxel_to_lps_mm));
  }
  if (misplaced_mm > 0)
    return fmt::format(
        "the slices are not equally spaced: the NIfTI file places them at their mean distance, up to {:.3g} "
        "mm off; DICOM and ISMRMRD images state the place of each",
        misplaced_mm);
  if (shear > right_angle)
    return "the slices are displaced within their plane: the NIfTI file states their places in its sform "
           "alone, which is sheared";
  return {};
}

namespace {

/// Throws Error where extents are no signed numbers of 16 bits.
void require_nifti_room(const ResultLayout& layout, const std::string& subject) {
  constexpr std::int64_t longest = 32767;
  constexpr std::int64_t most_stacks = 256;
  if (layout.stack_count > most_stacks)
    throw Error(subject,
                fmt::format("at most {} stacks of slices of like directions, a NIfTI file each", most_stacks),
                std::to_string(layout.stack_count), "reconstruct fewer with " + option_words("slices"));
  const auto& n = layout.geometry.matrix_size;
  const auto planes = n[2] * layout.slice_count;
  if (std::max({std::int64_t{n[0]}, std::int64_t{n[1]}, planes, layout.repetition_count}) <= longest) return;
  throw Error(subject, "at most 32767 slices and repetitions or frames (NIfTI-1)",
              fmt::format("{} slices and {} repetitions", planes, layout.repetition_count),
              "reconstruct fewer with " + option_words("slices") + ", " + option_words("repetitions") +
                  " or " + option_words("frames"));
}

/// Throws Error where the format has no room for the series.
nifti_1_header header_of(const ImageSeries& series, const SliceStack& stack, const std::string& reported_path,
                         const NiftiLabel& label, NiftiPart part) {
  const auto& geometry = series.images.front().geometry;
  const auto& n = geometry.matrix_size;
  const auto slice_count = static_cast<std::int64_t>(stack.slices.size());
  const auto planes = std::int64_t{n[2]} * slice_count;
  require_nifti_room({geometry, slice_count, series.repetition_count}, reported_path);
  const int dims[8]{series.repetition_count > 1 ? 4 : 3,       n[0], n[1], static_cast<int>(planes),
                    static_cast<int>(series.repetition_count), 1,    1,    1};
  const std::unique_ptr<nifti_image, decltype(&nifti_image_free)> nifti(
      nifti_make_new_nim(dims, DT_FLOAT32, 0), nifti_image_free);
  if (!nifti) throw Error(reported_path, "a NIfTI header", "none that NIfTI can make");
  nifti->nifti_type = NIFTI_FTYPE_NIFTI1_1;
  nifti->iname_offset = 352;
  nifti->xyz_units = NIFTI_UNITS_MM;
  const auto affine = affine_of(stack);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      nifti->sto_xyz.m[row][column] = static_cast<float>(affine[row][column]);
  nifti->sto_xyz.m[3][0] = nifti->sto_xyz.m[3][1] = nifti->sto_xyz.m[3][2] = 0;
  nifti->sto_xyz.m[3][3] = 1;
  nifti->sform_code = nifti->qform_code = NIFTI_XFORM_SCANNER_ANAT;
  if (shear_of(affine) > right_angle) nifti->qform_code = NIFTI_XFORM_UNKNOWN;  // quaternions cannot say it
  nifti_mat44_to_quatern(nifti->sto_xyz, &nifti->quatern_b, &nifti->quatern_c, &nifti->quatern_d,
                         &nifti->qoffset_x, &nifti->qoffset_y, &nifti->qoffset_z, &nifti->dx, &nifti->dy,
                         &nifti->dz, &nifti->qfac);
  nifti->pixdim[1] = nifti->dx;
  nifti->pixdim[2] = nifti->dy;
  nifti->pixdim[3] = nifti->dz;
  const auto text = label.description + (part == NiftiPart::phase ? ", phase in rad" : "");
  text.copy(nifti->descrip, sizeof(nifti->descrip) - 1);  // zero before
  if (nifti->nt > 1) nifti->dt = nifti->pixdim[4] = static_cast<float>(label.repetition_time_s);
  if (nifti->nt > 1 && label.repetition_time_s > 0) nifti->time_units = NIFTI_UNITS_SEC;
  return nifti_convert_nim2nhdr(nifti.get());
}

}  // namespace

void write_nifti(const std::string& path, const ImageSeries& series, const SliceStack& stack,
                 const std::string& reported_path, const NiftiLabel& label, NiftiPart part,
                 const Compression& compression) {
  std::array<std::uint8_t, header_bytes> head{};
  const auto header = header_of(series, stack, reported_path, label, part);
  static_assert(sizeof(header) <= header_bytes);
  std::memcpy(head.data(), &header, sizeof(header));
  const auto images = stack.slices.size() * static_cast<std::uint64_t>(series.repetition_count);
  const auto byte_count =
      header_bytes + images * static_cast<std::uint64_t>(voxels_of_image(series)) * sizeof(float);
  const auto content = [&](std::uint64_t offset, std::span<std::uint8_t> bytes) {
    if (offset == 0) {
      std::copy(head.begin(), head.end(), bytes.begin());
      bytes = bytes.subspan(head.size());
    }
    const auto first = (offset == 0 ? 0 : offset - head.size()) / sizeof(float);
    copy_numbers(series, stack, part, static_cast<std::int64_t>(first), bytes);
  };
  write_gzip(path, reported_path, byte_count, content, compression);
}

namespace {

template <NiftiPart part>
void write_part(const AtomicFile& to, ResultContent& results, std::size_t stack) {
  write_nifti(to.temporary(), results.series, results.stacks[stack], to.path(),
              {results.made_by, results.provenance.repetition_time_s}, part, results.compression);
}

struct NoiseMap {
  Array<float> NoiseMaps::*values;
  const char* words;
};
constexpr NoiseMap noise_maps[]{{&NoiseMaps::deviation, "noise, unit of the image"},
                                {&NoiseMaps::snr, "SNR, no unit"},
                                {&NoiseMaps::g_factor, "g-factor, no unit"}};

/// Returns the format of a map, which is written as the magnitude of an image at the place of the first of the series.
template <int i>
constexpr ResultFormat map_format(const char* name, const char* ending) {
  return {.name = name,
          .ending = ending,
          .has_content =
              [](const ResultContent& results) {
                const auto& noise = results.companions.noise;
                return noise && !((*noise).*noise_maps[i].values).empty();
              },
          .write =
              [](const AtomicFile& to, ResultContent& results, std::size_t) {
                const auto& values = (*results.companions.noise).*noise_maps[i].values;
                Image image{Array<Complex<float>>(values.shape()), results.series.images.front().geometry};
                std::copy(values.begin(), values.end(), image.values.begin());
                write_nifti(to.temporary(), {1, 1, {std::move(image)}}, results.stacks.front(), to.path(),
                            {results.made_by + ": " + noise_maps[i].words}, NiftiPart::magnitude,
                            results.compression);
              }};
}

}  // namespace

const ResultFormat nifti_format{.name = "nifti",
                                .ending = ".nii.gz",
                                .is_optional = false,
                                .is_per_stack = true,
                                .require_room = require_nifti_room,
                                .write = write_part<NiftiPart::magnitude>};
const ResultFormat phase_format{
    .name = "phase", .ending = "_phase.nii.gz", .is_per_stack = true, .write = write_part<NiftiPart::phase>};
const ResultFormat noise_format = map_format<0>("noise", "_noise.nii.gz"),
                   snr_format = map_format<1>("snr", "_snr.nii.gz"),
                   g_factor_format = map_format<2>("g_factor", "_gfactor.nii.gz");

}  // namespace fhd::io

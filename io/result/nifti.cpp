#include "io/result/nifti.hpp"

#include <nifti1_io.h>
#include <zlib.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// A compressed file whose every write is checked.
class GzipFile {
 public:
  GzipFile(const std::string& path, const std::string& reported_path)
      : reported_path_(reported_path), file_(gzopen(path.c_str(), "wb6")) {
    if (!file_) throw Error(reported_path_, "a file that can be created", std::strerror(errno));
  }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;
  ~GzipFile() {
    if (file_) gzclose(file_);
  }
  void write(const void* bytes, std::size_t count) {
    constexpr std::size_t block = std::size_t{1} << 30;
    for (const auto* next = static_cast<const char*>(bytes); count > 0;) {
      const auto size = static_cast<unsigned>(std::min(count, block));
      if (gzwrite(file_, next, size) != static_cast<int>(size)) fail();
      next += size;
      count -= size;
    }
  }
  void close() {
    const int status = gzclose(file_);
    file_ = nullptr;
    if (status != Z_OK) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(reported_path_, "a file that can be written to its end", std::strerror(errno),
                "free some space, or write elsewhere");
  }
  std::string reported_path_;
  gzFile file_;
};

}  // namespace

Affine affine_of(const ImageSeries& series) {
  const auto& geometry = series.images.front().geometry;
  Affine affine = voxel_to_lps_mm(geometry);
  if (series.slice_count > 1 && geometry.matrix_size[2] == 1) {
    const auto& last = series.images[static_cast<std::size_t>(series.slice_count - 1)].geometry;
    std::array<double, 3> step{};
    double length = 0;
    for (int row = 0; row < 3; ++row) {
      step[row] =
          (last.position_mm[row] - geometry.position_mm[row]) / static_cast<double>(series.slice_count - 1);
      length += step[row] * step[row];
    }
    if (length > 0)  // slices that state no position of their own are stacked by their thickness
      for (int row = 0; row < 3; ++row) affine[row][2] = step[row];
  }
  for (int row = 0; row < 2; ++row)  // LPS -> RAS
    for (double& value : affine[row]) value = -value;
  return affine;
}

bool lie_on_affine(const ImageSeries& series) {
  if (series.slice_count < 3) return true;
  const auto at = [&](std::int64_t slice) {
    return series.images[static_cast<std::size_t>(slice)].geometry.position_mm;
  };
  const auto first = at(0), last = at(series.slice_count - 1);
  for (std::int64_t slice = 1; slice < series.slice_count; ++slice) {
    double square = 0, distance = 0;
    for (std::size_t row = 0; row < 3; ++row) {
      const double step = (last[row] - first[row]) / static_cast<double>(series.slice_count - 1);
      square += step * step;
      distance += std::pow(at(slice)[row] - first[row] - static_cast<double>(slice) * step, 2);
    }
    if (!(distance <= 1e-4 * square)) return false;
  }
  return true;
}

namespace {

void add_label(nifti_image& nifti, const NiftiLabel& label, NiftiPart part) {
  const auto text = label.description + (part == NiftiPart::phase ? ", phase in rad" : "");
  text.copy(nifti.descrip, sizeof(nifti.descrip) - 1);  // zero before
  if (nifti.nt <= 1) return;
  nifti.dt = nifti.pixdim[4] = static_cast<float>(label.repetition_time_s);
  if (label.repetition_time_s > 0) nifti.time_units = NIFTI_UNITS_SEC;
}

}  // namespace

void write_nifti(const std::string& path, const ImageSeries& series, const std::string& reported_path,
                 const NiftiLabel& label, NiftiPart part) {
  const auto& geometry = series.images.front().geometry;
  const auto& n = geometry.matrix_size;
  const auto planes = std::int64_t{n[2]} * series.slice_count;
  constexpr std::int64_t longest = 32767;
  if (planes > longest || series.repetition_count > longest)
    throw Error(reported_path, "at most 32767 slices and repetitions (NIfTI-1)", "more",
                "reconstruct fewer with --slices or --repetitions");
  const int dims[8]{series.repetition_count > 1 ? 4 : 3,       n[0], n[1], static_cast<int>(planes),
                    static_cast<int>(series.repetition_count), 1,    1,    1};
  const std::unique_ptr<nifti_image, decltype(&nifti_image_free)> nifti(
      nifti_make_new_nim(dims, DT_FLOAT32, 0), nifti_image_free);
  if (!nifti) throw Error(reported_path, "a NIfTI header", "none that NIfTI can make");
  nifti->nifti_type = NIFTI_FTYPE_NIFTI1_1;
  nifti->iname_offset = 352;
  nifti->xyz_units = NIFTI_UNITS_MM;
  const auto affine = affine_of(series);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      nifti->sto_xyz.m[row][column] = static_cast<float>(affine[row][column]);
  nifti->sto_xyz.m[3][0] = nifti->sto_xyz.m[3][1] = nifti->sto_xyz.m[3][2] = 0;
  nifti->sto_xyz.m[3][3] = 1;
  nifti->sform_code = nifti->qform_code = NIFTI_XFORM_SCANNER_ANAT;
  nifti_mat44_to_quatern(nifti->sto_xyz, &nifti->quatern_b, &nifti->quatern_c, &nifti->quatern_d,
                         &nifti->qoffset_x, &nifti->qoffset_y, &nifti->qoffset_z, &nifti->dx, &nifti->dy,
                         &nifti->dz, &nifti->qfac);
  nifti->pixdim[1] = nifti->dx;
  nifti->pixdim[2] = nifti->dy;
  nifti->pixdim[3] = nifti->dz;
  add_label(*nifti, label, part);
  const nifti_1_header header = nifti_convert_nim2nhdr(nifti.get());

  GzipFile file(path, reported_path);
  file.write(&header, sizeof(header));
  const char no_extension[4]{};
  file.write(no_extension, sizeof(no_extension));
  std::vector<float> numbers;
  for (const auto& image : series.images) {
    numbers.clear();
    for (const auto value : image.values)
      numbers.push_back(part == NiftiPart::phase ? std::atan2(value.im, value.re) : abs(value));
    file.write(numbers.data(), numbers.size() * sizeof(float));
  }
  file.close();
}

}  // namespace fhd::io

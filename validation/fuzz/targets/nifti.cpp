// NIfTI images: priors and field maps. The first byte of the input says what the others are: 0 a .nii, 1 a .nii.gz, 2 the
// content of a .nii.gz, which is compressed here so that what is changed lies behind the checksum.
#include "io/files/gzip.hpp"
#include "io/scan/companion_files.hpp"
#include "recon/domain/geometry.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  const fuzz::Bytes content(data + 1, size - 1);
  const auto path = folder.file(data[0] % 3 == 0 ? "x.nii" : "x.nii.gz");
  if (data[0] % 3 == 2)
    io::write_gzip(path, path, content.size(),
                   [&](std::uint64_t offset, std::span<std::uint8_t> part) {
                     std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), part.size(),
                                 part.begin());
                   },
                   {1, 1});
  else
    folder.write(data[0] % 3 == 0 ? "x.nii" : "x.nii.gz", content);
  fuzz::succeeds([&] {
    const auto volume = io::read_nifti_volume(path);
    for (const float value : volume.values) fuzz::require(value - value == 0);  // finite, as it promises
    Scan scan;
    scan.geometry.matrix_size = {4, 4, 2};
    scan.geometry.fov_mm = {200, 200, 40};
    interpolated_at_voxels(volume, scan.geometry, path);
  });
  return 0;
}

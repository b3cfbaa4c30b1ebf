#pragma once
// The magnitudes of a series as ISMRMRD images, for viewers of that format: /dataset/image_0 with
//
//   header      one for each image, [repetition][slice], packed as the format has it (198 bytes)
//   data        [image][channel = 1][z][y][x], float
//   attributes  a text of meta data for each image
//
// Positions and directions are patient LPS, in mm; the position is that of voxel floor(N/2), as everywhere in fhd. The root's
// attributes made_by and input_checksum say what made the file, of which scan.
#include <string>
#include <vector>

#include "io/scan/checksum.hpp"
#include "io/result/results.hpp"

namespace fhd::io {

/// Throws Error where the file cannot be written: no folder, no permission, a directory, one of `inputs` or of the results
/// `prefix`. Called before the work starts.
void check_ismrmrd_images(const std::string& path, const std::string& prefix,
                          const std::vector<std::string>& inputs);
/// Throws Error where a file is there that is no such file of the scan with this checksum. Waits for the checksum only then.
void require_replaceable_images(const std::string& path, const ChecksumInBackground& checksum);

/// Throws Error naming `subject` where the format has no room for so many images of this matrix, or for their numbers in the
/// scan, `largest_number` at most.
void require_ismrmrd_images_room(const std::array<int, 3>& matrix_size, std::int64_t image_count,
                                 std::int64_t largest_number, const std::string& subject);

/// Writes the file `to`, not yet committed. `made_by`: "fhd 0.1.0 least squares". Throws Error.
void write_ismrmrd_images(const AtomicFile& to, const ImageSeries& series, const Provenance& provenance,
                          const std::string& made_by);

}  // namespace fhd::io

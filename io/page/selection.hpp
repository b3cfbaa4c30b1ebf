#pragma once
// The part of a series of images that a page shows.
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"

namespace fhd::io {

/// Returns what the repetitions of a result are: "frame", "bin" (of a motion) or "repetition".
std::string kind_of_repetitions(const hdf5::File& file);

/// Means of blocks of `stride` x `stride` pixels of the same slices of each image of a series. Slices are left out first;
/// where one slice of each image is still too much, pixels become means, and where that would leave less than a thumbnail,
/// some of the images are left out.
struct Selection {
  struct Plane {
    std::size_t image;
    std::int64_t z;
  };
  std::int64_t width = 0, height = 0, stride = 1;
  std::vector<Plane> planes;             ///< all slices of one repetition after the other
  std::vector<std::string> repetitions;  ///< those shown, as the scan counts them, with their names
  std::vector<std::string> slices;       ///< those shown: of the scan, of the volume, or both
  std::string kind;                      ///< of a repetition: kind_of_repetitions
  std::string reduced;                   ///< what is left out, in words
};

/// Selects at most `most_voxels` voxels, of a film (more than two repetitions) three times as many. `images`: what the report
/// says of each.
Selection select_shown(const ImageSeries& series, const nlohmann::ordered_json& images,
                       const std::string& kind, std::size_t most_voxels);

}  // namespace fhd::io

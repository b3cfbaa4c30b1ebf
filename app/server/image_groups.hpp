#pragma once
// Readouts as they come -> readouts of images, as soon as the last of an image is there.
//
// Readouts of one slice, repetition, contrast, phase and set are an image. It is whole
//   - with a readout of its own that is flagged as the last in the slice (where the header counts averages, in the last of
//     them), the repetition or the measurement,
//   - when the header's limits count more than one encoding step and every step and average is there,
//   - when a readout of a later repetition of its slice, contrast, phase and set comes,
//   - at the end.
// What comes for an image that was whole already, a reference too, contradicts flags and limits, and is an error. With readouts_per_frame,
// every so many readouts of a slice, repetition, contrast, phase and set are an image instead.
//
// Noise readouts are of every image. References and navigators are of their own image; images without get the first of
// their slice, whether there was an image with them or not.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/readout_scan.hpp"

namespace fhd::app {

struct ImageKey {
  int slice = 0;
  io::RepetitionCounters counters;
  auto operator<=>(const ImageKey&) const = default;
};

/// All readouts that an image needs.
struct ImageReadouts {
  std::optional<ImageKey> key;  ///< empty: of all images
  std::int64_t frame = -1;      ///< which of the key's; -1: there are none
  std::int64_t count = 0;       ///< readouts of the image itself
  std::vector<io::mrd::SharedReadout> readouts;
};

class ImageGroups {
 public:
  /// `readouts_per_frame`: 0: none. `waits`: everything is one group, whole at the end.
  ImageGroups(const io::mrd::Header& header, std::int64_t readouts_per_frame, bool waits);
  /// Those that are whole with this readout, in the order of their keys. Throws Error.
  std::vector<ImageReadouts> add(io::mrd::SharedReadout readout);
  /// What is left at the end: the images that no flag, counter or limit has ended.
  std::vector<ImageReadouts> take_rest();
  /// Readouts of frames that are not whole, or of images that nothing has ended.
  std::int64_t unfinished_readouts() const;

 private:
  /// Repetitions of one slice, contrast, phase and set follow each other.
  struct RepetitionsTogether {
    bool operator()(const ImageKey& a, const ImageKey& b) const {
      const auto parts = [](const ImageKey& key) {
        const auto& c = key.counters;
        return std::tie(key.slice, c.contrast, c.phase, c.set, c.repetition);
      };
      return parts(a) < parts(b);
    }
  };
  struct Pending {
    std::vector<io::mrd::SharedReadout> image, others;
    std::set<std::pair<int, std::pair<int, int>>> steps;  ///< average, encoding steps
    std::int64_t frames = 0;
  };
  ImageKey key_of(const io::mrd::ReadoutHead& head) const;
  ImageReadouts taken(const ImageKey& key);
  ImageReadouts group_of(const ImageKey& key, Pending& pending);
  void take_earlier(std::vector<ImageReadouts>& whole, const ImageKey& than);
  void keep_others_of_slice(int slice, const std::vector<io::mrd::SharedReadout>& others);
  bool is_last(const io::mrd::ReadoutHead& head) const;
  void require_not_taken(const ImageKey& key) const;
  void count_step(const io::mrd::ReadoutHead& head, Pending& pending) const;

  std::int64_t readouts_per_frame_, steps_of_image_ = 0;  ///< 0: not known
  int last_average_ = 0;
  bool waits_, one_slice_;
  std::vector<io::mrd::SharedReadout> noise_, all_;
  std::map<ImageKey, Pending, RepetitionsTogether> pending_;
  std::map<int, std::vector<io::mrd::SharedReadout>> others_of_slice_;  ///< of its first image that had some
  std::set<ImageKey> taken_;
};

}  // namespace fhd::app

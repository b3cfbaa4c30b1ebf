#pragma once
// Sorts readouts into images as they come, and says when the last readout of an image is there.
//
// Readouts of one slice, repetition, contrast, phase and set are an image. It is whole
//   - with a readout of its own that is flagged as the last in the slice (where the header counts averages, in the last of
//     them), the repetition or the measurement,
//   - when the header's limits count more than one encoding step and every step and average is there,
//   - when a readout of a later repetition of its slice, contrast, phase and set comes,
//   - at the end.
// A readout for an image that was whole already, also a reference, contradicts flags and limits, and is an error. With
// readouts_per_frame, every `readouts_per_frame` readouts of a slice, repetition, contrast, phase and set are an image.
//
// Readouts flagged as surface coil correction are the image until one comes that is not: then they were a prescan, and are left
// out. Until then flags end no image of at most half of the encoding steps, or where their number is not known.
//
// Noise readouts belong to every image. References and navigators belong to their own image; images without any get the
// first of their slice.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/volume_assembler.hpp"

namespace fhd::app {

/// Orders the repetitions of one slice, contrast, phase and set one after the other.
struct ImageKey {
  int slice = 0, contrast = 0, phase = 0, set = 0, repetition = 0;
  auto operator<=>(const ImageKey&) const = default;
};

/// All readouts that an image needs.
struct ImageReadouts {
  std::optional<ImageKey> key;  ///< empty: all images
  std::int64_t frame = -1;      ///< number of the frame with this key; -1: there are no frames
  std::int64_t count = 0;       ///< readouts of the image itself
  std::vector<io::mrd::SharedReadout> readouts;
};

class ImageGroups {
 public:
  /// `readouts_per_frame`: 0: no frames. `waits`: all readouts are one group, whole at the end.
  ImageGroups(const io::mrd::Header& header, std::int64_t readouts_per_frame, bool waits);
  /// Returns the images that are whole with this readout, in the order of their keys. Throws Error.
  std::vector<ImageReadouts> add(io::mrd::SharedReadout readout);
  /// Returns the images that no flag, counter or limit has ended, at the end.
  std::vector<ImageReadouts> take_rest();
  /// Returns how many readouts are of frames that are not whole, or of images that nothing has ended.
  std::int64_t unfinished_readouts() const;

 private:
  struct Pending {
    std::vector<io::mrd::SharedReadout> image, others;
    std::set<std::pair<int, std::pair<int, int>>> steps;  ///< average, encoding steps
    std::int64_t frames = 0;
  };
  ImageKey key_of(const io::mrd::ReadoutHead& head) const;
  using PendingImages = std::map<ImageKey, Pending>;
  void take(PendingImages::iterator from, PendingImages::iterator to, std::vector<ImageReadouts>& whole);
  ImageReadouts group_of(const ImageKey& key, Pending& pending);
  void remember_others_of_slice(int slice, const std::vector<io::mrd::SharedReadout>& others);
  bool is_last(const io::mrd::ReadoutHead& head) const;
  void require_not_taken(const ImageKey& key) const;
  void forget_surface_coil();
  void count_step(const io::mrd::ReadoutHead& head, Pending& pending) const;

  std::int64_t readouts_per_frame_, steps_of_image_ = 0;  ///< 0: not known
  int last_average_ = 0;
  bool waits_, one_slice_;
  bool has_image_ = false;  ///< a readout came that is the image whatever others are
  std::vector<io::mrd::SharedReadout> noise_, all_;
  PendingImages pending_;
  std::map<int, std::vector<io::mrd::SharedReadout>> others_of_slice_;  ///< of its first image that had some
  std::set<ImageKey> taken_;
};

}  // namespace fhd::app

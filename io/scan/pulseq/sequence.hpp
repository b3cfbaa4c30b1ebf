#pragma once
// A Pulseq sequence as it is played: where in k-space and when its ADC events measure, and how they are labelled.
//
//   - The axes are x, y, z of the sequence: read, phase and slice of the image, but those of the magnet with the label NOROT or
//     --trajectory-axes magnet.
//   - Excitations and refocusing pulses: from 1.5 on as `use` says; a pulse of undefined use is an excitation, one of inversion,
//     saturation or preparation neither. Before 1.5 a pulse of less than 90.01 degrees is an excitation, any other a
//     refocusing pulse, but one that is longer than 6 ms and 3.4 to 3.5 ppm below resonance at 1.5, 2.89, 3 or 7 T a
//     saturation. The centre is stated from 1.5 on, else where the amplitude is largest, in the middle of a plateau.
//   - Gradients begin and end as 1.5 states; before, a shape begins as the gradient of the block before has ended, or
//     at 0 behind a delay, and ends where its last two values point to.
//   - Soft delays last as long as their blocks say.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/pulseq/sequence_text.hpp"
#include "recon/trajectory/played_sequence.hpp"

namespace fhd::io::pulseq {

using Labels = std::array<int, label_names.size()>;

class Sequence {
 public:
  /// Plays all blocks. Throws Error where an event is absent, or a block cannot be played.
  explicit Sequence(const SequenceText& text);

  const std::string& path() const { return path_; }
  const PlayedSequence& played() const { return played_; }
  std::int64_t adc_count() const { return played_.acquisition_count(); }
  int label(std::int64_t adc, LabelName name) const {
    return labels_[static_cast<std::size_t>(adc)][static_cast<std::size_t>(name)];
  }
  /// Returns the definition FOV in mm; 0 where there is none.
  const std::array<double, 3>& fov_mm() const { return fov_mm_; }
  /// Returns what was taken for granted, one sentence each.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// Returns name and value of what `fhd info` tells.
  std::vector<std::pair<std::string, std::string>> facts() const;

 private:
  std::string path_, version_, name_;
  std::size_t block_count_;
  std::int64_t other_pulses_ = 0;  ///< for saturation, inversion, ...
  PlayedSequence played_;
  std::vector<Labels> labels_;  ///< of each ADC event
  std::array<double, 3> fov_mm_{};
  std::vector<std::string> remarks_;
};

/// Returns whether `path` is a Pulseq sequence, by its beginning.
bool is_sequence(const std::string& path);
/// Reads a sequence. Throws Error.
Sequence read_sequence(const std::string& path);

/// The content of a sequence for `fhd info`.
struct SequenceDescription {
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> remarks;
};
/// Describes the sequence at `path`. The function whose name ends in `_here` reads in this process. Throws Error.
SequenceDescription describe_sequence(const std::string& path);
SequenceDescription describe_sequence_here(const std::string& path);

}  // namespace fhd::io::pulseq

#pragma once
// Finds the ADC event of a sequence that measured each readout of a scan. Both are in the order of acquisition.
//
//   - Readouts flagged as noise may be none of the sequence (the scanner's own noise scan), and ADC events labelled NOISE may be
//     missing from the scan.
//   - Several readouts in a row may be the parts of one ADC event (MaxAdcSegmentLength): of the same average, repetition, slice, ...,
//     and none as long as the ADC event in time, as lines are whose oversampling was removed.
//   - The scan may have played the sequence several times: for each average, repetition or both; then ADC events labelled ONCE 1 are
//     of the first time alone and ONCE 2 of the last. Or the sequence is that of one volume, and the readouts of each volume are
//     one play of it.
//   - A scan that was stopped has the first readouts of the sequence, or of its last play, alone. That is believed where dwell
//     times and counters agree with the ADC events and their labels, and the scan's own count of readouts has no gap or some
//     counter agrees with a label: readouts that are missing between others would get the positions of those.
//   - Anything else is refused.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/scan/pulseq/sequence.hpp"

namespace fhd::io::pulseq {

/// A readout of a scan.
struct MeasuredReadout {
  std::int64_t sample_count = 0;
  bool is_noise = false;
  int average = 0, repetition = 0;
  std::array<int, 4> others{};  ///< slice, contrast, phase, set
  double dwell_s = 0;           ///< 0: not stated
  int line = 0, partition = 0;
  std::int64_t scan_counter = 0;  ///< counts the readouts that the scanner measured
  bool is_last = false;           ///< flagged as the last of the measurement
};

/// Where a readout lies in the sequence.
struct AdcPlace {
  std::int64_t adc = -1;  ///< -1: no ADC event of the sequence
  std::int64_t first_sample = 0;
};

struct Join {
  std::vector<AdcPlace> places;  ///< of each readout
  std::string sentence;   ///< how readouts and ADC events belong together, where they are not one to one
  std::string missing{};  ///< where the scan ends ahead of the sequence
};

/// Throws Error naming the sequence and `scan` where they do not agree in number or length.
Join join_readouts(const Sequence& sequence, std::span<const MeasuredReadout> readouts,
                   const std::string& scan);

}  // namespace fhd::io::pulseq

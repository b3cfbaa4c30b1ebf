#pragma once
// Readouts of a measurement that a Pulseq sequence has played (ReadOptions::outside.trajectory names it): their positions,
// times and labels.
//
// Labels count where the readouts of the sequence (not the scanner's own noise) say nothing of the kind: a counter that is 0 in
// every readout takes the label (SLC slice, REP repetition, ECO contrast, AVG average, SET set, PHS phase, SEG segment, LIN and
// PAR encoding steps); a flag that no readout has takes the label (NOISE noise, NAV phase
// correction, REF calibration, IMA with REF calibration and image, REV reversed).
#include <memory>

#include "io/scan/mrd/sample_positions.hpp"
#include "io/scan/pulseq/join.hpp"

namespace fhd::io::mrd {

class SequenceReadouts {
 public:
  /// Returns the sequence that `options` name and how the `count` readouts of the measurement lie in it; null where the
  /// trajectory is no sequence. Throws Error where both do not agree.
  static std::shared_ptr<const SequenceReadouts> find(const ReadOptions& options, std::int64_t count,
                                                      const Source& heads, const std::string& scan);

  /// Puts the labels of a readout into its head. Throws Error where they are no counters.
  void put_labels(std::int64_t number, ReadoutHead& head) const;
  /// Returns `source`, its readouts with their labels; `source` itself where there is no sequence.
  static Source labelled(std::shared_ptr<const SequenceReadouts> sequence, Source source);

  const pulseq::Sequence& sequence() const { return sequence_; }
  /// Returns whether a readout has the label NOROT.
  bool is_along_magnet(std::int64_t number) const {
    const auto adc = place_of(number).adc;
    return adc >= 0 && sequence_.label(adc, pulseq::LabelName::NOROT) != 0;
  }
  const std::vector<std::string>& sentences() const { return sentences_; }
  /// Returns the sentence that the scan ends ahead of the sequence; empty where it does not.
  const std::string& missing() const { return missing_; }
  /// Returns whether every readout but noise comes after an excitation.
  bool has_times() const { return has_times_; }
  /// Puts the positions of a readout, in 1/m along the axes of the sequence, at sample m of k [axis][sample].
  void place(std::int64_t number, const ReadoutHead& head, Array<double>& k, std::int64_t m) const;
  /// Computes the times of the samples of a readout, s.
  void times(std::int64_t number, const ReadoutHead& head, double* times_s) const;

 private:
  struct Label {
    pulseq::LabelName name;
    std::uint16_t EncodingCounters::*counter;
  };
  static const std::array<Label, 9> counters;

  explicit SequenceReadouts(pulseq::Sequence sequence) : sequence_(std::move(sequence)) {}
  void look_at(std::int64_t count, const Source& heads, const std::string& scan);
  void tell_dwell_times(const std::vector<float>& dwell_us);
  const pulseq::AdcPlace& place_of(std::int64_t number) const {
    return places_[static_cast<std::size_t>(number)];
  }

  pulseq::Sequence sequence_;
  std::vector<pulseq::AdcPlace> places_;
  std::vector<std::string> sentences_;
  std::string missing_;
  std::array<bool, 9> is_counted_{};  ///< by readouts of the sequence
  std::uint64_t flags_ = 0;           ///< of all readouts of the sequence
  bool has_times_ = true;
};

}  // namespace fhd::io::mrd

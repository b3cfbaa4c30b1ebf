#include "io/scan/mrd/sequence_readouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recon/error.hpp"

namespace fhd::io::mrd {

using pulseq::LabelName;

const std::array<SequenceReadouts::Label, 9> SequenceReadouts::counters{
    {{LabelName::SLC, &EncodingCounters::slice},
     {LabelName::REP, &EncodingCounters::repetition},
     {LabelName::ECO, &EncodingCounters::contrast},
     {LabelName::AVG, &EncodingCounters::average},
     {LabelName::SET, &EncodingCounters::set},
     {LabelName::PHS, &EncodingCounters::phase},
     {LabelName::SEG, &EncodingCounters::segment},
     {LabelName::LIN, &EncodingCounters::kspace_encode_step_1},
     {LabelName::PAR, &EncodingCounters::kspace_encode_step_2}}};

std::shared_ptr<const SequenceReadouts> SequenceReadouts::find(const ReadOptions& options, std::int64_t count,
                                                               const Source& heads, const std::string& scan) {
  const auto& path = options.outside.trajectory;
  if (path.empty() || !pulseq::is_sequence(path)) return nullptr;
  std::shared_ptr<SequenceReadouts> found(new SequenceReadouts(pulseq::read_sequence(path)));
  found->look_at(count, heads, scan);
  return found;
}

void SequenceReadouts::look_at(std::int64_t count, const Source& heads, const std::string& scan) {
  std::vector<pulseq::MeasuredReadout> readouts(static_cast<std::size_t>(count));
  std::vector<float> dwell_us(static_cast<std::size_t>(count));
  std::vector<std::pair<std::uint64_t, unsigned>> marks;  // flags, and a bit for each counter that is not 0
  for (std::int64_t number = 0; number < count; ++number) {
    const auto head = heads(number).head;
    readouts[static_cast<std::size_t>(number)] = {
        head.number_of_samples,
        head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT),
        head.idx.average,
        head.idx.repetition,
        {head.idx.slice, head.idx.contrast, head.idx.phase, head.idx.set},
        head.sample_time_us * 1e-6,
        head.idx.kspace_encode_step_1,
        head.idx.kspace_encode_step_2,
        head.scan_counter,
        head.has_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_MEASUREMENT)};
    dwell_us[static_cast<std::size_t>(number)] = head.sample_time_us;
    unsigned counted = 0;
    for (std::size_t i = 0; i < counters.size(); ++i)
      if (head.idx.*counters[i].counter != 0) counted |= 1U << i;
    marks.emplace_back(head.flags, counted);
  }
  auto join = pulseq::join_readouts(sequence_, readouts, scan);
  places_ = std::move(join.places);
  missing_ = std::move(join.missing);
  for (std::size_t number = 0; number < places_.size(); ++number) {
    if (places_[number].adc < 0) continue;  // the scanner's own noise
    flags_ |= marks[number].first;
    for (std::size_t i = 0; i < counters.size(); ++i)
      is_counted_[i] = is_counted_[i] || (marks[number].second >> i & 1) != 0;
  }
  sentences_ = sequence_.remarks();
  if (!join.sentence.empty()) sentences_.push_back(std::move(join.sentence));
  std::string used;
  for (std::size_t i = 0; i < counters.size(); ++i)
    if (!is_counted_[i] && std::ranges::any_of(places_, [&](const auto& place) {
          return place.adc >= 0 && sequence_.label(place.adc, counters[i].name) != 0;
        }))
      used += fmt::format("{}{}", used.empty() ? "" : ", ",
                          pulseq::label_names[static_cast<std::size_t>(counters[i].name)]);
  if (!used.empty())
    sentences_.push_back(
        fmt::format("Readouts are counted by the labels {} of the sequence, as the scan does not.", used));
  tell_dwell_times(dwell_us);
  std::int64_t unexcited = 0;
  for (std::size_t i = 0; i < places_.size(); ++i)
    unexcited += places_[i].adc >= 0 && !readouts[i].is_noise &&
                 sequence_.label(places_[i].adc, LabelName::NOISE) == 0 &&
                 !sequence_.played().is_excited(places_[i].adc);
  has_times_ = unexcited == 0;
  if (unexcited > 0)
    sentences_.push_back(fmt::format(
        "{} readouts were measured ahead of the first excitation and have no label NOISE: they count as "
        "samples of the image, and no times of samples are known.",
        unexcited));
}

/// Says where the scan states another dwell time than the sequence: it may be another sequence's scan.
void SequenceReadouts::tell_dwell_times(const std::vector<float>& dwell_us) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].adc < 0 || !(dwell_us[i] > 0)) continue;
    const double played_us = sequence_.played().dwell_s(places_[i].adc) * 1e6;
    if (std::abs(dwell_us[i] - played_us) <= 0.01 * played_us) continue;
    sentences_.push_back(fmt::format(
        "Readout {} has a dwell time of {:g} us and its ADC event {:g} us: times are those of the sequence.",
        i, dwell_us[i], played_us));
    return;
  }
}

Source SequenceReadouts::labelled(std::shared_ptr<const SequenceReadouts> sequence, Source source) {
  if (!sequence) return source;
  return [sequence = std::move(sequence), source = std::move(source)](std::int64_t number) {
    auto readout = source(number);
    sequence->put_labels(number, readout.head);
    return readout;
  };
}

void SequenceReadouts::put_labels(std::int64_t number, ReadoutHead& head) const {
  const auto adc = place_of(number).adc;
  if (adc < 0) return;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (is_counted_[i]) continue;
    const int value = sequence_.label(adc, counters[i].name);
    if (value < 0 || value > largest_count)
      throw Error(fmt::format("{}, ADC event {}, label {}", sequence_.path(), adc + 1,
                              pulseq::label_names[static_cast<std::size_t>(counters[i].name)]),
                  fmt::format("0 to {}", largest_count), std::to_string(value));
    head.idx.*counters[i].counter = static_cast<std::uint16_t>(value);
  }
  const auto put = [&](LabelName name, int flag) {
    if (sequence_.label(adc, name) != 0 && !((flags_ >> (flag - 1)) & 1)) head.set_flag(flag);
  };
  put(LabelName::NOISE, ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
  put(LabelName::NAV, ISMRMRD::ISMRMRD_ACQ_IS_PHASECORR_DATA);
  put(LabelName::REV, ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
  if (sequence_.label(adc, LabelName::REF) != 0)
    put(LabelName::REF, sequence_.label(adc, LabelName::IMA) != 0
                            ? ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING
                            : ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION);
}

void SequenceReadouts::place(std::int64_t number, const ReadoutHead& head, Array<double>& k,
                             std::int64_t m) const {
  const auto [adc, first] = place_of(number);
  const auto count = head.sample_count(), samples = k.extent(1);
  double* const at = k.data() + m;
  if (adc < 0) {
    for (std::int64_t axis = 0; axis < 3; ++axis) std::fill_n(at + axis * samples, count, 0);
    return;
  }
  std::vector<double> times_s(static_cast<std::size_t>(count));
  sequence_.played().sample(adc, first + head.first_sample(), count, {at, at + samples, at + 2 * samples},
                            times_s.data());
}

void SequenceReadouts::times(std::int64_t number, const ReadoutHead& head, double* times_s) const {
  const auto [adc, first] = place_of(number);
  if (adc >= 0)
    sequence_.played().times(adc, first + head.first_sample(), head.sample_count(), times_s);
  else
    std::fill_n(times_s, head.sample_count(), 0);
}

}  // namespace fhd::io::mrd

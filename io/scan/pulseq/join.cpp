#include "io/scan/pulseq/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "recon/error.hpp"

namespace fhd::io::pulseq {
namespace {

using Numbers = std::vector<std::int64_t>;  ///< of readouts or of ADC events

class Joining {
 public:
  Joining(const Sequence& sequence, std::span<const MeasuredReadout> readouts, const std::string& scan)
      : sequence_(sequence), readouts_(readouts), scan_(scan) {}

  Join run() {
    const auto readouts = numbers_of_readouts(true), signal = numbers_of_readouts(false);
    const auto adcs = numbers_of_adcs(true), signal_adcs = numbers_of_adcs(false);
    const bool has_noise = signal.size() < readouts.size(), labels_noise = signal_adcs.size() < adcs.size();
    if (joins(readouts, adcs)) return take("");
    if (has_noise && joins(signal, adcs)) return take("Noise readouts are not of the sequence.");
    if (labels_noise && joins(signal, signal_adcs))
      return take("ADC events labelled NOISE are not in the scan, or not those of its noise readouts.");
    for (const auto* played : {&adcs, &signal_adcs})
      for (const auto* measured : {&readouts, &signal}) {
        if (joins_plays(*measured, *played)) return take(sentence_);
        if (joins_volumes(*measured, *played)) return take(sentence_);
      }
    was_stopped_ = !readouts.empty() && !readout(readouts.back()).is_last;
    for (const auto* played : {&adcs, &signal_adcs})
      for (const auto* measured : {&readouts, &signal}) {
        if (!was_stopped_) break;
        sentence_.clear();
        if ((joins(*measured, *played, false, true) || joins_plays(*measured, *played)) && is_credible())
          return take(sentence_);
      }
    refuse();
  }

 private:
  Numbers numbers_of_readouts(bool with_noise) const {
    Numbers numbers;
    for (std::size_t i = 0; i < readouts_.size(); ++i)
      if (with_noise || !readouts_[i].is_noise) numbers.push_back(static_cast<std::int64_t>(i));
    return numbers;
  }
  Numbers numbers_of_adcs(bool with_noise) const {
    Numbers numbers;
    for (std::int64_t adc = 0; adc < sequence_.adc_count(); ++adc)
      if (with_noise || sequence_.label(adc, LabelName::NOISE) == 0) numbers.push_back(adc);
    return numbers;
  }
  const MeasuredReadout& readout(std::int64_t number) const {
    return readouts_[static_cast<std::size_t>(number)];
  }
  Join take(std::string sentence) {
    if (std::ranges::any_of(places_, [](const AdcPlace& place) { return place.first_sample > 0; }))
      sentence += fmt::format("{}Several readouts in a row are taken to be the parts of one ADC event.",
                              sentence.empty() ? "" : " ");
    return {std::move(places_), std::move(sentence), was_stopped_ ? end_of_scan() : ""};
  }
  std::string end_of_scan() const {
    return fmt::format(
        "The scan was stopped: the last {} of {} ADC events of the sequence have no readout, and the image "
        "is made of what is there.",
        missing_, sequence_.adc_count());
  }

  /// Returns whether the scan that joins the beginning of the sequence agrees with it in what else it states: dwell times, and
  /// counters that the sequence labels; and whether it states something that tells that no readout is missing between others.
  bool is_credible() const {
    constexpr std::array<std::pair<LabelName, int (*)(const MeasuredReadout&)>, 6> counters{
        {{LabelName::SLC, [](const MeasuredReadout& one) { return one.others[0]; }},
         {LabelName::ECO, [](const MeasuredReadout& one) { return one.others[1]; }},
         {LabelName::PHS, [](const MeasuredReadout& one) { return one.others[2]; }},
         {LabelName::SET, [](const MeasuredReadout& one) { return one.others[3]; }},
         {LabelName::LIN, [](const MeasuredReadout& one) { return one.line; }},
         {LabelName::PAR, [](const MeasuredReadout& one) { return one.partition; }}}};
    std::array<bool, counters.size()> is_counted{}, is_labelled{}, agrees{};
    agrees.fill(true);
    bool counts_all = true;
    std::size_t joined = 0;
    const MeasuredReadout* before = nullptr;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto adc = places_[i].adc;
      if (adc < 0) continue;
      const auto& one = readouts_[i];
      if (one.is_noise != (sequence_.label(adc, LabelName::NOISE) != 0)) return false;
      const double dwell_s = sequence_.played().dwell_s(adc);
      if (one.dwell_s > 0 && !(std::abs(one.dwell_s - dwell_s) <= 0.01 * dwell_s)) return false;
      for (std::size_t c = 0; c < counters.size(); ++c) {
        const int counted = counters[c].second(one), label = sequence_.label(adc, counters[c].first);
        is_counted[c] = is_counted[c] || counted != 0;
        is_labelled[c] = is_labelled[c] || label != 0;
        agrees[c] = agrees[c] && counted == label;
      }
      counts_all = counts_all && (before == nullptr || one.scan_counter == before->scan_counter + 1);
      before = &one;
      ++joined;
    }
    bool some_agree = false;
    for (std::size_t c = 0; c < counters.size(); ++c) {
      if (!is_counted[c] || !is_labelled[c]) continue;
      if (!agrees[c]) return false;
      some_agree = true;
    }
    return some_agree || (counts_all && joined > 1);
  }

  /// Returns whether a readout, shorter than the ADC event, may be a part of it, whose first is `first`.
  bool may_be_part(const MeasuredReadout& one, const MeasuredReadout& first, std::int64_t adc) const {
    const auto& played = sequence_.played();
    const double whole_s = static_cast<double>(played.sample_count(adc)) * played.dwell_s(adc),
                 own_s = static_cast<double>(one.sample_count) * one.dwell_s;
    return one.average == first.average && one.repetition == first.repetition && one.others == first.others &&
           !(std::abs(own_s - whole_s) <= 0.01 * whole_s);
  }

  /// Gives each of the readouts its place, the first sample of the ADC events in turn. Returns whether all lengths agree.
  /// `may_stop`: ADC events may be left.
  bool joins(std::span<const std::int64_t> readouts, std::span<const std::int64_t> adcs, bool goes_on = false,
             bool may_stop = false) {
    if (!goes_on) places_.assign(readouts_.size(), {});
    std::size_t at = 0;
    std::int64_t done = 0, first = 0;  // samples of adcs[at]; its first readout
    for (const auto number : readouts) {
      if (at == adcs.size()) return false;
      places_[static_cast<std::size_t>(number)] = {adcs[at], done};
      if (done == 0) first = number;
      done += readout(number).sample_count;
      const auto length = sequence_.played().sample_count(adcs[at]);
      if (done > length) return false;
      if (readout(number).sample_count < length && !may_be_part(readout(number), readout(first), adcs[at]))
        return false;
      if (done < length) continue;
      ++at;
      done = 0;
    }
    missing_ = adcs.size() - at;
    return (missing_ == 0 || may_stop) && done == 0 && !readouts.empty();
  }

  /// Joins plays of the whole sequence one after the other, each with an average, a repetition or both of its own.
  bool joins_plays(const Numbers& readouts, const Numbers& adcs) {
    const auto of_average = [](const MeasuredReadout& one) { return std::pair(one.average, 0); };
    const auto of_repetition = [](const MeasuredReadout& one) { return std::pair(0, one.repetition); };
    const auto of_both = [](const MeasuredReadout& one) { return std::pair(one.average, one.repetition); };
    return joins_runs(readouts, adcs, of_average, "average") ||
           joins_runs(readouts, adcs, of_repetition, "repetition") ||
           joins_runs(readouts, adcs, of_both, "average of each repetition");
  }

  template <class Key>
  bool joins_runs(const Numbers& readouts, const Numbers& adcs, Key key, const char* what) {
    std::vector<std::span<const std::int64_t>> runs;
    std::set<std::pair<int, int>> keys;
    for (std::size_t first = 0, last = 0; first < readouts.size(); first = last) {
      const auto own = key(readout(readouts[first]));
      while (last < readouts.size() && key(readout(readouts[last])) == own) ++last;
      runs.emplace_back(readouts.data() + first, last - first);
      if (!keys.insert(own).second) return false;  // they take turns
    }
    if (runs.size() < 2) return false;
    for (std::size_t play = 0; play < runs.size(); ++play) {
      Numbers of_play;
      for (const auto adc : adcs) {
        const int once = sequence_.label(adc, LabelName::ONCE);
        if ((once == 1 && play > 0) || (once == 2 && play + 1 < runs.size())) continue;
        of_play.push_back(adc);
      }
      const bool is_last = play + 1 == runs.size();
      if (!joins(runs[play], of_play, play > 0, was_stopped_ && is_last)) return false;
    }
    sentence_ =
        fmt::format("The scan has played the sequence {} times, once for each {}.", runs.size(), what);
    return true;
  }

  /// Joins the readouts of each volume with the whole sequence.
  bool joins_volumes(const Numbers& readouts, const Numbers& adcs) {
    std::map<std::array<int, 6>, Numbers> volumes;
    for (const auto number : readouts) {
      const auto& one = readout(number);
      volumes[{one.average, one.repetition, one.others[0], one.others[1], one.others[2], one.others[3]}]
          .push_back(number);
    }
    if (volumes.size() < 2) return false;
    bool goes_on = false;
    for (const auto& [key, own] : volumes) {
      if (!joins(own, adcs, goes_on)) return false;
      goes_on = true;
    }
    sentence_ = fmt::format(
        "The sequence is taken to be that of one volume: each of the {} volumes has as many readouts as the "
        "sequence ADC events.",
        volumes.size());
    return true;
  }

  [[noreturn]] void refuse() const {
    const auto readouts = numbers_of_readouts(true), signal = numbers_of_readouts(false),
               adcs = numbers_of_adcs(true), signal_adcs = numbers_of_adcs(false);
    const auto counted = [](std::size_t all, std::size_t noise, const char* what, const char* of_noise) {
      return fmt::format("{} {}{}", all, what,
                         noise > 0 ? fmt::format(" ({} of them {})", noise, of_noise) : "");
    };
    auto expected =
        fmt::format("ADC events for the {} of {}",
                    counted(readouts.size(), readouts.size() - signal.size(), "readouts", "noise"), scan_);
    auto found = counted(adcs.size(), adcs.size() - signal_adcs.size(), "ADC events", "labelled NOISE");
    for (const auto* measured : {&readouts, &signal}) {
      if (measured->size() != adcs.size()) continue;
      for (std::size_t i = 0; i < adcs.size(); ++i) {
        const auto length = readout((*measured)[i]).sample_count,
                   samples = sequence_.played().sample_count(adcs[i]);
        if (length == samples) continue;
        expected = fmt::format("ADC event {} of {} samples, as readout {} of {}", adcs[i] + 1, length,
                               (*measured)[i], scan_);
        throw Error(sequence_.path(), expected, fmt::format("{} samples", samples),
                    "give the sequence that was played, and a scan whose oversampling was not removed");
      }
    }
    throw Error(sequence_.path(), expected, found,
                "give the sequence that was played, and a scan with all of its readouts");
  }

  const Sequence& sequence_;
  std::span<const MeasuredReadout> readouts_;
  const std::string& scan_;
  std::vector<AdcPlace> places_;
  std::string sentence_;
  bool was_stopped_ = false;
  std::size_t missing_ = 0;  ///< ADC events without a readout at the end
};

}  // namespace

Join join_readouts(const Sequence& sequence, std::span<const MeasuredReadout> readouts,
                   const std::string& scan) {
  return Joining(sequence, readouts, scan).run();
}

}  // namespace fhd::io::pulseq

#pragma once
// The text of a Pulseq sequence (.seq), versions 1.2 to 1.5, as tables of events. Times in s, amplitudes in Hz and Hz/m.
// Source: the specification of the format at https://pulseq.github.io.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fhd::io::pulseq {

/// Events by their numbers.
template <class Event>
class Library {
 public:
  void add(int id, Event event) { events_.emplace_back(id, std::move(event)); }
  /// Sorts the events. Returns a number that several of them have.
  std::optional<int> close() {
    std::stable_sort(events_.begin(), events_.end(), [](auto& a, auto& b) { return a.first < b.first; });
    const auto twin = std::adjacent_find(events_.begin(), events_.end(),
                                         [](auto& a, auto& b) { return a.first == b.first; });
    return twin == events_.end() ? std::nullopt : std::optional<int>(twin->first);
  }
  const Event* find(int id) const {
    const auto found = std::lower_bound(events_.begin(), events_.end(), id,
                                        [](auto& event, int number) { return event.first < number; });
    return found == events_.end() || found->first != id ? nullptr : &found->second;
  }
  std::size_t size() const { return events_.size(); }
  auto begin() const { return events_.begin(); }
  auto end() const { return events_.end(); }

 private:
  std::vector<std::pair<int, Event>> events_;
};

struct Block {
  int number = 0;
  std::int64_t duration = 0;  ///< in steps of BlockDurationRaster; before 1.4 the number of a delay, or 0
  int rf = 0;                 ///< 0: none, as below
  std::array<int, 3> gradients{};
  int adc = 0, extension = 0;
};

struct RfEvent {
  double amplitude_hz = 0;
  int magnitude_shape = 0, phase_shape = 0, time_shape = 0;
  double center_s = 0, delay_s = 0;  ///< the centre counts from the end of the delay on; only from 1.5 on
  double frequency_hz = 0;
  char use = 'u';  ///< e, r, i, s, p, o or u, from 1.5 on
};

struct Gradient {
  bool is_trapezoid = false;
  double amplitude = 0, delay_s = 0;
  double rise_s = 0, flat_s = 0, fall_s = 0;  ///< of a trapezoid
  double first = 0, last = 0;                 ///< of a shape, from 1.5 on
  int shape = 0;
  int time_shape = 0;  ///< 0: in the middle of raster times; -1: twice as many
};

struct AdcEvent {
  std::int64_t count = 0;
  double dwell_s = 0, delay_s = 0;
  double frequency_hz = 0, frequency_ppm = 0;
  bool has_phase_shape = false;
};

struct Extension {
  int type = 0, reference = 0, next = 0;
};

/// The labels of the format. Unknown ones are not used.
enum class LabelName : int {
  SLC,
  SEG,
  REP,
  AVG,
  SET,
  ECO,
  PHS,
  LIN,
  PAR,
  ACQ,
  NAV,
  REV,
  SMS,
  REF,
  IMA,
  NOISE,
  NOROT,
  ONCE
};
inline constexpr std::array<std::string_view, 18> label_names{"SLC", "SEG", "REP", "AVG",   "SET",   "ECO",
                                                              "PHS", "LIN", "PAR", "ACQ",   "NAV",   "REV",
                                                              "SMS", "REF", "IMA", "NOISE", "NOROT", "ONCE"};
struct LabelEvent {
  int value = 0;
  std::optional<LabelName> name;
};

struct PackedShape {
  std::int64_t sample_count = 0;
  std::vector<double> numbers;  ///< as in the file
};

enum class ExtensionKind { label_set, label_increment, rotation, soft_delay, other };

struct SequenceText {
  std::string path;
  int minor = 0, revision = 0;  ///< of version 1
  std::map<std::string, std::string, std::less<>> definitions;
  std::vector<Block> blocks;
  Library<RfEvent> rf;
  Library<Gradient> gradients;
  Library<AdcEvent> adcs;
  Library<double> delays_s;
  Library<Extension> extensions;
  Library<LabelEvent> label_sets, label_increments;
  Library<std::array<double, 4>> rotations;  ///< quaternions w, x, y, z
  Library<PackedShape> shapes;
  std::map<int, ExtensionKind> extension_kinds;  ///< by the type of an Extension
  std::vector<std::string> other_extensions;     ///< names of those that are not used
};

/// Returns whether the beginning of a file is that of a sequence: a line [VERSION] behind comments.
bool is_sequence_text(std::string_view beginning);

/// Reads the tables of `text`. Throws Error naming `path`, the line and what is wrong there.
SequenceText parse_sequence(std::string_view text, const std::string& path);

/// Returns the values of a shape. From 1.4 on, as many numbers as values are the values; else differences from value to value
/// are stored, and a run of equal ones as the number twice and how often it comes again. Throws Error where the numbers give
/// another count of values, none, or more than `most`.
std::vector<double> unpacked(const PackedShape& shape, bool may_be_plain, std::int64_t most,
                             const std::string& subject);

}  // namespace fhd::io::pulseq

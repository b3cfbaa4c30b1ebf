#include "io/scan/pulseq/sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <numbers>
#include <set>

#include "io/files/input_file.hpp"
#include "recon/error.hpp"

namespace fhd::io::pulseq {
namespace {

/// The most values of all shapes together.
constexpr std::int64_t most_shape_values = std::int64_t{1} << 26;

/// Returns the numbers of a definition; none where it is absent or no numbers.
std::vector<double> definition_numbers(const SequenceText& text, std::string_view name) {
  const auto found = text.definitions.find(name);
  std::vector<double> numbers;
  if (found == text.definitions.end()) return numbers;
  const char* at = found->second.c_str();
  for (char* end = nullptr;; at = end) {
    const double number = std::strtod(at, &end);
    if (end == at) return numbers;
    numbers.push_back(number);
  }
}

/// Returns the raster time of this name, s.
double raster_of(const SequenceText& text, const char* name, double usual) {
  const auto stated = definition_numbers(text, name);
  if (stated.empty()) return usual;
  if (!(stated[0] >= 1e-9 && stated[0] <= 1))
    throw Error(text.path + ", definition " + name, "a time from 1e-9 to 1 s",
                fmt::format("{:g}", stated[0]));
  return stated[0];
}

/// The events of a sequence as they are played.
class Events {
 public:
  explicit Events(const SequenceText& text)
      : text_(text),
        gradient_raster_s_(raster_of(text, "GradientRasterTime", 10e-6)),
        rf_raster_s_(raster_of(text, "RadiofrequencyRasterTime", 1e-6)) {}

  struct Pulse {
    PulseUse use = PulseUse::none;
    double center_s = 0, end_s = 0;
  };
  Pulse pulse(int id, const std::string& block) {
    const auto& event = required(text_.rf, id, "RF pulse", block);
    if (const auto known = pulses_.find(id); known != pulses_.end()) return known->second;
    return pulses_[id] = text_.minor >= 5 ? stated_pulse(event) : analysed_pulse(id, event);
  }

  /// Returns a gradient whose shape, before 1.5, begins at `first`.
  GradientEvent gradient(int id, double first, const std::string& block) {
    const auto& event = required(text_.gradients, id, "gradient", block);
    if (event.is_trapezoid) return {trapezoid(event), event.amplitude, 0, 0, event.delay_s};
    const auto shape = shape_of(event, fmt::format("{}, gradient {}", text_.path, id));
    GradientEvent played{shape, event.amplitude, event.first, event.last, event.delay_s};
    if (text_.minor >= 5) return played;
    const auto& values = shape->value;
    const double before = values.size() > 1 ? values[values.size() - 2] : values.back();
    played.first = event.delay_s > 0 ? 0 : first;
    played.last =
        event.amplitude * (shape->has_open_ends ? 1.5 * values.back() - 0.5 * before : values.back());
    return played;
  }

  SampleTiming samples(int id, const std::string& block) const {
    const auto& event = required(text_.adcs, id, "ADC event", block);
    return {event.delay_s, event.dwell_s, event.count};
  }

  template <class Event>
  const Event& required(const Library<Event>& library, int id, const char* what,
                        const std::string& whose) const {
    const auto* event = library.find(id);
    if (event == nullptr)
      throw Error(whose, fmt::format("{} {} in the file", what, id), "none", "the file is damaged");
    return *event;
  }

 private:
  /// A pulse of amplitude 1 Hz.
  struct PulseShape {
    double turns_s = 0, center_s = 0, duration_s = 0;
  };

  static Pulse stated_pulse(const RfEvent& event) {
    const double center = event.delay_s + event.center_s;
    if (event.use == 'e' || event.use == 'u') return {PulseUse::excitation, center, center};
    return {event.use == 'r' ? PulseUse::refocusing : PulseUse::none, center, center};
  }

  Pulse analysed_pulse(int id, const RfEvent& event) {
    const std::array shapes{event.magnitude_shape, event.phase_shape, event.time_shape};
    const auto known = pulse_shapes_.find(shapes);
    const auto& shape =
        known != pulse_shapes_.end()
            ? known->second
            : pulse_shapes_
                  .emplace(shapes, pulse_shape(event, fmt::format("{}, RF pulse {}", text_.path, id)))
                  .first->second;
    return {use_of(event, shape), event.delay_s + shape.center_s, event.delay_s + shape.duration_s};
  }

  /// Pulses that spoil, or turn by many angles, have few shapes: each is unpacked once.
  PulseShape pulse_shape(const RfEvent& event, const std::string& subject) {
    const auto magnitude = values_of(event.magnitude_shape, subject);
    std::vector<double> time_s(magnitude.size());
    for (std::size_t i = 0; i < time_s.size(); ++i) time_s[i] = (static_cast<double>(i) + 0.5) * rf_raster_s_;
    double duration = static_cast<double>(time_s.size()) * rf_raster_s_;
    if (event.time_shape > 0) {
      time_s = times_of(event.time_shape, magnitude.size(), rf_raster_s_, subject);
      duration = std::ceil(time_s.back() / rf_raster_s_ - 1e-9) * rf_raster_s_;
    }
    std::vector<double> phase(magnitude.size());
    if (event.phase_shape > 0) phase = values_of(event.phase_shape, subject);
    if (phase.size() != magnitude.size())
      throw Error(subject, "as many phases as amplitudes",
                  fmt::format("{} and {}", phase.size(), magnitude.size()));
    std::complex<double> turns = 0;  // of the magnetisation, by a small pulse
    for (std::size_t i = 0; i + 1 < magnitude.size(); ++i)
      turns += std::polar(1.0, 2 * std::numbers::pi * phase[i]) * magnitude[i] * (time_s[i + 1] - time_s[i]);
    return {std::abs(turns), center_of(magnitude, time_s), duration};
  }

  /// Returns the middle of the times at which a pulse is largest.
  static double center_of(const std::vector<double>& magnitude, const std::vector<double>& time_s) {
    double largest = 0;
    for (const double value : magnitude) largest = std::max(largest, std::abs(value));
    const auto is_peak = [&](double value) { return std::abs(value) >= 0.99999 * largest; };
    const auto first = std::find_if(magnitude.begin(), magnitude.end(), is_peak) - magnitude.begin();
    const auto behind =
        std::find_if(magnitude.rbegin(), magnitude.rend(), is_peak).base() - magnitude.begin();
    return 0.5 * (time_s[static_cast<std::size_t>(first)] + time_s[static_cast<std::size_t>(behind - 1)]);
  }

  static PulseUse use_of(const RfEvent& event, const PulseShape& shape) {
    if (shape.turns_s * std::abs(event.amplitude_hz) * 360 < 90.01) return PulseUse::excitation;
    constexpr double hz_per_tesla = 42.576e6;
    for (const double tesla : {1.5, 2.89, 3.0, 7.0}) {
      const double ppm = event.frequency_hz / (tesla * hz_per_tesla) * 1e6;
      if (shape.duration_s > 6e-3 && ppm >= -3.5 && ppm <= -3.4) return PulseUse::none;
    }
    return PulseUse::refocusing;
  }

  std::shared_ptr<const GradientShape> trapezoid(const Gradient& event) {
    auto& known = trapezoids_[{event.rise_s, event.flat_s, event.fall_s}];
    if (known) return known;
    const double top = event.rise_s + event.flat_s, end = top + event.fall_s;
    known =
        std::make_shared<const GradientShape>(GradientShape{{0, event.rise_s, top, end}, {0, 1, 1, 0}, end});
    return known;
  }

  std::shared_ptr<const GradientShape> shape_of(const Gradient& event, const std::string& subject) {
    auto& known = shapes_[{event.shape, event.time_shape}];
    if (known) return known;
    GradientShape shape;
    shape.value = values_of(event.shape, subject);
    const auto count = shape.value.size();
    if (event.time_shape > 0) {
      shape.time_s = times_of(event.time_shape, count, gradient_raster_s_, subject);
      shape.duration_s = shape.time_s.back();
    } else {
      // -1: values at the ends of raster times, too, without the first and the last.
      const double step = (event.time_shape < 0 ? 0.5 : 1) * gradient_raster_s_;
      for (std::size_t i = 0; i < count; ++i)
        shape.time_s.push_back(0.5 * gradient_raster_s_ + static_cast<double>(i) * step);
      shape.duration_s = shape.time_s.back() + 0.5 * gradient_raster_s_;
      shape.has_open_ends = true;
    }
    known = std::make_shared<const GradientShape>(std::move(shape));
    return known;
  }

  std::vector<double> values_of(int id, const std::string& subject) {
    const auto& packed = required(text_.shapes, id, "shape", subject);
    auto values = unpacked(packed, text_.minor >= 4, most_shape_values - unpacked_,
                           fmt::format("{}, shape {}", text_.path, id));
    unpacked_ += static_cast<std::int64_t>(values.size());
    return values;
  }

  std::vector<double> times_of(int id, std::size_t count, double raster_s, const std::string& subject) {
    auto times = values_of(id, subject);
    if (times.size() != count)
      throw Error(subject, "as many times as values", fmt::format("{} and {}", times.size(), count));
    double last = 0;
    for (double& time : times) {
      if (!(time >= last && time <= 1e9))
        throw Error(subject, "times that ascend from 0", fmt::format("{:g}", time));
      last = time;
      time *= raster_s;
    }
    return times;
  }

  const SequenceText& text_;
  double gradient_raster_s_, rf_raster_s_;
  std::int64_t unpacked_ = 0;
  std::map<int, Pulse> pulses_;
  std::map<std::array<int, 3>, PulseShape> pulse_shapes_;
  std::map<std::array<double, 3>, std::shared_ptr<const GradientShape>> trapezoids_;
  std::map<std::array<int, 2>, std::shared_ptr<const GradientShape>> shapes_;
};

/// Plays the blocks of a sequence.
class Player {
 public:
  Player(const SequenceText& text, PlayedSequence& played, std::vector<Labels>& labels)
      : text_(text),
        events_(text),
        block_raster_s_(raster_of(text, "BlockDurationRaster", 10e-6)),
        played_(played),
        adc_labels_(labels) {}

  void play(const Block& entry) {
    const auto subject = fmt::format("{}, block {}", text_.path, entry.number);
    SequenceBlock block;
    double end_s = 0;
    if (entry.rf > 0) {
      const auto pulse = events_.pulse(entry.rf, subject);
      block.pulse = pulse.use, block.pulse_s = pulse.center_s;
      end_s = pulse.end_s;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int id = entry.gradients[axis];
      if (id == 0) continue;
      auto& gradient = block.gradients[axis] = events_.gradient(id, gradient_ends_[axis], subject);
      end_s = std::max(end_s, gradient.delay_s + gradient.shape->duration_s);
    }
    if (entry.adc > 0) {
      block.samples = events_.samples(entry.adc, subject);
      end_s = std::max(
          end_s, block.samples.delay_s + static_cast<double>(block.samples.count) * block.samples.dwell_s);
    }
    block.duration_s = duration_of(entry, end_s, subject);
    keep_ends(block);
    extend(entry, block, subject);
    played_.play(block);
    if (block.samples.count > 0) adc_labels_.push_back(labels_);
    // Overflow of what is not finite in the end: no position would be one.
    if (!(played_.duration_s() <= 1e9)) throw Error(subject, "a sequence of at most 1e9 s", "a longer one");
  }
  bool has_soft_delays() const { return has_soft_delays_; }

 private:
  double duration_of(const Block& entry, double end_s, const std::string& subject) const {
    if (text_.minor < 4) {
      if (entry.duration == 0) return end_s;
      const auto id = static_cast<int>(std::min<std::int64_t>(entry.duration, 1 << 30));
      return std::max(end_s, events_.required(text_.delays_s, id, "delay", subject));
    }
    const double duration = static_cast<double>(entry.duration) * block_raster_s_;
    if (end_s > duration + 0.5 * block_raster_s_)
      throw Error(subject, fmt::format("events that end within its {:g} ms", duration * 1e3),
                  fmt::format("one that ends at {:g} ms", end_s * 1e3), "the file is damaged");
    return duration;
  }

  /// Keeps the values at which gradients end, where they last as long as the block.
  void keep_ends(const SequenceBlock& block) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto& gradient = block.gradients[axis];
      const bool lasts =
          gradient.shape && gradient.delay_s + gradient.shape->duration_s >= block.duration_s - 1e-12;
      gradient_ends_[axis] = lasts ? gradient.last : 0;
    }
  }

  /// Applies labels and rotations. Extensions are a list, whose last entry was added first.
  void extend(const Block& entry, SequenceBlock& block, const std::string& subject) {
    std::vector<std::pair<const LabelEvent*, bool>> changes;
    std::size_t steps = 0;
    for (int id = entry.extension; id != 0;) {
      const auto& extension = events_.required(text_.extensions, id, "extension", subject);
      if (++steps > text_.extensions.size())
        throw Error(subject, "a list of extensions that ends", "a cycle");
      const auto kind = text_.extension_kinds.find(extension.type);
      if (kind == text_.extension_kinds.end())
        throw Error(subject, fmt::format("a section of extensions of type {}", extension.type), "none");
      if (kind->second == ExtensionKind::label_set || kind->second == ExtensionKind::label_increment) {
        const bool sets = kind->second == ExtensionKind::label_set;
        const auto& library = sets ? text_.label_sets : text_.label_increments;
        changes.emplace_back(&events_.required(library, extension.reference, "label", subject), sets);
      } else if (kind->second == ExtensionKind::rotation) {
        block.rotation =
            rotation_of(events_.required(text_.rotations, extension.reference, "rotation", subject));
      }
      has_soft_delays_ = has_soft_delays_ || kind->second == ExtensionKind::soft_delay;
      id = extension.next;
    }
    for (auto change = changes.rbegin(); change != changes.rend(); ++change)
      if (const auto& [label, sets] = *change; label->name) {
        constexpr std::int64_t most = 1 << 30;
        auto& value = labels_[static_cast<std::size_t>(*label->name)];
        const auto sum = std::int64_t{sets ? 0 : value} + label->value;
        if (sum < -most || sum > most) throw Error(subject, "labels of at most 2^30", std::to_string(sum));
        value = static_cast<int>(sum);
      }
  }

  const SequenceText& text_;
  Events events_;
  double block_raster_s_;
  PlayedSequence& played_;
  std::vector<Labels>& adc_labels_;
  Labels labels_{};
  std::array<double, 3> gradient_ends_{};  ///< of the block before
  bool has_soft_delays_ = false;
};

/// Returns the FOV in mm. The format states it in m; numbers above 2 are mm already.
std::array<double, 3> fov_of(const SequenceText& text, std::vector<std::string>& remarks) {
  const auto stated = definition_numbers(text, "FOV");
  std::array<double, 3> fov{};
  const bool is_mm = std::any_of(stated.begin(), stated.end(), [](double length) { return length > 2; });
  for (std::size_t axis = 0; axis < std::min<std::size_t>(3, stated.size()); ++axis) {
    const double mm = stated[axis] * (is_mm ? 1 : 1000);
    if (mm >= 1e-3 && mm <= 1e5) fov[axis] = mm;
  }
  if (is_mm) remarks.push_back("The FOV of the sequence is taken to be in mm: no FOV is as long in m.");
  return fov;
}

}  // namespace

Sequence::Sequence(const SequenceText& text)
    : path_(text.path),
      version_(fmt::format("1.{}.{}", text.minor, text.revision)),
      block_count_(text.blocks.size()) {
  if (const auto name = text.definitions.find("Name"); name != text.definitions.end()) name_ = name->second;
  fov_mm_ = fov_of(text, remarks_);
  Player player(text, played_, labels_);
  for (const auto& block : text.blocks) {
    player.play(block);
    other_pulses_ += block.rf > 0;
  }
  other_pulses_ -= played_.count_of(PulseUse::excitation) + played_.count_of(PulseUse::refocusing);
  const auto remark = [&](bool applies, const char* sentence) {
    if (applies) remarks_.emplace_back(sentence);
  };
  const auto some_adc = [&](auto is_so) {
    return std::any_of(text.adcs.begin(), text.adcs.end(),
                       [&](const auto& adc) { return is_so(adc.second); });
  };
  remark(player.has_soft_delays(),
         "The sequence has soft delays: they are taken to last as long as the file says.");
  remark(
      some_adc([](const AdcEvent& adc) { return adc.frequency_hz != 0 || adc.frequency_ppm != 0; }),
      "ADC events have frequency offsets, which shift the image: the scanner has applied them to the data.");
  remark(some_adc([](const AdcEvent& adc) { return adc.has_phase_shape; }),
         "ADC events modulate the phase: the scanner has applied this to the data.");
  remark(std::any_of(
             labels_.begin(), labels_.end(),
             [](const Labels& labels) { return labels[static_cast<std::size_t>(LabelName::NOROT)] != 0; }),
         "ADC events with the label NOROT are taken to be along the axes of the magnet, all others along "
         "those of the image.");
  for (const auto& name : text.other_extensions)
    remarks_.push_back(fmt::format("The extension {} of the sequence is not used.", name));
}

bool is_sequence(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  const InputFile file(path);
  std::string beginning(std::min<std::uint64_t>(file.size(), 4096), '\0');
  file.read(0, beginning.data(), beginning.size());
  return is_sequence_text(beginning);
}

Sequence read_sequence(const std::string& path) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 32;
  return Sequence(parse_sequence(content_of_file(path, longest, "a Pulseq sequence that can be read"), path));
}

}  // namespace fhd::io::pulseq

#include "io/scan/pulseq/sequence_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "io/files/words.hpp"
#include "recon/error.hpp"

namespace fhd::io::pulseq {
namespace {

constexpr double us = 1e-6, ns = 1e-9;

/// Walks through the lines that are neither empty nor comments.
class SequenceLines {
 public:
  SequenceLines(std::string_view text, const std::string& path) : rest_(text), path_(path) {}
  /// Goes to the next line. Returns false at the end.
  bool next() {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      line_ = trimmed(rest_.substr(0, end));
      rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
      ++number_;
      if (!line_.empty() && line_[0] != '#') return true;
    }
    line_ = {};
    return false;
  }
  std::string_view line() const { return line_; }
  std::string subject() const { return fmt::format("{}, line {}", path_, number_); }

 private:
  std::string_view rest_, line_;
  const std::string& path_;
  std::int64_t number_ = 0;
};

/// The words of a line.
class SequenceRow {
 public:
  explicit SequenceRow(const SequenceLines& lines) : lines_(lines) {
    for (auto rest = lines.line(); !rest.empty() && count_ < most_words;) {
      const auto end = std::min(rest.find_first_of(blanks), rest.size());
      words_[count_++] = rest.substr(0, end);
      rest = trimmed(rest.substr(end));
    }
  }
  std::size_t count() const { return count_; }
  std::string_view word(std::size_t i) const { return i < count_ ? words_[i] : std::string_view(); }
  [[noreturn]] void refuse(const std::string& expected, std::string_view found) const {
    throw Error(lines_.subject(), expected, "'" + std::string(found.substr(0, 40)) + "'");
  }
  void require_count(std::initializer_list<std::size_t> counts, const char* what) const {
    if (std::find(counts.begin(), counts.end(), count_) != counts.end()) return;
    throw Error(lines_.subject(), fmt::format("{} numbers of {}", *counts.begin(), what),
                std::to_string(count_));
  }
  double number(std::size_t i) const {
    const auto text = word(i);
    double value = 0;
    const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
    const bool is_tiny = error == std::errc::result_out_of_range && text.find("e-") != text.npos;
    if (is_tiny) return 0;
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      refuse("a finite number", text);
    return value;
  }
  /// Returns a number that is a time of at least 0 in `unit`, in s.
  double time(std::size_t i, double unit) const {
    const double value = number(i) * unit;
    if (!(value >= 0 && value <= 1e6)) refuse("a time from 0 to 1000000 s", word(i));
    return value;
  }
  std::int64_t integer(std::size_t i, std::int64_t least, std::int64_t most) const {
    const double value = number(i);
    if (value != std::floor(value) || value < static_cast<double>(least) || value > static_cast<double>(most))
      refuse(fmt::format("a whole number from {} to {}", least, most), word(i));
    return static_cast<std::int64_t>(value);
  }
  int id(std::size_t i, int least = 0) const {
    return static_cast<int>(integer(i, least, std::numeric_limits<int>::max()));
  }

 private:
  static constexpr std::size_t most_words = 16;
  const SequenceLines& lines_;
  std::array<std::string_view, most_words> words_;
  std::size_t count_ = 0;
};

class SequenceParser {
 public:
  SequenceParser(std::string_view text, const std::string& path) : lines_(text, path) { found_.path = path; }

  SequenceText parse() {
    bool more = lines_.next();
    while (more) {
      const auto heading = lines_.line();
      if (heading.starts_with('['))
        more = section(heading.substr(0, heading.find(']') + 1));
      else if (heading.starts_with("extension "))
        more = extension_section();
      else
        throw Error(lines_.subject(), "a section of a Pulseq sequence, as [BLOCKS]",
                    "'" + std::string(heading.substr(0, 40)) + "'");
    }
    if (!has_version_) throw Error(found_.path, "a Pulseq sequence with a section [VERSION]", "none");
    if (found_.blocks.empty()) throw Error(found_.path, "a section [BLOCKS] with blocks", "none");
    close();
    return std::move(found_);
  }

 private:
  /// Calls read(row) for each line up to the next section. Returns whether there is one.
  template <class Read>
  bool rows(Read read) {
    while (lines_.next()) {
      if (lines_.line().starts_with('[') || lines_.line().starts_with("extension ")) return true;
      read(SequenceRow(lines_));
    }
    return false;
  }

  bool section(std::string_view name) {
    const auto subject = lines_.subject();
    if (name == "[VERSION]") return version();
    if (name == "[SIGNATURE]") return rows([](const SequenceRow&) {});
    if (name == "[DEFINITIONS]")
      return rows([&](const SequenceRow& row) {
        found_.definitions[std::string(row.word(0))] = trimmed(lines_.line().substr(row.word(0).size()));
      });
    if (!has_version_) throw Error(subject, "[VERSION] ahead of other sections", std::string(name));
    if (name == "[BLOCKS]") return rows([&](const SequenceRow& row) { add_block(row); });
    if (name == "[RF]") return rows([&](const SequenceRow& row) { add_rf(row); });
    if (name == "[GRADIENTS]") return rows([&](const SequenceRow& row) { add_gradient(row); });
    if (name == "[TRAP]") return rows([&](const SequenceRow& row) { add_trapezoid(row); });
    if (name == "[ADC]") return rows([&](const SequenceRow& row) { add_adc(row); });
    if (name == "[SHAPES]") return shapes();
    if (name == "[DELAYS]")
      return rows([&](const SequenceRow& row) {
        row.require_count({2}, "a delay: number and time");
        found_.delays_s.add(row.id(0, 1), row.time(1, us));
      });
    if (name == "[EXTENSIONS]")
      return rows([&](const SequenceRow& row) {
        row.require_count({4}, "an extension: number, type, reference and next");
        found_.extensions.add(row.id(0, 1), {row.id(1), row.id(2), row.id(3)});
      });
    throw Error(subject, "a section of Pulseq 1.2 to 1.5", "'" + std::string(name.substr(0, 40)) + "'");
  }

  bool version() {
    int major = 0;
    const auto heading = lines_.subject();
    const bool more = rows([&](const SequenceRow& row) {
      if (row.word(0) == "major") major = row.id(1);
      if (row.word(0) == "minor") found_.minor = row.id(1);
      if (row.word(0) == "revision")  // "0", or "0post1"
        found_.revision =
            row.word(1).empty() || row.word(1)[0] < '0' || row.word(1)[0] > '9' ? 0 : row.word(1)[0] - '0';
    });
    if (major != 1 || found_.minor < 2 || found_.minor > 5)
      throw Error(heading, "a Pulseq sequence of version 1.2 to 1.5",
                  fmt::format("version {}.{}", major, found_.minor),
                  "write it again with a newer Pulseq, or give the trajectory in another format");
    has_version_ = true;
    return more;
  }

  void add_block(const SequenceRow& row) {
    row.require_count({8, found_.minor == 2 ? 7U : 8U}, "a block");
    Block block{row.id(0),
                row.integer(1, 0, std::int64_t{1} << 40),
                row.id(2),
                {row.id(3), row.id(4), row.id(5)},
                row.id(6)};
    if (row.count() == 8) block.extension = row.id(7);
    found_.blocks.push_back(block);
  }

  void add_rf(const SequenceRow& row) {
    RfEvent rf{row.number(1), row.id(2), row.id(3)};
    if (found_.minor >= 5) {
      row.require_count({12}, "an RF pulse");
      rf.time_shape = row.id(4), rf.center_s = row.time(5, us), rf.delay_s = row.time(6, us);
      rf.frequency_hz = row.number(9);
      rf.use = row.word(11)[0];
    } else if (found_.minor == 4) {
      row.require_count({8}, "an RF pulse");
      rf.time_shape = row.id(4), rf.delay_s = row.time(5, us), rf.frequency_hz = row.number(6);
    } else {
      row.require_count({7}, "an RF pulse");
      rf.delay_s = row.time(4, us), rf.frequency_hz = row.number(5);
    }
    found_.rf.add(row.id(0, 1), rf);
  }

  void add_gradient(const SequenceRow& row) {
    Gradient gradient{false, row.number(1)};
    std::size_t at = 2;
    if (found_.minor >= 5) {
      row.require_count({7}, "a gradient");
      gradient.first = row.number(2), gradient.last = row.number(3);
      at = 4;
    } else {
      row.require_count({found_.minor == 4 ? 5U : 4U}, "a gradient");
    }
    gradient.shape = row.id(at++);
    if (found_.minor >= 4) gradient.time_shape = row.id(at++, -1);
    gradient.delay_s = row.time(at, us);
    found_.gradients.add(row.id(0, 1), gradient);
  }

  void add_trapezoid(const SequenceRow& row) {
    row.require_count({6}, "a trapezoid");
    Gradient gradient{true,           row.number(1), row.time(5, us), row.time(2, us), row.time(3, us),
                      row.time(4, us)};
    found_.gradients.add(row.id(0, 1), gradient);
  }

  void add_adc(const SequenceRow& row) {
    AdcEvent adc{row.integer(1, 1, std::int64_t{1} << 31), row.time(2, ns), row.time(3, us)};
    if (found_.minor >= 5) {
      row.require_count({9}, "an ADC event");
      adc.frequency_ppm = row.number(4), adc.frequency_hz = row.number(6);
      adc.has_phase_shape = row.id(8) > 0;
    } else {
      row.require_count({6}, "an ADC event");
      adc.frequency_hz = row.number(4);
    }
    if (!(adc.dwell_s > 0)) row.refuse("a dwell time above 0", row.word(2));
    found_.adcs.add(row.id(0, 1), adc);
  }

  bool shapes() {
    int id = 0;
    PackedShape shape;
    const auto finish = [&] {
      if (id > 0) found_.shapes.add(id, std::move(shape));
      shape = {};
    };
    const bool more = rows([&](const SequenceRow& row) {
      if (row.word(0) == "shape_id") {
        finish();
        id = row.id(1, 1);
      } else if (row.word(0) == "num_samples") {
        shape.sample_count = row.integer(1, 1, std::int64_t{1} << 40);
      } else {
        if (id == 0) row.refuse("shape_id ahead of the numbers of a shape", row.word(0));
        shape.numbers.push_back(row.number(0));
      }
    });
    finish();
    return more;
  }

  bool extension_section() {
    const SequenceRow heading(lines_);
    const auto name = heading.word(1);
    const int type = heading.id(2, 1);
    auto kind = ExtensionKind::other;
    if (name == "LABELSET") kind = ExtensionKind::label_set;
    if (name == "LABELINC") kind = ExtensionKind::label_increment;
    if (name == "ROTATIONS") kind = ExtensionKind::rotation;
    if (name == "DELAYS") kind = ExtensionKind::soft_delay;
    if (!found_.extension_kinds.emplace(type, kind).second)
      heading.refuse("each extension with a type of its own", heading.word(2));
    if (kind == ExtensionKind::other && name != "TRIGGERS")
      found_.other_extensions.emplace_back(name.substr(0, 40));
    return rows([&](const SequenceRow& row) {
      if (kind == ExtensionKind::label_set || kind == ExtensionKind::label_increment) {
        row.require_count({3}, "a label: number, value and name");
        constexpr std::int64_t most = 1 << 30;
        LabelEvent label{static_cast<int>(row.integer(1, -most, most)), {}};
        const auto known = std::find(label_names.begin(), label_names.end(), row.word(2));
        if (known != label_names.end()) label.name = static_cast<LabelName>(known - label_names.begin());
        (kind == ExtensionKind::label_set ? found_.label_sets : found_.label_increments)
            .add(row.id(0, 1), label);
      } else if (kind == ExtensionKind::rotation) {
        row.require_count({5}, "a rotation: number and quaternion");
        std::array<double, 4> q{row.number(1), row.number(2), row.number(3), row.number(4)};
        const double length = std::hypot(std::hypot(q[0], q[1]), std::hypot(q[2], q[3]));
        if (!(std::abs(length - 1) <= 0.01)) row.refuse("a quaternion of length 1", lines_.line());
        found_.rotations.add(row.id(0, 1), q);
      }
    });
  }

  void close() {
    const auto require = [&](auto& library, const char* what) {
      if (const auto id = library.close())
        throw Error(found_.path, fmt::format("one {} {}", what, *id), "several");
    };
    require(found_.rf, "RF pulse"), require(found_.gradients, "gradient"), require(found_.adcs, "ADC event");
    require(found_.delays_s, "delay"), require(found_.extensions, "extension"),
        require(found_.shapes, "shape");
    require(found_.label_sets, "label"), require(found_.label_increments, "label");
    require(found_.rotations, "rotation");
  }

  SequenceLines lines_;
  SequenceText found_;
  bool has_version_ = false;
};

}  // namespace

bool is_sequence_text(std::string_view beginning) {
  const std::string nowhere;
  SequenceLines lines(beginning, nowhere);
  return lines.next() && lines.line() == "[VERSION]";
}

SequenceText parse_sequence(std::string_view text, const std::string& path) {
  return SequenceParser(text, path).parse();
}

std::vector<double> unpacked(const PackedShape& shape, bool may_be_plain, std::int64_t most,
                             const std::string& subject) {
  const auto& numbers = shape.numbers;
  if (shape.sample_count < 1 || shape.sample_count > most)
    throw Error(subject, fmt::format("shapes of 1 to {} values", most), std::to_string(shape.sample_count));
  const auto count = static_cast<std::size_t>(shape.sample_count);
  if (may_be_plain && numbers.size() == count) return numbers;
  const auto refuse = [&](const std::string& found) {
    throw Error(subject, fmt::format("numbers that make {} values", count), found, "the file is damaged");
  };
  std::vector<double> values;
  values.reserve(count);
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    double times = 1;
    const bool is_run = i + 1 < numbers.size() && numbers[i] == numbers[i + 1];
    if (is_run) {
      if (i + 2 >= numbers.size()) refuse("a run without its length");
      times = 2 + numbers[i + 2];
      if (!(times >= 2) || times != std::floor(times)) refuse(fmt::format("a run of {:g}", times));
    }
    if (times > static_cast<double>(count - values.size())) refuse("more");
    for (auto left = static_cast<std::size_t>(times); left > 0; --left) values.push_back(sum += numbers[i]);
    i += is_run ? 3 : 1;
  }
  if (values.size() != count) refuse(std::to_string(values.size()));
  return values;
}

}  // namespace fhd::io::pulseq

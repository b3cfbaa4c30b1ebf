#include "io/scan/mrd/mrd_2.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <chrono>
#include <limits>
#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/files/json_text.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view yardl_magic = "yardl";
constexpr auto convert_mrd_2 = "write it as ISMRMRD with the mrd_to_ismrmrd of its version";

/// Reads numbers and texts of yardl. Errors name the part.
class YardlCursor : public StreamCursor {
 public:
  using StreamCursor::StreamCursor;
  const char* part = "the first bytes";

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    throw Error(fmt::format("{} before byte {}", part, offset()), expected, found,
                "the file is damaged: copy it again");
  }
  void require(std::uint64_t count, std::uint64_t bytes_each = 1) const {
    StreamCursor::require(count, part, bytes_each);
  }
  void read(std::span<std::byte> bytes) { StreamCursor::read(bytes, part); }
  void skip(std::uint64_t count, std::uint64_t bytes_each = 1) {
    require(count, bytes_each);
    StreamCursor::skip(count * bytes_each, part);
  }
  template <class T>
  T value() {
    std::array<std::byte, sizeof(T)> bytes;
    read(bytes);
    return std::bit_cast<T>(bytes);
  }
  /// Returns an unsigned number of at most `most`.
  std::uint64_t number(std::uint64_t most = UINT64_MAX) {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = value<std::uint8_t>();
      number |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte >= 0x80) continue;
      if (number > most) fail(fmt::format("a number of at most {}", most), std::to_string(number));
      return number;
    }
    fail("a number of at most 64 bits", "a longer one");
  }
  std::int64_t signed_number() {
    const auto zigzag = number();
    return static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
  }
  /// Returns the number of a case, below `cases`.
  std::size_t choice(std::size_t cases) {
    const auto number = value<std::uint8_t>();
    if (number >= cases) fail(fmt::format("one of {} kinds", cases), fmt::format("kind {}", number));
    return number;
  }
  std::string text(std::uint64_t most) {
    const auto length = number(most);
    require(length);
    std::string text(length, '\0');
    read(std::as_writable_bytes(std::span(text)));
    return text;
  }
};

/// Returns ISMRMRD's name of a field or symbol of the header; most are the same.
std::string name_in_xml(const std::string& name) {
  static const std::map<std::string, std::string> others{
      {"patientWeightKg", "patientWeight_kg"},
      {"patientHeightM", "patientHeight_m"},
      {"systemFieldStrengthT", "systemFieldStrength_T"},
      {"h1resonanceFrequencyHz", "H1resonanceFrequency_Hz"},
      {"fieldOfViewMm", "fieldOfView_mm"},
      {"tR", "TR"},
      {"tE", "TE"},
      {"tI", "TI"},
      {"flipAngleDeg", "flipAngle_deg"},
      {"sequenceType", "sequence_type"},
      {"echoSpacing", "echo_spacing"},
      {"multibandFactor", "multiband_factor"},
      {"noacceleration", "other"}};
  if (const auto other = others.find(name); other != others.end()) return other->second;
  if (name.starts_with("user") && name.size() == 5) return "user_" + name.substr(4);
  if (name.starts_with("kspaceEncodingStep")) return "kspace_encoding_step_" + name.substr(18);
  return name;
}

/// Values by the types of a schema, which become elements of XML, or are passed over. Every value has a byte at least, so that
/// a file ends before its types do.
class YardlValues {
 public:
  YardlValues(const Json& schema, YardlCursor& cursor) : cursor_(cursor), begin_(cursor.offset()) {
    for (const auto& type : schema.at("types")) types_.emplace(text_in(type.at("name")), &type);
  }

  using Bindings = std::map<std::string_view, const Json*>;  ///< of the parameters of a type
  /// Reads a value and adds it to `parent`, which may be empty, as elements `name`: one for each item of a vector, none where
  /// an optional value is absent.
  void read(const Json& stated, const std::string& name = {}, pugi::xml_node parent = {},
            const Bindings& bindings = {}) {
    const Depth depth(*this);
    const auto& type = bound(stated, bindings);
    if (type.is_string()) {
      read_named(text_in(type), {}, name, parent);
    } else if (type.is_array()) {
      const auto& chosen = type.at(cursor_.choice(type.size()));
      if (chosen.is_null()) return;
      read(chosen.is_object() && chosen.contains("tag") ? chosen.at("type") : chosen, name, parent, bindings);
    } else if (type.contains("name")) {
      std::vector<const Json*> arguments;
      for (const auto& each : type.at("typeArguments")) arguments.push_back(&bound(each, bindings));
      read_named(text_in(type.at("name")), arguments, name, parent);
    } else {
      read_items(type, name, parent, bindings);
    }
  }

  /// Returns a word for each field of a record, "scanCounter:?uint32 "; fields of records within it stand in their place.
  std::string words_of(const Json& record) {
    constexpr std::size_t longest = 4096;
    const Depth depth(*this);
    std::string words;
    for (const auto& field : record.at("fields")) {
      const auto word = word_of(field.at("type"));
      words += word.ends_with(' ') ? word : text_in(field.at("name")) + ":" + word + " ";
      if (words.size() > longest) cursor_.fail("some 30 fields of an acquisition", "many more");
    }
    return words;
  }
  const Json& definition(std::string_view name) const {
    const auto found = types_.find(name.substr(name.rfind('.') + 1));
    if (found == types_.end()) cursor_.fail("a type of the schema", "'" + std::string(name) + "'");
    return *found->second;
  }

 private:
  /// Counts types within types, of which hostile schemas have no end.
  struct Depth {
    explicit Depth(YardlValues& of) : values(of) {
      constexpr int deepest = 64;
      if (++values.depth_ > deepest)
        values.cursor_.fail(fmt::format("types at most {} deep", deepest), "deeper ones");
    }
    ~Depth() { --values.depth_; }
    YardlValues& values;
  };

  static const std::string& text_in(const Json& json) { return json.get_ref<const std::string&>(); }
  static const Json& bound(const Json& type, const Bindings& bindings) {
    const auto found = type.is_string() ? bindings.find(text_in(type)) : bindings.end();
    return found == bindings.end() ? type : *found->second;
  }

  enum Kind : std::uint64_t { other = 0, text = 100, signed_varint, unsigned_varint };
  /// Returns the bytes of a primitive type of fixed size, or the kind of another.
  static std::uint64_t kind_of(std::string_view type) {
    static const std::map<std::string_view, std::uint64_t> kinds{{"bool", 1},
                                                                 {"int8", 1},
                                                                 {"uint8", 1},
                                                                 {"float32", 4},
                                                                 {"float64", 8},
                                                                 {"complexfloat32", 8},
                                                                 {"complexfloat64", 16},
                                                                 {"string", text},
                                                                 {"int16", signed_varint},
                                                                 {"int32", signed_varint},
                                                                 {"int64", signed_varint},
                                                                 {"date", signed_varint},
                                                                 {"time", signed_varint},
                                                                 {"datetime", signed_varint},
                                                                 {"uint16", unsigned_varint},
                                                                 {"uint32", unsigned_varint},
                                                                 {"uint64", unsigned_varint},
                                                                 {"size", unsigned_varint}};
    const auto kind = kinds.find(type);
    return kind == kinds.end() ? other : kind->second;
  }

  std::string word_of(const Json& type) {
    const Depth depth(*this);
    if (type.is_array() && type.size() == 2 && type.at(0).is_null()) return "?" + word_of(type.at(1));
    if (type.is_object() && type.contains("vector")) return "*" + word_of(type.at("vector").at("items"));
    if (type.is_object() && type.contains("array")) {
      const auto& array = type.at("array");
      std::string lengths;
      for (const auto& each : array.at("dimensions"))
        lengths += each.contains("length") ? each.at("length").dump() + "," : "n,";
      return "[" + lengths + "]" + word_of(array.at("items"));
    }
    if (!type.is_string()) return "another type";
    const auto& name = text_in(type);
    if (name.find('.') == name.npos) return name;
    const auto& own = definition(name);
    return own.contains("fields") ? words_of(own) : word_of(own.at(own.contains("base") ? "base" : "type"));
  }

  void read_named(const std::string& type, const std::vector<const Json*>& arguments, const std::string& name,
                  pugi::xml_node parent) {
    if (kind_of(type) != other) return put(name, text_of(type), parent);
    const auto& own = definition(type);
    Bindings bindings;
    if (own.contains("typeParameters"))
      for (const auto& each : own.at("typeParameters"))
        bindings.emplace(text_in(each), arguments.at(bindings.size()));
    if (own.contains("values")) return put(name, symbol_of(own), parent);
    if (!own.contains("fields")) return read(own.at("type"), name, parent, bindings);
    if (own.at("fields").empty()) cursor_.fail("a record with fields", "none");
    const auto element = child_of(parent, name);
    for (const auto& field : own.at("fields"))
      read(field.at("type"), text_in(field.at("name")), element, bindings);
  }

  /// Reads a value of an enumeration, and returns its symbol as ISMRMRD has it: "HFS" for "hFS".
  std::string symbol_of(const Json& enumeration) {
    constexpr std::size_t most = 256;
    auto symbol = text_of(enumeration.contains("base") ? text_in(enumeration.at("base")) : "int32");
    if (enumeration.at("values").size() > most) cursor_.fail("at most 256 symbols", "more");
    for (const auto& each : enumeration.at("values"))
      if (each.at("value").dump() == symbol) {
        symbol = name_in_xml(text_in(each.at("symbol")));
        break;
      }
    if (const auto& name = text_in(enumeration.at("name"));
        name == "PatientPosition" || name == "PatientGender")
      for (char& c : symbol) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return symbol;
  }

  void read_items(const Json& type, const std::string& name, pugi::xml_node parent,
                  const Bindings& bindings) {
    if (type.contains("map")) {
      for (auto items = cursor_.number(); items > 0; --items)
        for (const auto part : {"keys", "values"}) read(type.at("map").at(part), name, {}, bindings);
      return;
    }
    const bool is_array = type.contains("array");
    const auto& list = type.at(is_array ? "array" : "vector");
    std::uint64_t items = 1;
    const auto add_length = [&](const Json& dimension) {
      const bool is_stated = dimension.is_object() && dimension.contains("length");
      const auto length = is_stated ? dimension.at("length").get<std::uint64_t>() : cursor_.number();
      if (is_stated && length == 0) cursor_.fail("a length above 0", "0");
      if (items > 0) cursor_.require(length, items);
      items *= length;
    };
    const auto has_rank = list.contains("dimensions");
    if (!is_array)
      add_length(list);
    else if (has_rank && list.at("dimensions").is_array())
      for (const auto& dimension : list.at("dimensions")) add_length(dimension);
    else
      for (auto rank = has_rank ? list.at("dimensions").get<std::uint64_t>() : cursor_.number(64); rank > 0;
           --rank)
        add_length({});
    const auto& item = bound(list.at("items"), bindings);
    const auto size = item.is_string() ? kind_of(text_in(item)) : other;
    const auto to = is_array ? pugi::xml_node() : parent;
    if (!to && size != other && size < text) return cursor_.skip(items, size);
    if (!to && size > text)  // of images there are many
      for (; items > 0; --items) cursor_.number();
    for (; items > 0; --items) read(item, name, to, bindings);
  }

  /// Returns a primitive value as text; dates and times by ISO 8601.
  std::string text_of(const std::string& type) {
    constexpr std::uint64_t longest = 1 << 22;
    const auto kind = kind_of(type);
    if (kind == text) return cursor_.text(longest);
    if (type == "float32") return fmt::format("{}", cursor_.value<float>());
    if (type == "float64") return fmt::format("{}", cursor_.value<double>());
    if (kind == unsigned_varint) return std::to_string(cursor_.number());
    if (kind == other) cursor_.fail("a primitive type", "'" + type + "'");
    if (kind != signed_varint) return cursor_.skip(kind), "";  // the header has none
    const auto number = cursor_.signed_number();
    if (type == "date") {
      const std::chrono::year_month_day date{
          std::chrono::sys_days{std::chrono::days{std::clamp<std::int64_t>(number, -700'000, 2'900'000)}}};
      return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    }
    if (type != "time") return std::to_string(number);
    const auto seconds = number / 1'000'000'000;
    return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  }

  void put(const std::string& name, const std::string& value, pugi::xml_node parent) {
    if (parent) child_of(parent, name).text().set(value.c_str());
  }

  /// Adds an element `name` to `parent`, and returns it; an empty one where that is empty.
  pugi::xml_node child_of(pugi::xml_node parent, const std::string& name) {
    constexpr std::uint64_t longest_header = 1 << 22;
    if (!parent) return {};
    if (cursor_.offset() - begin_ > longest_header) cursor_.fail("a header of at most 4 MiB", "more");
    return parent.append_child(name_in_xml(name).c_str());
  }

  YardlCursor& cursor_;
  std::uint64_t begin_;
  std::map<std::string_view, const Json*> types_;
  int depth_ = 0;
};

/// Throws Error unless an acquisition has the fields of all known versions, of which 2.0 has no record "head" around most.
void require_known(YardlValues& values) {
  constexpr std::string_view known =
      "flags:uint64 kspaceEncodeStep1:?uint32 kspaceEncodeStep2:?uint32 average:?uint32 slice:?uint32 "
      "contrast:?uint32 phase:?uint32 repetition:?uint32 set:?uint32 segment:?uint32 user:*uint32 "
      "measurementUid:uint32 scanCounter:?uint32 acquisitionTimeStamp:?uint32 physiologyTimeStamp:*uint32 "
      "channelOrder:*uint32 discardPre:?uint32 discardPost:?uint32 centerSample:?uint32 "
      "encodingSpaceRef:?uint32 sampleTimeUs:?float32 position:[3,]float32 readDir:[3,]float32 "
      "phaseDir:[3,]float32 sliceDir:[3,]float32 patientTablePosition:[3,]float32 userInt:*int32 "
      "userFloat:*float32 data:[n,n,]complexfloat32 trajectory:[n,n,]float32 ";
  const auto found = values.words_of(values.definition("Acquisition"));
  if (found == known) return;
  auto at = static_cast<std::size_t>(std::ranges::mismatch(known, found).in1 - known.begin());
  at = known.rfind(' ', at) + 1;  // npos + 1 is 0
  const auto word = [at](std::string_view words) {
    return at < words.size() ? fmt::format("'{}'", words.substr(at, words.find(' ', at) - at)) : "its end";
  };
  throw Error("the schema's Acquisition", "that of MRD 2.0 to 2.1 with " + word(known), word(found),
              convert_mrd_2);
}

/// Reads the head of an acquisition, whose fields are those of require_known, up to its arrays.
ReadoutHead head_at(YardlCursor& cursor) {
  ReadoutHead head{};
  cursor.part = "an acquisition";
  const auto optional = [&](auto& member) {
    using Number = std::remove_reference_t<decltype(member)>;
    if (cursor.choice(2) == 1)
      member = static_cast<Number>(cursor.number(std::numeric_limits<Number>::max()));
  };
  // ISMRMRD has no room for more: the rest of a list is passed over.
  const auto read_list = [&](auto list, auto read_item) {
    const auto count = cursor.number();
    cursor.require(count);
    for (std::uint64_t i = 0; i < count; ++i)
      if (const auto item = read_item(); i < list.size())
        list[i] = static_cast<typename decltype(list)::value_type>(item);
  };
  const auto number = [&] { return cursor.number(UINT32_MAX); };
  auto& idx = head.idx;
  head.flags = cursor.number();
  for (auto* each : {&idx.kspace_encode_step_1, &idx.kspace_encode_step_2, &idx.average, &idx.slice,
                     &idx.contrast, &idx.phase, &idx.repetition, &idx.set, &idx.segment})
    optional(*each);
  read_list(std::span(idx.user), number);
  head.measurement_uid = static_cast<std::uint32_t>(number());
  optional(head.scan_counter);
  optional(head.acquisition_time_stamp);
  read_list(std::span(head.physiology_time_stamp), number);
  read_list(std::span<std::uint32_t>(), number);  // the channels' numbers
  for (auto* each : {&head.discard_pre, &head.discard_post, &head.center_sample, &head.encoding_space_ref})
    optional(*each);
  if (cursor.choice(2) == 1) head.sample_time_us = cursor.value<float>();
  for (auto* each :
       {&head.position, &head.read_dir, &head.phase_dir, &head.slice_dir, &head.patient_table_position})
    cursor.read(std::as_writable_bytes(std::span(*each)));
  read_list(std::span(head.user_int), [&] { return cursor.signed_number(); });
  read_list(std::span(head.user_float), [&] { return cursor.value<float>(); });
  return head;
}

OwnedReadout acquisition_at(YardlCursor& cursor, bool with_values) {
  constexpr int most_channels = 1024, most_axes = 4;  // three axes and a weight
  OwnedReadout readout{head_at(cursor), {}, {}};
  auto& head = readout.head;
  cursor.part = "the values of an acquisition";
  head.active_channels = head.available_channels = static_cast<std::uint16_t>(cursor.number(most_channels));
  head.number_of_samples = static_cast<std::uint16_t>(cursor.number(largest_count));
  const std::size_t numbers = std::size_t{2} * head.active_channels * head.number_of_samples;
  cursor.require(numbers, sizeof(float));
  if (with_values) readout.values.resize(numbers);
  if (with_values)
    cursor.read(std::as_writable_bytes(std::span(readout.values)));
  else
    cursor.skip(numbers, sizeof(float));
  cursor.part = "the trajectory of an acquisition";
  const std::size_t axes = cursor.number(most_axes), samples = cursor.number(largest_count);
  if (axes == 0 || samples == 0) return readout;
  if (samples != head.number_of_samples)
    cursor.fail(fmt::format("{} samples, as many as values", head.number_of_samples),
                std::to_string(samples));
  head.trajectory_dimensions = static_cast<std::uint16_t>(axes);
  cursor.require(axes * samples, sizeof(float));
  std::vector<float> by_axis(axes * samples);
  cursor.read(std::as_writable_bytes(std::span(by_axis)));
  readout.trajectory.resize(by_axis.size());
  for (std::size_t i = 0; i < by_axis.size(); ++i)
    readout.trajectory[i % samples * axes + i / samples] = by_axis[i];
  return readout;
}

std::string header_in_xml(YardlValues& values, const Json& type) {
  pugi::xml_document document;
  values.read(type, "ismrmrdHeader", document);
  auto root = document.child("ismrmrdHeader");
  if (!root) throw Error("the beginning", "a header", "none", "write the file again, with its header");
  root.append_attribute("xmlns") = "http://www.ismrm.org/ISMRMRD";
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

Json schema_of(YardlCursor& cursor) {
  constexpr std::int32_t known_version = 1;
  constexpr std::uint64_t longest_schema = 1 << 20;
  cursor.skip(yardl_magic.size());
  if (const auto version = cursor.value<std::int32_t>(); version != known_version)
    throw Error(cursor.part, fmt::format("version {} of yardl's binary format", known_version),
                std::to_string(version), convert_mrd_2);
  cursor.part = "the schema";
  auto schema = flat_json(cursor.text(longest_schema));
  if (schema.is_discarded()) cursor.fail("a text of JSON", "another");
  if (const auto name = schema.at("protocol").at("name").get<std::string>(); name != "Mrd")
    throw Error(cursor.part, "a scan in MRD version 2 (protocol 'Mrd')", "protocol '" + name + "'",
                "give the raw data");
  return schema;
}

void read_stream(YardlCursor& cursor, YardlValues& values, const Json& cases, StreamIndex& index) {
  while (cursor.left() > 0 && !index.is_closed) {
    cursor.part = "an item of the stream";
    auto items = cursor.number();
    index.is_closed = items == 0;
    for (; items > 0 && cursor.left() > 0; --items) {
      cursor.part = "an item of the stream";
      const auto& item = cases.at(cursor.choice(cases.size()));
      if (const auto& name = item.at("tag").get_ref<const std::string&>(); name == "Acquisition") {
        index.acquisitions.push_back(cursor.offset());
        acquisition_at(cursor, false);
      } else {
        cursor.part = "an item of another kind";
        values.read(item.at("type"));
        if (name.starts_with("Waveform"))
          index.has_waveforms = true;
        else
          ++index.others[name];
      }
    }
  }
}

}  // namespace

bool begins_as_mrd_2(std::span<const std::byte> head) {
  return head.size() >= yardl_magic.size() &&
         std::ranges::equal(std::as_bytes(std::span(yardl_magic)), head.first(yardl_magic.size()));
}

OwnedReadout acquisition_of_mrd_2(const StreamContent& content, std::uint64_t offset, bool with_values) {
  YardlCursor cursor(content, offset);
  return acquisition_at(cursor, with_values);
}

StreamIndex index_of_mrd_2(const StreamContent& content) {
  YardlCursor cursor(content);
  try {
    const auto schema = schema_of(cursor);
    const auto& steps = schema.at("protocol").at("sequence");
    YardlValues values(schema, cursor);
    require_known(values);
    StreamIndex index;
    index.is_mrd_2 = true;
    cursor.part = "the header";
    index.header = header_in_xml(values, steps.at(0).at("type"));
    const auto& items = steps.at(1).at("type").at("stream").at("items").get_ref<const std::string&>();
    read_stream(cursor, values, values.definition(items).at("type"), index);
    return index;
  } catch (const Json::exception&) {
    cursor.part = "the schema";
    cursor.fail("a schema of yardl", "one without some of its parts");
  }
}

}  // namespace fhd::io::mrd

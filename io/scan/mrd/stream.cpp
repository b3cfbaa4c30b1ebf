#include "io/scan/mrd/stream.hpp"

#include <fmt/format.h>
#include <ismrmrd/ismrmrd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers of the stream are little-endian");
static_assert(sizeof(ISMRMRD::ISMRMRD_AcquisitionHeader) == 340);

constexpr std::size_t most_configuration = 1 << 16, most_header = 1 << 22, most_text = 1 << 20,
                      configuration_name_bytes = 1024;

template <class T>
T number_from(ByteSource& source, const char* what) {
  std::array<std::byte, sizeof(T)> bytes;
  source.read(bytes, what);
  return std::bit_cast<T>(bytes);
}

/// Reads `count` numbers. Memory grows as they come: a long message costs its sender as much.
template <class Container>
Container numbers_from(ByteSource& source, std::size_t count, const char* what) {
  using T = typename Container::value_type;
  constexpr std::size_t at_once = (std::size_t{1} << 20) / sizeof(T);
  Container numbers;
  while (numbers.size() < count) {
    const auto before = numbers.size(), more = std::min(at_once, count - before);
    if (numbers.capacity() < before + more)
      numbers.reserve(std::min(count, std::max(before + more, 2 * before)));
    numbers.resize(before + more);
    source.read(std::as_writable_bytes(std::span(numbers).subspan(before)), what);
  }
  return numbers;
}

std::string text_from(ByteSource& source, std::size_t most, const char* what) {
  const auto length = number_from<std::uint32_t>(source, what);
  if (length > most)
    throw Error(what, fmt::format("at most {} bytes", most), fmt::format("a length of {}", length));
  auto text = numbers_from<std::string>(source, length, what);
  text.resize(std::min(text.size(), text.find('\0')));  // some clients send the end of a C string, too
  return text;
}

/// Copies runs of members between which nothing is left out: the struct is packed to two bytes, so that none may be referred
/// to.
ReadoutHead unpacked(const std::array<std::byte, sizeof(ISMRMRD::ISMRMRD_AcquisitionHeader)>& packed) {
  using To = ReadoutHead;
  using From = ISMRMRD::ISMRMRD_AcquisitionHeader;
  To head{};
#define FHD_COPY(first, last)                                                       \
  static_assert(offsetof(To, last) + sizeof(To::last) - offsetof(To, first) ==      \
                offsetof(From, last) + sizeof(From::last) - offsetof(From, first)); \
  std::memcpy(reinterpret_cast<std::byte*>(&head) + offsetof(To, first),            \
              packed.data() + offsetof(From, first),                                \
              offsetof(To, last) + sizeof(To::last) - offsetof(To, first))
  FHD_COPY(version, version);
  FHD_COPY(flags, active_channels);
  FHD_COPY(channel_mask, trajectory_dimensions);
  FHD_COPY(sample_time_us, idx);
  FHD_COPY(user_int, user_float);
#undef FHD_COPY
  return head;
}

OwnedReadout acquisition_from(ByteSource& source, const AcquisitionOptions& options) {
  constexpr auto what = "an acquisition", what_values = "the values of an acquisition";
  constexpr int most_channels = 1024;  // the channel mask of a head has room for as many
  constexpr int most_dimensions = 4;   // three axes and a weight
  const auto most_bytes = std::min(options.most_bytes, std::size_t{1} << 28);
  OwnedReadout readout;
  std::array<std::byte, sizeof(ISMRMRD::ISMRMRD_AcquisitionHeader)> packed;
  source.read(packed, what);
  readout.head = unpacked(packed);
  const auto& head = readout.head;
  if (head.active_channels > most_channels)
    throw Error(what, fmt::format("at most {} channels", most_channels),
                std::to_string(head.active_channels));
  if (head.trajectory_dimensions > most_dimensions)
    throw Error(what, fmt::format("at most {} trajectory dimensions", most_dimensions),
                std::to_string(head.trajectory_dimensions));
  const std::size_t samples = head.number_of_samples, positions = samples * head.trajectory_dimensions,
                    values = 2 * samples * head.active_channels;
  if ((positions + values) * sizeof(float) > most_bytes)
    throw Error(what, fmt::format("at most {} bytes", most_bytes),
                fmt::format("{} samples of {} channels", samples, head.active_channels));
  readout.trajectory =
      numbers_from<std::vector<float>>(source, positions, "the trajectory of an acquisition");
  if (options.with_values)
    readout.values = numbers_from<std::vector<float>>(source, values, what_values);
  else
    source.skip(values * sizeof(float), what_values);
  return readout;
}

void skip_waveform(ByteSource& source) {
  constexpr std::size_t most_bytes = 1 << 26;
  constexpr auto what = "a waveform";
  std::array<std::byte, 40> head;
  constexpr std::size_t place_of_samples = 28, place_of_channels = 30;
  source.read(head, what);
  std::uint16_t samples = 0, channels = 0;
  std::memcpy(&samples, head.data() + place_of_samples, sizeof samples);
  std::memcpy(&channels, head.data() + place_of_channels, sizeof channels);
  const std::size_t bytes = std::size_t{4} * samples * channels;
  if (bytes > most_bytes)
    throw Error(what, fmt::format("at most {} bytes", most_bytes),
                fmt::format("{} samples of {} channels", samples, channels));
  source.skip(bytes, what);
}

std::string configuration_name_from(ByteSource& source) {
  std::array<char, configuration_name_bytes> name;
  source.read(std::as_writable_bytes(std::span(name)), "a configuration name");
  return std::string(name.data(), std::find(name.begin(), name.end(), '\0'));
}

}  // namespace

void ByteSource::skip(std::uint64_t count, const char* what) {
  std::array<std::byte, 65536> part;
  for (std::uint64_t left = count; left > 0;) {
    const auto now = std::min<std::uint64_t>(left, part.size());
    read(std::span(part).first(now), what);
    left -= now;
  }
}

std::optional<StreamMessage> read_message(ByteSource& source, const AcquisitionOptions& options) {
  std::array<std::byte, 2> bytes;
  while (source.begin_message(bytes)) {
    const auto number = std::bit_cast<std::uint16_t>(bytes);
    const auto id = static_cast<MessageId>(number);
    switch (id) {
      case MessageId::configuration_name:
        return StreamMessage{id, configuration_name_from(source)};
      case MessageId::configuration_text:
        return StreamMessage{id, text_from(source, most_configuration, "a configuration")};
      case MessageId::header:
        return StreamMessage{id, text_from(source, most_header, "the header")};
      case MessageId::close:
        return StreamMessage{id};
      case MessageId::text:
        text_from(source, most_text, "a text");
        continue;
      case MessageId::acquisition:
        return StreamMessage{id, {}, acquisition_from(source, options)};
      case MessageId::image:
        throw Error("a message", "a configuration, a header, acquisitions, waveforms, texts or close",
                    "an image", "images are not reconstructed again: send the acquisitions");
      case MessageId::waveform:
        skip_waveform(source);
        source.has_waveforms = true;
        continue;
    }
    throw Error("a message", "an id of the MRD session protocol (1 to 5, 1008, 1026)", std::to_string(number),
                "the stream is no MRD session, or has lost its place");
  }
  return std::nullopt;
}

bool begins_as_stream(std::span<const std::byte> head) {
  const auto number_at = [&](std::size_t at, std::size_t count) {
    std::uint32_t number = 0;
    if (at + count <= head.size()) std::memcpy(&number, head.data() + at, count);
    return at + count <= head.size() ? number : 0;
  };
  for (std::size_t at = 0; at < head.size();) {
    const auto id = static_cast<MessageId>(number_at(at, 2));
    const auto length = number_at(at + 2, 4);
    if (id == MessageId::configuration_name) {
      at += 2 + configuration_name_bytes;
    } else if (id == MessageId::configuration_text || id == MessageId::text) {
      if (length > (id == MessageId::text ? most_text : most_configuration)) return false;
      at += 6 + length;
    } else {
      constexpr std::string_view begins{"<\xEF \t\r\n"};  // a tag, the mark of UTF-8, or space before
      return id == MessageId::header && length > 0 && length <= most_header && at + 6 < head.size() &&
             begins.find(static_cast<char>(head[at + 6])) != begins.npos;
    }
  }
  return false;
}

}  // namespace fhd::io::mrd

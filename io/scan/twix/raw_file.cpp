#include "io/scan/twix/raw_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "io/files/shown_text.hpp"
#include "recon/error.hpp"

namespace fhd::io::twix {
namespace {

constexpr std::size_t most_measurements = 64, entry_bytes = 152,
                      table_bytes = 8 + most_measurements * entry_bytes;
constexpr std::uint64_t alignment = 512;
constexpr auto copy_again = "copy the file again; if the scanner's own copy is so, it is lost";
constexpr auto damaged = "the file is damaged";

template <class T>
T number_at(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Returns the text in a field of 64 bytes.
std::string text_in(const char* bytes) { return {bytes, ::strnlen(bytes, 64)}; }

using Start = std::array<char, 32>;

/// Returns whether a file begins with the table of VD, VE or XA.
bool has_table(const Start& start) {
  const auto kind = number_at<std::uint32_t>(start.data()),
             count = number_at<std::uint32_t>(start.data() + 4);
  const auto begin = number_at<std::uint64_t>(start.data() + 16);
  return kind <= 32 && count >= 1 && count <= most_measurements && begin >= table_bytes &&
         begin % alignment == 0 && begin < (std::uint64_t{1} << 48);
}

/// Returns whether a file begins with the header of a measurement: its length, a few texts, the name of the first.
bool has_header(const Start& start) {
  const auto bytes = number_at<std::uint32_t>(start.data()),
             texts = number_at<std::uint32_t>(start.data() + 4);
  if (bytes < start.size() || bytes > (std::uint32_t{1} << 28) || texts < 1 || texts > 32) return false;
  const auto* const name = start.data() + 8;
  const auto* const end = std::find_if_not(name, start.data() + start.size(),
                                           [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return end - name >= 3 && end != start.data() + start.size() && *end == '\0';
}

Start start_of(const InputFile& file) {
  Start start{};
  file.read(0, start.data(), std::min<std::uint64_t>(start.size(), file.size()));
  return start;
}

std::vector<Measurement> measurements_in(const InputFile& file) {
  const auto start = start_of(file);
  if (!has_table(start)) return {{0, file.size(), "", true}};
  std::vector<char> table(table_bytes);
  if (file.size() < table_bytes)
    throw Error(file.path(), fmt::format("a table of measurements of {} bytes", table_bytes),
                fmt::format("{} bytes in all", file.size()), copy_again);
  file.read(0, table.data(), table.size());
  const auto count = number_at<std::uint32_t>(table.data() + 4);
  std::vector<Measurement> measurements;
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* entry = table.data() + 8 + i * entry_bytes;
    const auto begin = number_at<std::uint64_t>(entry + 8);
    auto length = number_at<std::uint64_t>(entry + 16);
    if (begin < file.size() && length == 0 && count == 1) length = file.size() - begin;  // of a stopped scan
    if (begin > file.size() || length > file.size() - begin)
      throw Error(fmt::format("{}: measurement {}", file.path(), i + 1),
                  fmt::format("{} bytes from byte {} on", length, begin),
                  fmt::format("{} bytes in all", file.size()), copy_again);
    measurements.push_back({begin, begin + length, text_in(entry + 88), false});
  }
  return measurements;
}

}  // namespace

RawFile::RawFile(const std::string& path)
    : file_(path, "Siemens raw data"), measurements_(measurements_in(file_)) {}

bool is_raw_file(const std::string& path) {
  try {
    const InputFile file(path);
    const auto start = start_of(file);
    return file.size() >= start.size() && (has_table(start) || has_header(start));
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::pair<std::string, std::string>> RawFile::texts(const Measurement& measurement) const {
  const auto room = measurement.end - measurement.begin;
  const auto refuse = [&](const std::string& found) -> Error {
    return {path() + ": header", "texts such as 'MeasYaps', each with its length", found, damaged};
  };
  std::array<char, 8> start{};
  if (room < start.size()) throw refuse(fmt::format("{} bytes", room));
  file_.read(measurement.begin, start.data(), start.size());
  const auto length = number_at<std::uint32_t>(start.data()),
             count = number_at<std::uint32_t>(start.data() + 4);
  if (length < start.size() || length > room)
    throw refuse(fmt::format("a length of {} where {} bytes are left", length, room));
  std::string header(length, '\0');
  file_.read(measurement.begin, header.data(), header.size());
  std::vector<std::pair<std::string, std::string>> texts;
  std::size_t at = start.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto end = header.find('\0', at);
    if (end == std::string::npos || header.size() - end < 1 + sizeof(std::uint32_t))
      throw refuse(fmt::format("{} of {} texts", i, count));
    const auto bytes = number_at<std::uint32_t>(header.data() + end + 1);
    const auto begin = end + 1 + sizeof(std::uint32_t);
    if (bytes > header.size() - begin)
      throw refuse(fmt::format("a text of {} bytes where {} are left", bytes, header.size() - begin));
    texts.emplace_back(header.substr(at, end - at), header.substr(begin, bytes));
    at = begin + bytes;
  }
  return texts;
}

MeasurementHead RawFile::head(std::uint64_t begin, bool is_vb) const {
  char bytes[head_bytes];
  file_.read(begin, bytes, is_vb ? vb_head_bytes : head_bytes);
  return head_of_bytes(bytes, is_vb);
}

bool RawFile::for_each_readout(const Measurement& measurement,
                               const std::function<void(const Block&)>& visit) const {
  std::array<char, 4> start{};
  if (measurement.end - measurement.begin < start.size()) return false;
  file_.read(measurement.begin, start.data(), start.size());
  const std::uint64_t own_head = measurement.is_vb ? vb_head_bytes : head_bytes;
  auto at = measurement.begin + number_at<std::uint32_t>(start.data());
  for (std::int64_t number = 0; at <= measurement.end && measurement.end - at >= own_head; ++number) {
    const Block block{at, head(at, measurement.is_vb)};
    if (block.head.has(acqend)) return true;
    const bool is_readout = !block.head.has(sync_data);
    const std::uint64_t bytes =
        is_readout ? readout_bytes(block.head, measurement.is_vb) : block.head.block_bytes;
    if (bytes < own_head || bytes > measurement.end - at)
      throw Error(
          fmt::format("{}: block {} at byte {}", path(), number, at),
          bytes < own_head ? "channels with samples" : fmt::format("{} bytes, as its head says", bytes),
          bytes < own_head ? "none" : fmt::format("{} to the end", measurement.end - at), copy_again);
    if (is_readout) visit(block);
    at += bytes;
  }
  if (measurement.is_vb && at < measurement.end)  // a scan that was stopped ends with a block
    throw Error(path(), "whole blocks", fmt::format("{} bytes of one at the end", measurement.end - at),
                copy_again);
  return false;
}

void RawFile::read_values(const Block& block, bool is_vb, std::vector<float>& numbers) const {
  const auto bytes = readout_bytes(block.head, is_vb);
  numbers.resize(bytes / sizeof(float));
  file_.read(block.begin, numbers.data(), bytes);
  const std::size_t values = 2 * std::size_t{block.head.samples},
                    before = (is_vb ? vb_head_bytes : channel_head_bytes) / sizeof(float);
  const float* from = numbers.data() + (is_vb ? 0 : head_bytes / sizeof(float));
  for (std::size_t channel = 0; channel < block.head.channels; ++channel, from += before + values)
    std::memmove(numbers.data() + channel * values, from + before, values * sizeof(float));
}

std::vector<int> RawFile::channels(const Block& block, bool is_vb) const {
  constexpr std::uint64_t vb_place = 124, vd_place = 24;
  const auto stride = (readout_bytes(block.head, is_vb) - (is_vb ? 0 : head_bytes)) / block.head.channels;
  std::vector<int> numbers;
  for (std::uint64_t channel = 0; channel < block.head.channels; ++channel) {
    std::uint16_t number = 0;
    file_.read(block.begin + (is_vb ? vb_place : head_bytes + vd_place) + channel * stride, &number,
               sizeof number);
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace fhd::io::twix

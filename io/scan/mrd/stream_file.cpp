#include "io/scan/mrd/stream_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "io/files/gzip.hpp"
#include "io/scan/mrd/copy_readouts.hpp"
#include "io/scan/mrd/mrd_2.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace mrd {
namespace {

/// Returns what `read` returns; errors name the file, too.
template <class Read>
auto of_file(const std::string& path, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    auto parts = error.parts();
    if (!parts.subject.starts_with(path)) parts.subject = path + ": " + parts.subject;
    throw Error(std::move(parts));
  }
}

std::optional<StreamMessage> message_of_file(StreamCursor& cursor, const std::string& path,
                                             bool with_values) {
  return of_file(path, [&] { return read_message(cursor, {.with_values = with_values}); });
}

}  // namespace

StreamContent::StreamContent(const std::string& path) : file_(path), in_memory_(is_gzip(file_)) {
  if (in_memory_) content_ = content_of_gzip(file_);
}

void StreamContent::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (in_memory_)
    std::memcpy(bytes.data(), content_.data() + offset, bytes.size());
  else
    file_.read(offset, bytes.data(), bytes.size());
}

void StreamCursor::require(std::uint64_t count, const char* what, std::uint64_t bytes_each) const {
  if (count > left() / bytes_each)
    throw Error(what,
                fmt::format("{} more {}bytes of this part", count,
                            bytes_each > 1 ? fmt::format("times {} ", bytes_each) : ""),
                fmt::format("the end of the file after {}", left()),
                "the file is not complete: copy it again");
}

bool StreamCursor::begin_message(std::span<std::byte> bytes) {
  message_ = offset_;
  if (offset_ == content_.size()) return false;
  read(bytes, "a message");
  return true;
}

void StreamCursor::read(std::span<std::byte> bytes, const char* what) {
  require(bytes.size(), what);
  if (bytes.size() > window_.size() / 2) {
    content_.read(offset_, bytes);
  } else if (!bytes.empty()) {
    if (offset_ < window_begin_ || offset_ + bytes.size() > window_begin_ + window_size_) {
      window_begin_ = offset_;
      window_size_ = std::min<std::uint64_t>(window_.size(), left());
      content_.read(offset_, std::span(window_).first(window_size_));
    }
    std::memcpy(bytes.data(), window_.data() + (offset_ - window_begin_), bytes.size());
  }
  offset_ += bytes.size();
}

void StreamCursor::skip(std::uint64_t count, const char* what) {
  require(count, what);
  offset_ += count;
}

Readout AcquisitionReader::operator()(std::int64_t number) {
  const auto place = index_.acquisitions[static_cast<std::size_t>(number)];
  if (index_.is_mrd_2) {
    readout_ = of_file(content_.path(), [&] { return acquisition_of_mrd_2(content_, place, with_values_); });
    return readout_.view();
  }
  StreamCursor cursor(content_, place);
  auto message = message_of_file(cursor, content_.path(), with_values_);
  if (!message || message->id != MessageId::acquisition)
    throw Error(content_.path(), "a file that stays as it is", "another one", "wait until it is written");
  readout_ = std::move(message->readout);
  return readout_.view();
}

bool is_stream(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> head;
  if (is_gzip(file)) {
    head = content_of_gzip(file, beginning_of_stream);
  } else {
    head.resize(std::min<std::uint64_t>(beginning_of_stream, file.size()));
    file.read(0, head.data(), head.size());
  }
  return begins_as_stream(head) || begins_as_mrd_2(head);
}

StreamIndex index_of(const StreamContent& content) {
  std::array<std::byte, 5> head{};
  if (content.size() >= head.size()) content.read(0, head);
  if (begins_as_mrd_2(head)) return of_file(content.path(), [&] { return index_of_mrd_2(content); });
  StreamIndex index;
  StreamCursor cursor(content);
  while (auto message = message_of_file(cursor, content.path(), false)) {
    if (message->id == MessageId::header) {
      if (!index.header.empty()) throw Error(content.path(), "one header", "a second one");
      index.header = std::move(message->text);
    } else if (message->id == MessageId::acquisition) {
      if (index.header.empty()) throw Error(content.path(), "the header before the acquisitions", "none");
      index.acquisitions.push_back(cursor.message());
    } else if (message->id == MessageId::close) {
      index.is_closed = true;
      break;
    }
  }
  index.has_waveforms = cursor.has_waveforms;
  return index;
}

}  // namespace mrd

namespace {

class StreamFile {
 public:
  StreamFile(const std::string& path, const ReadOptions& options)
      : content_(path),
        index_(mrd::index_of(content_)),
        volumes_(mrd::parse_header(index_.header, path + ":header"), options,
                 {path, path + ":header", path + ":acquisitions"}) {
    mrd::AcquisitionReader trajectories(content_, index_, false), whole(content_, index_, true);
    volumes_.follow_sequence(std::ssize(index_.acquisitions), std::ref(trajectories));
    for (std::int64_t number = 0; number < std::ssize(index_.acquisitions); ++number)
      volumes_.add(trajectories(number));
    volumes_.finish(std::ref(trajectories), std::ref(whole));
    summary_ = volumes_.summary();
    summary_.format = index_.is_mrd_2 ? "ISMRMRD (MRD version 2)" : "ISMRMRD stream";
    std::string others;
    for (const auto& [kind, count] : index_.others)
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", count, kind);
    if (!others.empty())
      say(summary_.missing, "Items of the file that are no acquisitions are passed over: {}.", others);
    if (!index_.is_closed)
      say(summary_.missing, "The stream has no closing message: what came last may be missing.");
  }
  const ScanSummary& summary() const { return summary_; }
  Scan read(std::int64_t slice, std::int64_t repetition) const {
    mrd::AcquisitionReader reader(content_, index_, true);
    return volumes_.volume(slice, repetition, std::ref(reader));
  }

  Sentences copy(const ReadOptions& options, hdf5::File& file) const {
    const auto reader_of = [this](bool with_values) -> mrd::Source {
      return [reader = std::make_shared<mrd::AcquisitionReader>(content_, index_, with_values)](
                 std::int64_t number) { return (*reader)(number); };
    };
    auto lost = mrd::copy_readouts({index_.header, content_.path() + ":header",
                                    std::ssize(index_.acquisitions), reader_of, index_.has_waveforms},
                                   volumes_.positions(), options, file);
    if (index_.has_waveforms && !options.anonymous) say(lost, "The waveforms of the stream are not written.");
    return lost;
  }

 private:
  mrd::StreamContent content_;
  mrd::StreamIndex index_;
  mrd::VolumeAssembler volumes_;
  ScanSummary summary_;
};

}  // namespace

/// Copies a stream to ISMRMRD. Returns what is not written.
Sentences copy_stream(const std::string& from, const ReadOptions& options, hdf5::File& to) {
  return StreamFile(from, options).copy(options, to);
}

ScanSource open_stream(const std::string& path, const ReadOptions& options) {
  return source_of(std::make_shared<StreamFile>(path, options), true);
}

}  // namespace fhd::io

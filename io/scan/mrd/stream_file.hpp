#pragma once
// MRD streams as files, as converters and clients write them, and MRD version 2 (mrd_2.hpp), gzip'd or not.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/scan/mrd/stream.hpp"

namespace fhd::io::mrd {

/// The content of a stream; of a gzip file it is held in memory.
class StreamContent {
 public:
  /// Throws Error.
  explicit StreamContent(const std::string& path);
  const std::string& path() const { return file_.path(); }
  std::uint64_t size() const { return in_memory_ ? content_.size() : file_.size(); }
  /// Reads bytes; from any thread. Throws Error.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  InputFile file_;
  bool in_memory_;
  std::vector<std::byte> content_;
};

/// The messages of a content from an offset on.
class StreamCursor : public ByteSource {
 public:
  explicit StreamCursor(const StreamContent& content, std::uint64_t offset = 0)
      : content_(content), offset_(offset) {}
  bool begin_message(std::span<std::byte> bytes) override;
  void read(std::span<std::byte> bytes, const char* what) override;
  void skip(std::uint64_t count, const char* what) override;
  /// Returns the offset of the message that was begun last.
  std::uint64_t message() const { return message_; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t left() const { return content_.size() - offset_; }
  /// Throws Error unless the file has room for so many more items.
  void require(std::uint64_t count, const char* what, std::uint64_t bytes_each = 1) const;

 private:
  const StreamContent& content_;
  std::uint64_t offset_, message_ = 0;
  std::array<std::byte, 1024> window_;  ///< bytes of the content from window_begin_ on, for short parts
  std::uint64_t window_begin_ = 0, window_size_ = 0;
};

/// The header of a stream, and where its acquisitions are.
struct StreamIndex {
  std::string header;
  std::vector<std::uint64_t> acquisitions;
  bool is_closed = false;  ///< by the message that ends a stream
  bool has_waveforms = false;
  bool is_mrd_2 = false;
  std::map<std::string, std::int64_t> others{};  ///< items that are passed over, by their kind
};

/// Reads acquisitions by their number, one after the other.
class AcquisitionReader {
 public:
  AcquisitionReader(const StreamContent& content, const StreamIndex& index, bool with_values)
      : content_(content), index_(index), with_values_(with_values) {}
  /// Returns a readout, valid until the next call. Throws Error.
  Readout operator()(std::int64_t number);

 private:
  const StreamContent& content_;
  const StreamIndex& index_;
  bool with_values_;
  OwnedReadout readout_;
};

/// Returns whether a file begins as a stream does. Throws Error where it cannot be read.
bool is_stream(const std::string& path);
/// Finds the messages, of either version. Throws Error.
StreamIndex index_of(const StreamContent& content);

}  // namespace fhd::io::mrd

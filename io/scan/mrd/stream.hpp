#pragma once
// Messages of an MRD (ISMRMRD) stream, from a connection or a file, as they stand in it, little-endian:
//
//   uint16 id, then
//      1  configuration by name   1024 bytes, padded with zeros
//      2  configuration as text   uint32 length, text
//      3  header                  uint32 length, XML
//      4  close
//      5  text                    uint32 length, text
//   1008  acquisition             head of 340 bytes, float trajectory [sample][axis], complex64 values [coil][sample]
//   1022  image                   head of 198 bytes, uint64 length, attributes as XML, values [channel][z][y][x]
//   1026  waveform                head of 40 bytes, uint32 values [channel][sample]
//
// Source: github.com/ismrmrd/ismrmrd, doc/mrd_messages.md. Every length is checked before memory is taken for it, and
// memory grows with the bytes that have come.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// Delivers the bytes of a stream.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads the first bytes of a message; returns false at the end of the stream. Throws Error, also where it ends within them.
  virtual bool begin_message(std::span<std::byte> bytes) = 0;
  /// Reads more of the message. `what`: its part, for errors. Throws Error.
  virtual void read(std::span<std::byte> bytes, const char* what) = 0;
  /// Passes over bytes. Throws Error.
  virtual void skip(std::uint64_t count, const char* what);

  bool has_waveforms = false;  ///< read_message has passed over some
};

enum class MessageId : std::uint16_t {
  configuration_name = 1,
  configuration_text = 2,
  header = 3,
  close = 4,
  text = 5,
  acquisition = 1008,
  image = 1022,
  waveform = 1026
};

/// A message: a configuration (its name or text), the header, an acquisition, or close.
struct StreamMessage {
  MessageId id = MessageId::close;
  std::string text{};  ///< of a configuration or the header
  OwnedReadout readout{};
};

/// Limits of an acquisition, and whether its values are read.
struct AcquisitionOptions {
  std::size_t most_bytes = std::size_t{1} << 28;
  bool with_values = true;
};

/// Reads the next message; returns nothing at the end of the stream. Passes over waveforms and texts. Throws Error, which
/// names message and part.
std::optional<StreamMessage> read_message(ByteSource& source, const AcquisitionOptions& options = {});

/// The bytes of a stream up to the header's first, unless long texts come before it.
inline constexpr std::size_t beginning_of_stream = std::size_t{1} << 17;
/// Returns whether a stream begins with `head`: whole messages up to the header, which begins as XML.
bool begins_as_stream(std::span<const std::byte> head);

}  // namespace fhd::io::mrd

#pragma once
// The messages of an MRD (ISMRMRD) session, as they stand in the stream, little-endian:
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
#include <vector>

#include "app/server/connection.hpp"
#include "io/scan/mrd/volume_assembler.hpp"

namespace fhd::app {

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

/// A message of a client: a configuration (its name or text), the header, an acquisition, or close.
struct SessionMessage {
  MessageId id = MessageId::close;
  std::string text{};  ///< of a configuration or the header
  io::mrd::OwnedReadout readout{};

  /// Returns the bytes of its text and arrays.
  std::size_t bytes() const { return text.size() + readout.bytes(); }
};

/// The largest parts of messages that are accepted, in bytes and counts.
struct MessageLimits {
  std::size_t configuration = 1 << 16, header = 1 << 22, text = 1 << 20, waveform = 1 << 26;
  std::size_t acquisition = 1 << 28;  ///< trajectory and values
  int channels = 1024;                ///< the channel mask of a head has room for as many
  int trajectory_dimensions = 4;      ///< three axes and a weight
};

/// Reads the next message; returns nothing where the other side has ended. Skips waveforms and texts. Throws Error, which
/// names message and part, and ConnectionLost.
std::optional<SessionMessage> read_message(Connection& connection, const MessageLimits& limits = {});

using Bytes = std::vector<std::byte>;
inline void append_all(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}
template <class T>
void append(Bytes& bytes, const T& value) {
  append_all(bytes, std::as_bytes(std::span(&value, 1)));
}
Bytes text_message(const std::string& text);
Bytes close_message();

}  // namespace fhd::app

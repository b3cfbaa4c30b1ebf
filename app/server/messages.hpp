#pragma once
// The connection of an MRD (ISMRMRD) session and its messages, as they stand in the stream, little-endian:
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
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/scan/mrd/volume_assembler.hpp"
#include "recon/error.hpp"

namespace fhd::app {

/// The other side has gone, or does not read what it is sent: no answer can reach it.
struct ConnectionLost : Error {
  using Error::Error;
};

/// How long a connection may be idle.
struct ConnectionLimits {
  std::chrono::milliseconds idle{300000};  ///< for the next message, and from its first byte to its last
  std::chrono::milliseconds write{30000};  ///< for the next bytes that the other side takes
};

/// One thread may read while another writes.
class Connection {
 public:
  /// Owns `socket`, which is connected.
  Connection(int socket, const ConnectionLimits& limits);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// "127.0.0.1:53422"
  const std::string& peer() const { return peer_; }
  /// Reads the first bytes of a message; returns false where the other side has ended. Throws Error, also where it ends
  /// within them, and ConnectionLost.
  bool begin_message(std::span<std::byte> bytes);
  /// Reads more of the message. `what`: its part, for errors. Throws as begin_message().
  void read(std::span<std::byte> bytes, const char* what);
  /// Writes whole messages. Throws ConnectionLost.
  void write(std::string_view bytes);
  /// Ends a read of any thread, and all further ones, as if the other side had ended.
  void stop_reading();
  /// Returns whether the other side has gone.
  bool is_lost();
  /// Ends the connection after the last write: the other side can read all of it, if it does so within a second.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool wait(short events, Clock::time_point until);
  /// Returns how many bytes came; 0: the other side has ended.
  std::size_t receive(std::span<std::byte> bytes, const char* what);

  const int socket_;
  const ConnectionLimits limits_;
  std::string peer_;
  Clock::time_point read_until_{};
  std::atomic<bool> stopped_ = false;
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

/// A message of a client: a configuration (its name or text), the header, an acquisition, or close.
struct SessionMessage {
  MessageId id = MessageId::close;
  std::string text{};  ///< of a configuration or the header
  io::mrd::OwnedReadout readout{};
};

/// Reads the next message; returns nothing where the other side has ended. Skips waveforms and texts. Throws Error, which
/// names message and part, and ConnectionLost. `most_bytes`: of an acquisition.
std::optional<SessionMessage> read_message(Connection& connection, std::size_t most_bytes = 1 << 28);

/// Appends a number or a struct of numbers as it lies in memory.
template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string text_message(const std::string& text);
std::string close_message();

}  // namespace fhd::app

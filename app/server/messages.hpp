#pragma once
// The connection of an MRD (ISMRMRD) session; its messages are those of io/scan/mrd/stream.hpp.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/scan/mrd/stream.hpp"
#include "recon/error.hpp"

namespace fhd::app {

using io::mrd::MessageId;

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
class Connection : public io::mrd::ByteSource {
 public:
  /// Owns `socket`, which is connected.
  Connection(int socket, const ConnectionLimits& limits);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// "127.0.0.1:53422"
  const std::string& peer() const { return peer_; }
  /// Reads the first bytes of a message; returns false where the other side has ended. Throws Error, also where it ends
  /// within them, and ConnectionLost.
  bool begin_message(std::span<std::byte> bytes) override;
  /// Reads more of the message. `what`: its part, for errors. Throws as begin_message().
  void read(std::span<std::byte> bytes, const char* what) override;
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

/// Appends a number or a struct of numbers as it lies in memory.
template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string text_message(const std::string& text);
std::string close_message();

}  // namespace fhd::app

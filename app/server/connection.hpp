#pragma once
// Reads and writes bytes of one TCP connection, with time limits.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>

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
  void write(std::span<const std::byte> bytes);
  /// Ends a read of any thread, and all further ones, as if the other side had ended.
  void stop_reading();
  /// Returns whether the other side has gone; waits so long unless it has.
  bool is_lost(std::chrono::milliseconds wait_for);
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

}  // namespace fhd::app

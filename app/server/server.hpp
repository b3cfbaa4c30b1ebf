#pragma once
// The server and its sessions. Of a session one thread reads messages, another answers with images.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/server/messages.hpp"
#include "app/server/stream_reconstruction.hpp"

namespace fhd::app {

/// The limits of each session.
struct SessionLimits {
  ConnectionLimits connection{};
  ImageLimits images{};
};

/// The device, processors and configurations that all sessions share.
struct SessionServices {
  const ChosenDevice& device;
  SharedProcessors& processors;
  std::string configurations;  ///< folder; empty: none
  bool quiet = false;
};

class Session {
 public:
  Session(int socket, std::int64_t number, const SessionLimits& limits, const SessionServices& services);
  /// Serves the session to its end, and prints one line about that.
  void run() noexcept;
  /// Ends the session soon, from another thread.
  void stop();

 private:
  void read_all() noexcept;
  void read_messages();
  void require_order(MessageId id);
  void begin(const std::string& xml);
  void take(io::mrd::OwnedReadout readout);
  void answer();
  std::string fail(const std::string& why);
  void send_text(const std::string& line);
  void end(const std::string& failure) noexcept;
  void log_end(const std::string& failure) const;

  const std::int64_t number_;
  const SessionLimits limits_;
  const SessionServices services_;
  Connection connection_;
  std::atomic<std::size_t> held_ = 0;  ///< bytes of acquisitions
  std::optional<SessionOptions> options_;
  std::int64_t acquisitions_ = 0, images_ = 0;
  std::atomic<bool> stopped_ = false;

  std::mutex mutex_;  ///< of the following
  std::condition_variable changed_;
  bool reading_ended_ = false, done_ = false;  ///< done: all is sent
  std::string failure_;                        ///< the first
  std::unique_ptr<StreamReconstruction> reconstruction_;
};

/// Listens, and starts a session for each connection.
class Server {
 public:
  /// Begins to listen. `port` 0: one that is free. Throws Error.
  Server(const std::string& host, int port, int most_sessions, const SessionLimits& limits,
         const SessionServices& services);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  int port() const { return port_; }
  /// Serves until a signal asks to stop (StopRequests), and then stops the sessions; a second signal ends the process at
  /// once. Returns whether all have ended within `grace`.
  bool run(std::chrono::milliseconds grace);

 private:
  struct Running {
    std::unique_ptr<Session> session;
    std::future<void> ended;
  };
  void accept_one();
  void refuse(int socket) const;
  void join_ended();

  const std::size_t most_sessions_;
  const SessionLimits limits_;
  const SessionServices services_;
  int socket_ = -1, port_ = 0;
  std::int64_t accepted_ = 0;
  std::list<Running> sessions_;
};

}  // namespace fhd::app

#pragma once
// Listens, and starts a session for each connection.
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "app/server/session.hpp"

namespace fhd::app {

class Server {
 public:
  /// Begins to listen. `port` 0: one that is free. Throws Error.
  Server(const std::string& host, int port, int most_sessions, const SessionLimits& limits,
         const SessionServices& services);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  int port() const { return port_; }
  /// Serves until a byte can be read from the descriptor `stop`; then stops the sessions. Returns whether all have ended
  /// within `grace`.
  bool run(int stop, std::chrono::milliseconds grace);

 private:
  struct Running {
    std::unique_ptr<Session> session;
    std::atomic<bool> is_over = false;
    std::thread thread;
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

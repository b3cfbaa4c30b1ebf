#pragma once
// A process that does scans of a batch, in a thread each. A scan that crashes it is one failure and no more.
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/work.hpp"
#include "io/files/descriptor.hpp"

namespace fhd::app {

/// JSON objects, one a line, over one end of a socket.
class Lines {
 public:
  explicit Lines(int socket) : socket_(socket) {}
  int descriptor() const { return socket_.get(); }
  /// Returns false when the other process is gone.
  bool send(const nlohmann::json& line) const;
  /// Returns the lines that one call of recv with these flags completes.
  std::vector<nlohmann::json> receive(int flags);
  /// Returns false once receive() has found the other process gone.
  bool is_open() const { return is_open_; }
  /// Ends the connection: copies of the socket that other workers got when they were forked do not keep it.
  void close() {
    ::shutdown(descriptor(), SHUT_RDWR);
    socket_ = io::Descriptor();
  }

 private:
  io::Descriptor socket_;
  std::string unread_;
  bool is_open_ = true;
};

/// A worker, seen from the process that started it. It is told, in this order, to look at a scan, and to do what it has
/// planned. `because`: why another device gave the scan back; empty: none has had it.
///   {"scan": i, "because": why}
///   {"scan": i, "threads": n}
/// It reports, with --trace also its "timeline" each time:
///   {"event": "planned", "scan": i, "bytes": n}             it has read the header: the scan will take n bytes
///   {"event": "progress", "scan": i, "stage": s, "done": n, "total": n, "residual": x}
///   {"event": "refused", "scan": i, "why": line, "lost": b}  its device cannot do the scan; lost: nor anything else
///   {"event": "ended", "scan": i, "status": Outcome::Status, "line": error, "no_room": errno, "reason": why}
struct Worker {
  Worker(const BatchWork& work, const WorkerPlan& plan);
  /// Kills the process if it still runs.
  ~Worker();
  /// Waits for the end of the process. Returns how it died, in words.
  std::string cause();

  Lines lines{-1};

 private:
  bool has_ended(int flags);
  pid_t process_ = -1;
  std::optional<int> status_;
};

}  // namespace fhd::app

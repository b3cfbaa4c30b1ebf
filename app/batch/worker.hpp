#pragma once
// A process that does scans of a batch. A scan that crashes it (a hostile file, too little memory) is one failure and no
// more. Its threads do a scan each: some read or write while others hold the device.
#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/work.hpp"
#include "app/batch/worker_pool.hpp"

namespace fhd::app {

/// An event that a worker reports, one object a line:
///   {"event": "planned", "scan": i, "bytes": n}             it has read the header: the scan will take n bytes
///   {"event": "progress", "scan": i, "stage": s, "done": n, "total": n, "residual": x}
///   {"event": "refused", "scan": i, "why": line, "lost": b}  its device cannot do the scan; lost: nor anything else
///   {"event": "ended", "scan": i, "status": Outcome::Status, "line": why, "no_room": errno}
/// With --trace the last two also have "timeline", which timeline_of() made; events() has added it.
using WorkerEvent = nlohmann::json;

/// A worker, seen from the process that started it.
class Worker {
 public:
  Worker(const BatchWork& work, const WorkerPlan& plan);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Kills the process if it still runs.
  ~Worker();

  /// Has it look at a scan. `because`: why another device gave the scan back; empty: none has had it.
  void examine(std::size_t scan, const std::string& because);
  /// Has it do a scan that it has planned; with 0 threads it forgets the scan.
  void reconstruct(std::size_t scan, int threads);

  int descriptor() const { return socket_; }
  /// Returns what it reported since the last call.
  std::vector<WorkerEvent> events();
  /// Returns false once events() has found it dead.
  bool is_alive() const { return alive_; }
  /// Returns how it died, in words.
  std::string cause();

 private:
  int status();
  void send(const nlohmann::json& command);
  pid_t process_ = -1;
  int socket_ = -1;
  bool alive_ = true;
  std::string unread_;
  std::optional<int> status_;
};

}  // namespace fhd::app

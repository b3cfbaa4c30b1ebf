#pragma once
// The process that does the work of a batch. It is a child of the process that the user started: a scan that
// crashes it (a malicious file, too little memory) is one failure and no more. In it, some threads read, some
// compute and some write, as its crew says: none waits for a file while it holds the device.
#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/crews.hpp"
#include "app/batch/work.hpp"

namespace fhd::app {

/// What a worker tells, one at a time:
///   {"event": "planned", "scan": i, "bytes": n}             read its header: it will take n bytes
///   {"event": "progress", "scan": i, "stage": s, "done": n, "total": n, "residual": x}
///   {"event": "computed", "scan": i}                         what is left is writing
///   {"event": "refused", "scan": i, "why": line, "lost": b}   its device cannot do it; lost: nor anything else
///   {"event": "ended", "scan": i, "status": Outcome::Status, "line": why}
/// The last two also have "timeline", what timeline_of() gives, where --trace was given; events() has it added.
using WorkerEvent = nlohmann::json;

/// A worker, seen from the process that started it.
class Worker {
 public:
  Worker(const BatchWork& work, const Crew& crew);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Kills the process if it still runs.
  ~Worker();

  /// `because`: why another device gave the scan back; empty: none has had it.
  void examine(std::size_t scan, const std::string& because);
  void reconstruct(std::size_t scan, int threads);
  /// After `examine`: the scan is not to be done.
  void forget(std::size_t scan);

  int descriptor() const { return socket_; }
  /// What it told since the last call. Sets `alive` to false when it is dead.
  std::vector<WorkerEvent> events();
  bool alive() const { return alive_; }
  /// How it died, in words.
  std::string cause();
  /// Whether it died through no fault of its scans.

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

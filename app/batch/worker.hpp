#pragma once
// The process that does the work of a batch. It is a child of the process that the user started: a scan that
// crashes it (a malicious file, too little memory) is one failure and no more. In it, one thread reads, one
// computes and one writes.
#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/batch/scans.hpp"

namespace fhd::app {

/// Options of `fhd recon` that one or more scans share.
struct BatchSettings {
  std::vector<std::string> arguments;                         ///< "--lambda=1e-3"
  std::vector<std::pair<std::string, std::string>> recorded;  ///< those that change the result, for manifests
  std::string where;                                          ///< lines of the recipe that they come from
};

/// All that workers know; complete before the first one starts.
struct BatchWork {
  std::string directory, command_line;
  std::vector<BatchScan> scans;
  std::vector<BatchSettings> settings;
  std::vector<std::size_t> settings_of;  ///< of each scan
};

/// What a worker tells, one at a time:
///   {"event": "planned", "scan": i, "bytes": n}             read its header: it will take n bytes
///   {"event": "progress", "scan": i, "stage": s, "done": n, "total": n, "residual": x}
///   {"event": "computed", "scan": i}                         what is left is writing
///   {"event": "ended", "scan": i, "status": "finished" | "unchanged" | "images" | "failed", "line": why}
using WorkerEvent = nlohmann::json;

/// A worker, seen from the process that started it.
class Worker {
 public:
  explicit Worker(const BatchWork& work);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) = delete;
  Worker(const Worker&) = delete;
  /// Kills the process if it still runs.
  ~Worker();

  void examine(std::size_t scan);
  void reconstruct(std::size_t scan, int threads);
  /// After `examine`: the scan is not to be done.
  void forget(std::size_t scan);

  int descriptor() const { return socket_; }
  pid_t process() const { return process_; }
  /// What it told since the last call. Sets `alive` to false when it is dead.
  std::vector<WorkerEvent> events();
  bool alive() const { return alive_; }
  /// How it died, in words.
  std::string cause();

 private:
  void send(const nlohmann::json& command);
  pid_t process_ = -1;
  int socket_ = -1;
  bool alive_ = true;
  std::string unread_;
  std::optional<int> status_;
};

}  // namespace fhd::app

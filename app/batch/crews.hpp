#pragma once
// Where the scans of a batch are computed: crews of threads, each crew in a process of its own and on one device; and
// which of them may take a scan that a device gave back.
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace fhd::app {

/// The threads of one worker process: as many scans are read, computed and written at a time.
struct Crew {
  std::string device;  ///< as --device says it: "cuda:1", "cpu"; "auto" where there is no GPU
  int readers = 1, engines = 1, writers = 1;
  bool is_last_resort = false;  ///< takes only what no device can do

  /// Scans that may be on their way: looked at, being read or computed, in all. Each thread finds work waiting.
  std::size_t most_examined() const { return static_cast<std::size_t>(readers); }
  std::size_t most_running() const { return static_cast<std::size_t>(engines + readers); }
  std::size_t most_scans() const { return static_cast<std::size_t>(engines + readers + 2 * writers); }
};

/// What there is for a batch.
struct BatchResources {
  std::string device = "auto";  ///< as --device says it
  int gpus = 0;                 ///< of this machine
  int threads = 1;              ///< for all crews
  int at_once = 0;              ///< scans being computed at a time, at most; 0: as many as threads
  bool has_last_resort = true;  ///< the CPU may take what the devices give up
};

/// "cuda:0", "cuda:1", ...: the devices that `asked` names on a machine with so many; none where the CPU computes.
std::vector<std::string> devices_of(const std::string& asked, int gpus);

/// With devices one crew for each, in which several engines hide behind each other what they do on the CPU. Without, as
/// many crews as scans at a time, with one thread of each kind.
std::vector<Crew> crews_of(const BatchResources& resources);

/// The crews, and which of them are still of use.
class Roster {
 public:
  explicit Roster(std::vector<Crew> crews) : crews_(std::move(crews)), retired_(crews_.size(), false) {}
  const std::vector<Crew>& crews() const { return crews_; }
  /// Its device is lost: it gets no more scans.
  void retire(std::size_t crew) { retired_[crew] = true; }
  bool is_retired(std::size_t crew) const { return retired_[crew]; }
  /// Whether the crew may take a scan that those of `gave_up` gave back: a last resort only when no other may.
  bool may_take(std::size_t crew, const std::set<std::size_t>& gave_up) const;
  bool anyone_may_take(const std::set<std::size_t>& gave_up) const;
  /// Engines of the crews that are, or are not, a last resort.
  int engine_count(bool last_resort) const;

 private:
  bool can_take(std::size_t crew, const std::set<std::size_t>& gave_up) const {
    return !retired_[crew] && !gave_up.contains(crew);
  }
  std::vector<Crew> crews_;
  std::vector<bool> retired_;
};

}  // namespace fhd::app

#pragma once
// Shares the memory of one device among the engines that work on it concurrently.
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace fhd::app {

/// Engines enter in the order in which they come, each with the memory that its scan is planned to take: a large scan
/// waits until enough of the others have left, and those behind it wait, too. An engine that has left keeps its memory
/// (what depends on the trajectory) until the room is needed.
class DeviceShare {
 public:
  explicit DeviceShare(std::size_t engines) : engines_(engines) {}
  /// Waits until `bytes` fit into `available` together with the engines at work, or until none is at work. Where room is
  /// needed, calls free_engine(i) of engines at rest, which do not enter meanwhile.
  void enter(std::size_t engine, std::size_t bytes, std::size_t available,
             const std::function<void(std::size_t)>& free_engine);
  void leave(std::size_t engine);

 private:
  struct Place {
    std::size_t bytes = 0;  ///< taken, at work or at rest
    bool at_work = false;
  };
  std::size_t bytes_of_others(std::size_t engine, bool at_work) const;

  std::mutex entry_, mutex_;
  std::condition_variable left_;
  std::vector<Place> engines_;
};

}  // namespace fhd::app

#pragma once
// The memory of one device, shared by the engines that work on it side by side.
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace fhd::app {

/// Engines enter with what they are planned to take, in the order in which they come: a large scan waits until enough
/// of the others have left, and those behind it wait, too. An engine that has left keeps what it has (what depends on
/// the trajectory) until the room is needed.
class DeviceShare {
 public:
  explicit DeviceShare(std::size_t engines) : engines_(engines) {}
  /// Waits until `bytes` fit into `available` beside the engines that are at work, or none is. What engines at rest
  /// keep is freed by free_engine(i) where that is needed; they do not enter meanwhile.
  void enter(std::size_t engine, std::size_t bytes, std::size_t available,
             const std::function<void(std::size_t)>& free_engine);
  void leave(std::size_t engine);

 private:
  struct Place {
    std::size_t bytes = 0;  ///< taken, or kept
    bool at_work = false;
  };
  std::size_t bytes_of_others(std::size_t engine, bool at_work) const;

  std::mutex turn_, mutex_;
  std::condition_variable left_;
  std::vector<Place> engines_;
};

}  // namespace fhd::app

#pragma once
// A group of threads of this process, one for each of several devices, that work on one problem together as
// processes do (execution.hpp): every rank makes the same calls.
//
// Floor: a sum of n bytes over p GPUs moves 2 n (p - 1) / p bytes out of and into each. Of an image of 256^3 in
// single precision (134 MB), the one sum of an iteration: 0.5 ms by NVLink (450 GB/s), 8 ms by PCIe (25 GB/s), p = 4.
#include <functional>
#include <memory>
#include <vector>

#include "recon/array/execution.hpp"

namespace fhd {

class DeviceTeam {
 public:
  /// GPUs that differ, and are started; or the CPU as often as wanted.
  explicit DeviceTeam(std::vector<Device> devices);
  ~DeviceTeam();
  DeviceTeam(const DeviceTeam&) = delete;
  DeviceTeam& operator=(const DeviceTeam&) = delete;

  int size() const;
  /// Where rank 0 ... size() - 1 works; the group outlives the team.
  Device device(int rank) const;
  std::shared_ptr<const ProcessGroup> group(int rank) const;
  /// work(rank) of all ranks, each in a thread of its own with its device as the current one; rank 0 in this one.
  /// Throws, when all have ended, what the first of them threw: the others leave at their next sum. Also where one
  /// ends while others wait for it. One run at a time.
  void run(const std::function<void(int rank)>& work) const;

 private:
  class Meeting;
  class Rank;
  std::shared_ptr<Meeting> meeting_;
};

}  // namespace fhd

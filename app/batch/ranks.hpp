#pragma once
// Which of several processes this one is: started by mpirun (Open MPI, or one with PMI) or srun, or alone.
// They need not talk to each other: claims on scans are all that they share (see claims.hpp).
#include <initializer_list>
#include <optional>
#include <string>

namespace fhd::app {

/// The first of these environment variables that holds a number >= 0. Slurm writes "4(x2)" for 4 tasks on each
/// of 2 nodes.
std::optional<int> number_in_environment(std::initializer_list<const char*> variables);

class Ranks {
 public:
  static Ranks of_environment();

  int rank() const { return rank_; }
  int count() const { return count_; }
  /// Processes on this machine.
  int here() const { return here_; }
  bool first() const { return rank_ == 0; }
  /// The device for this process, given --device: its own GPU, where there are several ranks and a GPU is
  /// wanted; empty where nothing is to be changed.
  std::string choose_device(const std::string& asked);
  bool gpu_in_use() const { return gpu_in_use_; }

 private:
  int rank_ = 0, count_ = 1, local_rank_ = 0, here_ = 1;
  bool gpu_in_use_ = false;
};

}  // namespace fhd::app

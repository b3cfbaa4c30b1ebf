#pragma once
// The processes that mpirun (Open MPI, or one with PMI) or srun started together. Those of `fhd batch` need not
// talk to each other: claims on scans are all that they share (see batch/ledger.hpp). Those of `fhd recon` are a
// team.
#include <memory>
#include <string>

#include "recon/array/execution.hpp"

namespace fhd::app {

/// Which of several processes this one is, or that it is alone.
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
  /// GPUs of this machine, as choose_device found them; 0 where the CPU was asked for.
  int gpus() const { return gpus_; }

 private:
  int rank_ = 0, count_ = 1, local_rank_ = 0, here_ = 1, gpus_ = 0;
};

/// A team that ends the others when one fails.
class MpiTeam final : public ProcessGroup {
 public:
  /// Throws Error when fhd was built without MPI.
  MpiTeam();
  /// Ends all processes unless this one has left: one that failed leaves the others waiting.
  ~MpiTeam() override {
    if (!left_) abort_(1);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Return which of the processes on this machine this is, and how many they are.
  int local_rank() const;
  int local_size() const;
  void sum(float* values, std::int64_t count) const override { require(sum_float_(values, count)); }
  void sum(double* values, std::int64_t count) const override { require(sum_double_(values, count)); }
  /// Waits for every process and leaves MPI.
  void leave() {
    require(end_());
    left_ = true;
  }

 private:
  static void require(int error);
  int rank_ = 0, size_ = 1;
  bool left_ = false;
  int (*begin_)(int*, int*) = nullptr;
  int (*sum_float_)(float*, std::int64_t) = nullptr;
  int (*sum_double_)(double*, std::int64_t) = nullptr;
  int (*end_)() = nullptr;
  int (*abort_)(int) = nullptr;
};

/// "Open MPI v4.1.4", or why there is none. Starts nothing.
std::string mpi_version();

/// The team of this process when mpirun (Open MPI, MPICH, Slurm's srun with PMI) started more than one; else
/// null. Throws Error when fhd was built without MPI.
std::shared_ptr<MpiTeam> join_team();

}  // namespace fhd::app

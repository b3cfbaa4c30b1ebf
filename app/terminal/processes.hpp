#pragma once
// The processes of one `fhd recon` that mpirun (Open MPI, MPICH) or srun with PMI started together.
#include <sys/types.h>

#include <memory>

#include "recon/array/execution.hpp"

namespace fhd::app {

/// Which of the processes this one is, as their environment says; one that is alone is number 0 of 1.
struct MpiRank {
  int number = 0, count = 1;
  static MpiRank of_environment();
};

/// Counts the GPUs of this machine, in a child process: workers are forked, which CUDA does not survive in a process that has
/// used it.
class GpuCount {
 public:
  /// Begins to count.
  GpuCount();
  ~GpuCount();
  GpuCount(const GpuCount&) = delete;
  GpuCount& operator=(const GpuCount&) = delete;
  /// Waits for the count. Returns 0 where they cannot be counted.
  int get();

 private:
  pid_t child_ = -1;
  int count_ = 0;
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

/// The team of this process when mpirun (Open MPI, MPICH, Slurm's srun with PMI) started more than one; else
/// null. Throws Error when fhd was built without MPI.
std::shared_ptr<MpiTeam> join_team();

}  // namespace fhd::app

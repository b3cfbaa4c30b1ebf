#pragma once
// The processes that mpirun started together.
#include <memory>

#include "recon/array/process_group.hpp"

namespace fhd::app {

/// A team that ends the others when one fails.
class MpiProcessGroup : public ProcessGroup {
 public:
  /// Waits for every process and leaves MPI; without it the destructor ends all processes, since one that
  /// failed leaves the others waiting.
  virtual void leave() = 0;
  /// Of the processes on this machine: which one this is, and how many they are.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
};

/// The team of this process when mpirun (Open MPI, MPICH, Slurm's srun with PMI) started more than one; else
/// null. Throws Error when fhd was built without MPI.
std::shared_ptr<MpiProcessGroup> join_team();

}  // namespace fhd::app

#include "app/mpi_team.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "app/batch/ranks.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

class Module final : public MpiProcessGroup {
 public:
  Module() {
    const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fhd_mpi.so";
    // Open MPI looks its own parts up among global symbols.
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library_)
      throw Error("mpirun fhd recon", path.string() + ", which a build with MPI makes", dlerror(),
                  "install libopenmpi-dev and build again, or run one process");
    find("fhd_mpi_begin", begin_);
    find("fhd_mpi_sum_float", sum_float_);
    find("fhd_mpi_sum_double", sum_double_);
    find("fhd_mpi_end", end_);
    find("fhd_mpi_abort", abort_);
    require(begin_(&rank_, &size_));
  }
  ~Module() override {
    if (!left_) abort_(1);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override {
    return number_in_environment({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
        .value_or(rank_);
  }
  int local_size() const override {
    const auto local =
        number_in_environment({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"});
    return std::max(1, local.value_or(size_));
  }
  void sum(float* values, std::int64_t count) const override { require(sum_float_(values, count)); }
  void sum(double* values, std::int64_t count) const override { require(sum_double_(values, count)); }
  void leave() override {
    require(end_());
    left_ = true;
  }

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (!function) throw Error("fhd_mpi.so", name, "none", "build fhd again");
  }
  static void require(int error) {
    if (error != 0) throw Error("MPI", "success", "error " + std::to_string(error));
  }

  void* library_ = nullptr;
  int rank_ = 0, size_ = 1;
  bool left_ = false;
  int (*begin_)(int*, int*) = nullptr;
  int (*sum_float_)(float*, std::int64_t) = nullptr;
  int (*sum_double_)(double*, std::int64_t) = nullptr;
  int (*end_)() = nullptr;
  int (*abort_)(int) = nullptr;
};

}  // namespace

std::shared_ptr<MpiProcessGroup> join_team() {
  if (number_in_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}).value_or(1) <= 1) return nullptr;
  return std::make_shared<Module>();
}

}  // namespace fhd::app

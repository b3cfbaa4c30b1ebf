#include "app/terminal/processes.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "io/files/atomic_file.hpp"
#include "io/files/installed_file.hpp"
#include "recon/array/device.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// Counts the GPUs by a child process: workers are forked, and CUDA does not survive a fork in a process that has used it.
int gpu_count() {
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    io::forget_unfinished_files();
    int count = 0;
    try {
      count = static_cast<int>(std::min<std::size_t>(device::inventory().devices.size(), 100));
    } catch (const std::exception&) {
    }
    _exit(count);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/// Returns the first of these environment variables that holds a number >= 0. Slurm writes "4(x2)" for 4 tasks on each of
/// 2 nodes.
std::optional<int> number_in_environment(std::initializer_list<const char*> variables) {
  for (const char* variable : variables)
    if (const char* text = std::getenv(variable)) {
      int value = 0;
      const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
      if (error == std::errc() && value >= 0 && (*end == '\0' || *end == '(' || *end == ',')) return value;
    }
  return {};
}

std::optional<int> local_rank_in_environment() {
  return number_in_environment({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
}

}  // namespace

Ranks Ranks::of_environment() {
  Ranks ranks;
  ranks.count_ = std::max(
      1, number_in_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}).value_or(1));
  if (ranks.count_ == 1) return ranks;  // also one task of a Slurm array
  ranks.rank_ = number_in_environment({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}).value_or(0);
  ranks.local_rank_ = local_rank_in_environment().value_or(ranks.rank_);
  ranks.here_ = std::clamp(
      number_in_environment({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"})
          .value_or(ranks.count_),
      1, ranks.count_);
  return ranks;
}

std::string Ranks::choose_device(const std::string& asked) {
  if (asked == "cpu") return {};
  gpus_ = gpu_count();
  if (gpus_ == 0 || count_ == 1 || (asked != "auto" && asked != "cuda")) return {};
  return "cuda:" + std::to_string(local_rank_ % gpus_);
}

namespace {

/// Opens the module. Throws Error where fhd was built without MPI.
void* open_mpi_module() {
  const auto path = io::installed_file("fhd_mpi.so");
  // RTLD_GLOBAL: Open MPI looks its own parts up among global symbols.
  if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  throw Error("mpirun fhd recon", path + ", which a build with MPI makes", dlerror(),
              "install the package fhd-mpi, or libopenmpi-dev and build again; or run one process");
}

}  // namespace

std::string mpi_version() {
  try {
    void* const library = open_mpi_module();
    const auto version = reinterpret_cast<int (*)(char*, int)>(dlsym(library, "fhd_mpi_version"));
    char text[1 << 13] = "";
    if (version == nullptr || version(text, sizeof text) != 0) return "of an unknown version";
    std::string line = text;
    return line.substr(0, line.find_first_of("\n,"));
  } catch (const Error&) {
    return "none: fhd_mpi.so cannot be opened";
  }
}

MpiTeam::MpiTeam() {
  void* const library = open_mpi_module();
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) throw Error("fhd_mpi.so", name, "none", "build fhd again");
  };
  find("fhd_mpi_begin", begin_);
  find("fhd_mpi_sum_float", sum_float_);
  find("fhd_mpi_sum_double", sum_double_);
  find("fhd_mpi_end", end_);
  find("fhd_mpi_abort", abort_);
  require(begin_(&rank_, &size_));
}

void MpiTeam::require(int error) {
  if (error != 0) throw Error("MPI", "success", "error " + std::to_string(error));
}

int MpiTeam::local_rank() const { return local_rank_in_environment().value_or(rank_); }

int MpiTeam::local_size() const {
  const auto local =
      number_in_environment({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"});
  return std::max(1, local.value_or(size_));
}

std::shared_ptr<MpiTeam> join_team() {
  if (number_in_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}).value_or(1) <= 1) return nullptr;
  return std::make_shared<MpiTeam>();
}

}  // namespace fhd::app

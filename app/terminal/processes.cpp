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
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>

#include "io/files/installed_file.hpp"
#include "io/files/unfinished_files.hpp"
#include "recon/array/device.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// The first of these environment variables that holds a number >= 0. Slurm writes "4(x2)" for 4 tasks on each
/// of 2 nodes.
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

GpuCount::GpuCount() : child_(fork()) {
  if (child_ != 0) return;
  io::forget_unfinished_files();
  int count = 0;
  try {
    count = static_cast<int>(std::min<std::size_t>(device::inventory().devices.size(), 100));
  } catch (const std::exception&) {
  }
  _exit(count);
}

GpuCount::~GpuCount() { get(); }

int GpuCount::get() {
  int status = 0;
  while (child_ > 0 && waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  if (std::exchange(child_, -1) > 0 && WIFEXITED(status)) count_ = WEXITSTATUS(status);
  return count_;
}

MpiRank MpiRank::of_environment() {
  const int count = number_in_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}).value_or(1);
  if (count <= 1) return {};
  return {number_in_environment({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}).value_or(0), count};
}

MpiTeam::MpiTeam() {
  const auto path = io::installed_file("fhd_mpi.so");
  // RTLD_GLOBAL: Open MPI looks its own parts up among global symbols.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    throw Error("mpirun fhd recon", path + ", which a build with MPI makes", dlerror(),
                "install the package fhd-mpi, or libopenmpi-dev and build again; or run one process");
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
  return MpiRank::of_environment().count > 1 ? std::make_shared<MpiTeam>() : nullptr;
}

}  // namespace fhd::app

#include "app/batch/ranks.hpp"

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

#include "recon/array/device.hpp"

namespace fhd::app {
namespace {

/// Counted by a child process: workers are forked, and CUDA does not survive that in a process that has used
/// it.
int gpu_count() {
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
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

}  // namespace

std::optional<int> number_in_environment(std::initializer_list<const char*> variables) {
  for (const char* variable : variables)
    if (const char* text = std::getenv(variable)) {
      int value = 0;
      const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
      if (error == std::errc() && value >= 0 && (*end == '\0' || *end == '(' || *end == ',')) return value;
    }
  return {};
}

Ranks Ranks::of_environment() {
  Ranks ranks;
  ranks.count_ = std::max(
      1, number_in_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}).value_or(1));
  if (ranks.count_ == 1) return ranks;  // also one task of a Slurm array
  ranks.rank_ = number_in_environment({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}).value_or(0);
  ranks.local_rank_ =
      number_in_environment({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
          .value_or(ranks.rank_);
  ranks.here_ = std::clamp(
      number_in_environment({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"})
          .value_or(ranks.count_),
      1, ranks.count_);
  return ranks;
}

std::string Ranks::choose_device(const std::string& asked) {
  if (asked == "cpu") return {};
  const int gpus = gpu_count();
  gpu_in_use_ = gpus > 0;
  if (gpus == 0 || count_ == 1 || (asked != "auto" && asked != "cuda")) return {};
  return "cuda:" + std::to_string(local_rank_ % gpus);
}

}  // namespace fhd::app

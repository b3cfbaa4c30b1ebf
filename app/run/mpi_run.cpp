#include "app/run/mpi_run.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "app/terminal/console.hpp"
#include "recon/error.hpp"

namespace fhd::app {

int run_in_team(const std::function<int(const std::shared_ptr<MpiTeam>&)>& work) {
  const auto team = join_team();
  if (!team) return work(nullptr);
  try {
    const int status = work(team);
    team->leave();
    return status;
  } catch (const std::exception& error) {
    // The first process prints what fails in every process, and ends the others before they do.
    if (team->rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    print_error((team->rank() > 0 ? fmt::format("process {}: ", team->rank()) : "") + error.what());
    std::fflush(stderr);
    throw;
  }
}

void share_work(const MpiTeam& team, const RunSettings& settings) {
  const RunOptions& options = settings.options;
  if (options.frames.asks())
    throw UsageError(Error("--frames, --spokes-per-frame and --gate", "one process", "several, by mpirun",
                           "run it without mpirun"));
  if (settings.field_map == FieldMapChoice::from_echoes)
    throw Error("--field-map auto", "one process", "several, by mpirun",
                "make the map with 'fhd fieldmap' first");
  if (options.device.names_several())
    throw Error("--device " + options.device.text(), "one GPU for each process that mpirun started", "several",
                "leave --device out, and every process takes its own; or run one process");
  options.noise_map.require_alone(1, team.size());
  if (options.threads > 0) return;
  // Where mpirun has not bound the processes to some processors each.
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  if (omp_get_num_procs() >= all) omp_set_num_threads(std::max(1, all / team.local_size()));
}

void require_unchanged_for_all(const MpiTeam& team, const io::ScanSummary& summary) {
  summary.stamps.require_unchanged();
  double arrived = 1;
  team.sum(&arrived, 1);
}

}  // namespace fhd::app

#pragma once
// A run that several processes share: mpirun started them, and each takes its share of samples and coils.
#include <functional>
#include <memory>

#include "app/run/scan_run.hpp"
#include "app/terminal/processes.hpp"

namespace fhd::app {

/// Returns work(team), null for a process alone. When `work` throws, the other processes end, too.
int run_in_team(const std::function<int(const std::shared_ptr<MpiTeam>&)>& work);
/// Throws Error where several processes cannot do such a run; gives each process its share of the machine's processors.
void share_work(const MpiTeam& team, const RunSettings& settings);
/// Throws Error where the scan has changed since one of the processes opened it: each has read it by itself.
void require_unchanged_for_all(const MpiTeam& team, const io::ScanSummary& summary);

}  // namespace fhd::app

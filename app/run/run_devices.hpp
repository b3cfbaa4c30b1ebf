#pragma once
// Devices and processes of a run of one scan.
#include <functional>
#include <memory>
#include <string>

#include "app/run/scan_run.hpp"
#include "app/terminal/processes.hpp"

namespace fhd::app {

struct OpenedScan {
  std::unique_ptr<io::ScanFile> file;
  std::unique_ptr<DevicesInBackground> devices;
};

/// Opens the scan. Devices start meanwhile, or after a look into a small file, which may not need a GPU. `local_rank`: of
/// several processes on this machine, which one this is; else -1.
OpenedScan open_and_start_devices(const std::string& path, const RunSettings& settings, int local_rank);

/// Returns work(team), null for a process alone. When `work` throws, the other processes end, too.
int run_in_team(const std::function<int(const std::shared_ptr<MpiTeam>&)>& work);
/// Throws Error where several processes cannot do such a run; gives each process its share of the machine's processors.
void share_work(const MpiTeam& team, const RunSettings& settings);
/// Throws Error where the scan has changed since one of the processes opened it: each has read it by itself.
void require_unchanged_for_all(const MpiTeam& team, const io::ScanSummary& summary);

}  // namespace fhd::app

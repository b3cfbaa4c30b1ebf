#pragma once
// Opens a scan while the devices for it start.
#include <memory>
#include <string>

#include "app/options/devices.hpp"
#include "app/run/scan_run.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

struct OpenedScan {
  std::unique_ptr<io::ScanFile> file;
  std::unique_ptr<DevicesInBackground> devices;
};

/// Opens the scan. Devices start meanwhile, or after a look into a small file, which may not need a GPU. `local_rank`: of
/// several processes on this machine, which one this is; else -1.
OpenedScan open_and_start_devices(const std::string& path, const RunSettings& settings, int local_rank);

}  // namespace fhd::app

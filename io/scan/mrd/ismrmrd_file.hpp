#pragma once
// ISMRMRD HDF5 files: records.hpp tells the layout, volume_assembler.hpp what readouts mean. Optional root
// datasets /sensitivity_maps, /field_map, /sample_time_s: see io/scan/hdf5_maps.hpp.
#include <memory>
#include <string>
#include <vector>

#include "io/result/atomic_file.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

std::unique_ptr<ScanFile> open_ismrmrd(const std::string& path, const ReadOptions& options);
/// See write_scan.
std::vector<std::string> write_ismrmrd(std::vector<AtomicFile>& files, const std::string& path,
                                       const ScanSeries& series);

}  // namespace fhd::io

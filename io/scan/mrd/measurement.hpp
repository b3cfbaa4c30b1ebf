#pragma once
// An open ISMRMRD file, with everything that its readouts tell.
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/mrd/records.hpp"
#include "io/scan/mrd/volume_assembler.hpp"

namespace fhd::io::mrd {

struct Measurement {
  hdf5::File file;
  RecordDataset records;
  VolumeAssembler volumes;  ///< has seen every readout
  std::string group;        ///< "/name"
};
/// Opens a file and reads every head. Throws Error.
Measurement open_measurement(const std::string& path, const ReadOptions& options);

}  // namespace fhd::io::mrd

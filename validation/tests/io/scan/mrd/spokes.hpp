#pragma once
// A small ISMRMRD file, whose readouts tests write in other formats.
#include <ismrmrd/dataset.h>
#include <ismrmrd/ismrmrd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace fhd::io {

inline constexpr auto header_of_spokes =
    R"(<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><encoding><encodedSpace>
<matrixSize><x>16</x><y>16</y><z>1</z></matrixSize><fieldOfView_mm><x>160</x><y>160</y><z>5</z></fieldOfView_mm>
</encodedSpace><trajectory>radial</trajectory></encoding><userParameters><userParameterString>
<name>trajectory_unit</name><value>cycles/FOV</value></userParameterString></userParameters></ismrmrdHeader>)";

/// Writes a noise readout and ten spokes of two slices into a new file, with header_of_spokes. Returns these readouts.
inline std::vector<ISMRMRD::Acquisition> write_spokes(const std::string& path) {
  std::filesystem::remove(path);
  ISMRMRD::Dataset dataset(path.c_str(), "/dataset", true);
  dataset.writeHeader(header_of_spokes);
  std::vector<ISMRMRD::Acquisition> readouts;
  for (int i = 0; i < 11; ++i) {
    auto& readout = readouts.emplace_back(16, 2, i == 0 ? 0 : 2);
    readout.idx().slice = static_cast<std::uint16_t>(i % 2);
    readout.sample_time_us() = 4;
    if (i == 0) readout.setFlag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
    for (int axis = 0; axis < 3; ++axis) {
      readout.position()[axis] = static_cast<float>(axis + 1);
      readout.read_dir()[axis] = axis == 0;
      readout.phase_dir()[axis] = axis == 1;
      readout.slice_dir()[axis] = axis == 2;
    }
    for (std::uint16_t s = 0; s < 16; ++s) {
      if (i > 0) readout.traj(0, s) = static_cast<float>(std::cos(i * 0.7) * (s - 8));
      if (i > 0) readout.traj(1, s) = static_cast<float>(std::sin(i * 0.7) * (s - 8));
      for (std::uint16_t coil = 0; coil < 2; ++coil)
        readout.data(s, coil) = {static_cast<float>(i), static_cast<float>(s + 100 * coil)};
    }
    dataset.appendAcquisition(readout);
  }
  return readouts;
}

}  // namespace fhd::io

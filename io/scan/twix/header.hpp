#pragma once
// The header of ISMRMRD that the protocol and the heads of Siemens raw data tell.
#include <algorithm>
#include <cstdint>
#include <string>

#include "io/scan/twix/measurement_head.hpp"
#include "io/scan/twix/protocol.hpp"

namespace fhd::io::twix {

/// Collects what the heads of readouts of one purpose tell.
struct Survey {
  std::int64_t readouts = 0;
  int samples = 0, channels = 0, center_column = 0;  ///< of the longest; of the first
  int center_line = 0, center_partition = 0;         ///< of the first
  int last_line = 0, last_partition = 0, last_slice = 0;
  int last_repetition = 0, last_contrast = 0, last_average = 0, last_phase = 0, last_set = 0,
      last_segment = 0;
  bool has_reversed = false, is_swapped = false;
  void add(const MeasurementHead& head);
  /// Returns whether positions in k-space follow by the same rule.
  bool is_like(const Survey& other) const {
    return samples == other.samples && center_column == other.center_column &&
           center_line == other.center_line && center_partition == other.center_partition;
  }
};

/// Facts that decide the header beside the protocol.
struct HeaderFacts {
  Survey image, reference;
  bool reads_positions = false;  ///< the trajectory comes from another file
  bool is_regridded = false;     ///< samples on the ramps of the gradient were brought to equal distances
};

/// Returns whether the references lie in an encoding space of their own, the second: they have another length or centre.
bool has_reference_space(const HeaderFacts& facts);
/// Returns whether lines are read in turns in both directions after one excitation.
bool is_echo_planar(const Protocol& protocol, const HeaderFacts& facts);
/// Returns the encoded FOV along the readout, mm; 0 where it is unknown.
double encoded_read_fov_mm(const Protocol& protocol, const HeaderFacts& facts);
/// Returns the XML. The encoded matrix is the base resolution times the oversampling of the readout, by the lines and
/// partitions of the protocol (more where the heads count more), their FOV with oversampling; k = 0 is where the heads
/// say. Texts that name the patient are left out.
std::string header_xml(const Protocol& protocol, const HeaderFacts& facts);

}  // namespace fhd::io::twix

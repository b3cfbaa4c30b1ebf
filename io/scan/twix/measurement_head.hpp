#pragma once
// The head of a block of Siemens raw data (MDH), and of each of its channels.
//
//   VA, VB: each channel has a head of 128 bytes, whose content (but the channel) is that of the readout.
//   VD, VE, XA: a head of 192 bytes for all channels, then 32 bytes before the samples of each.
#include <cstddef>
#include <cstdint>

#include "io/scan/mrd/readout.hpp"

namespace fhd::io::twix {

/// Bits of the evaluation mask that decide here; all others are told by twixtools' mdh_def.py.
enum Bit : int {
  acqend = 0,
  rt_feedback = 1,
  hp_feedback = 2,
  sync_data = 5,
  last_in_measurement = 11,
  reference_phase_stabilisation = 14,
  phase_stabilisation = 15,
  swapped = 19,
  phase_correction = 21,
  pat_reference = 22,
  pat_reference_and_image = 23,
  reflect = 24,
  noise_adjust = 25,
  first_in_slice = 28,
  last_in_slice = 29,
  coil_normalisation = 35,
  retro_end_of_measurement = 46,
  retro_dummy = 51,
  skip_regridding = 55
};

/// The content of a head that both layouts have.
struct MeasurementHead {
  std::uint32_t block_bytes = 0;  ///< as the head says; right for blocks of synchronous data
  std::uint32_t measurement = 0, scan_counter = 0, time_stamp = 0, physiology_time_stamp = 0;
  std::int32_t table_position[3]{};
  std::uint64_t mask = 0;  ///< bits of Bit
  std::uint16_t samples = 0, channels = 0;
  /// Line, average, slice, partition, echo, phase, repetition, set, segment, and five that sequences use as they like.
  std::uint16_t counters[14]{};
  std::uint16_t cut_off[2]{};  ///< samples to leave out at the beginning and the end
  std::uint16_t center_column = 0, center_line = 0, center_partition = 0;
  float read_offset_mm = 0;  ///< of the centre of the FOV from the isocentre, along the readout
  std::uint32_t since_excitation_us = 0;
  float position_mm[3]{}, quaternion[4]{};  ///< of the slice, in the patient's axes (LPS); w, x, y, z
  std::uint16_t program_parameters[24]{};

  bool has(Bit bit) const { return (mask >> bit) & 1; }
};

inline constexpr std::size_t vb_head_bytes = 128, head_bytes = 192, channel_head_bytes = 32;

/// Reads a head from as many bytes as its layout has.
MeasurementHead head_of_bytes(const char* bytes, bool is_vb);
/// Returns the length of the block of a readout.
std::uint64_t readout_bytes(const MeasurementHead& head, bool is_vb);

/// Returns the head of ISMRMRD that siemens_to_ismrmrd makes of it, but for two facts: bit 10, which asks for a correction of the
/// receivers' gains, does not flag it as a scan of the surface coils, and bit 35 does. The dwell time is 0.
mrd::ReadoutHead readout_head(const MeasurementHead& head);

}  // namespace fhd::io::twix

#include "io/scan/twix/measurement_head.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "recon/trajectory/played_sequence.hpp"

namespace fhd::io::twix {
namespace {

#pragma pack(push, 1)
struct SliceData {
  float position_mm[3], quaternion[4];
};
struct Counters {
  std::uint16_t counters[14], cut_off[2], center_column, coil_select;
  float read_offset_mm;
  std::uint32_t since_excitation_us;
  std::uint16_t center_line, center_partition;
};
struct VbHead {
  std::uint32_t flags_and_bytes, measurement, scan_counter, time_stamp, physiology_time_stamp;
  std::uint64_t mask;
  std::uint16_t samples, channels;
  Counters counters;
  std::uint16_t program_parameters[4], free_parameters[4];
  SliceData slice;
  std::uint16_t channel, table_position;
};
struct VdHead {
  std::uint32_t flags_and_bytes, measurement, scan_counter, time_stamp, physiology_time_stamp;
  std::uint16_t system_type, table_delay;
  std::int32_t table_position[3], reserved;
  std::uint64_t mask;
  std::uint16_t samples, channels;
  Counters counters;
  SliceData slice;
  std::uint16_t program_parameters[24], reserved_parameters[4], application_counter, application_mask;
  std::uint32_t checksum;
};
#pragma pack(pop)
static_assert(sizeof(VbHead) == vb_head_bytes && sizeof(VdHead) == head_bytes);

/// Copies what both layouts have under the same names.
template <class Stored>
MeasurementHead common_part(const Stored& stored) {
  constexpr std::uint32_t bytes_mask = 0x01FFFFFF;
  MeasurementHead head;
  head.block_bytes = stored.flags_and_bytes & bytes_mask;
  head.measurement = stored.measurement, head.scan_counter = stored.scan_counter;
  head.time_stamp = stored.time_stamp, head.physiology_time_stamp = stored.physiology_time_stamp;
  head.mask = stored.mask, head.samples = stored.samples, head.channels = stored.channels;
  const auto& counters = stored.counters;
  std::memcpy(head.counters, counters.counters, sizeof head.counters);
  std::memcpy(head.cut_off, counters.cut_off, sizeof head.cut_off);
  head.center_column = counters.center_column, head.center_line = counters.center_line;
  head.center_partition = counters.center_partition, head.read_offset_mm = counters.read_offset_mm;
  head.since_excitation_us = counters.since_excitation_us;
  std::memcpy(head.position_mm, stored.slice.position_mm, sizeof head.position_mm);
  std::memcpy(head.quaternion, stored.slice.quaternion, sizeof head.quaternion);
  std::memcpy(head.program_parameters, stored.program_parameters, sizeof stored.program_parameters);
  return head;
}

/// Bits, and the flags of ISMRMRD that follow from each.
struct FlagOfBit {
  Bit bit;
  int flag;
};
using namespace ISMRMRD;
constexpr FlagOfBit flags[]{{noise_adjust, ISMRMRD_ACQ_IS_NOISE_MEASUREMENT},
                            {first_in_slice, ISMRMRD_ACQ_FIRST_IN_SLICE},
                            {last_in_slice, ISMRMRD_ACQ_LAST_IN_SLICE},
                            {last_in_measurement, ISMRMRD_ACQ_LAST_IN_REPETITION},
                            {last_in_measurement, ISMRMRD_ACQ_LAST_IN_MEASUREMENT},
                            {retro_end_of_measurement, ISMRMRD_ACQ_LAST_IN_MEASUREMENT},
                            {pat_reference_and_image, ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING},
                            {reflect, ISMRMRD_ACQ_IS_REVERSE},
                            {phase_correction, ISMRMRD_ACQ_IS_PHASECORR_DATA},
                            {rt_feedback, ISMRMRD_ACQ_IS_NAVIGATION_DATA},
                            {rt_feedback, ISMRMRD_ACQ_IS_RTFEEDBACK_DATA},
                            {hp_feedback, ISMRMRD_ACQ_IS_HPFEEDBACK_DATA},
                            {retro_dummy, ISMRMRD_ACQ_IS_DUMMYSCAN_DATA},
                            {coil_normalisation, ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA},
                            {reference_phase_stabilisation, ISMRMRD_ACQ_IS_PHASE_STABILIZATION_REFERENCE},
                            {phase_stabilisation, ISMRMRD_ACQ_IS_PHASE_STABILIZATION}};

/// Puts the columns of the rotation matrix of a quaternion (w, x, y, z): phase, read and slice direction; none where it is 0.
void put_directions(const float (&q)[4], mrd::ReadoutHead& head) {
  if (std::ranges::all_of(q, [](float each) { return each == 0; })) return;
  const auto rotation = rotation_of({q[0], q[1], q[2], q[3]});
  float(*const directions[])[3]{&head.phase_dir, &head.read_dir, &head.slice_dir};
  for (std::size_t column = 0; column < 3; ++column)
    for (std::size_t axis = 0; axis < 3; ++axis)
      (*directions[column])[axis] = static_cast<float>(rotation[axis][column]);
}

}  // namespace

MeasurementHead head_of_bytes(const char* bytes, bool is_vb) {
  if (is_vb) {
    VbHead stored;
    std::memcpy(&stored, bytes, sizeof stored);
    auto head = common_part(stored);
    head.table_position[2] = stored.table_position;
    return head;
  }
  VdHead stored;
  std::memcpy(&stored, bytes, sizeof stored);
  auto head = common_part(stored);
  std::memcpy(head.table_position, stored.table_position, sizeof head.table_position);
  return head;
}

std::uint64_t readout_bytes(const MeasurementHead& head, bool is_vb) {
  constexpr std::uint64_t sample_bytes = 2 * sizeof(float);
  const std::uint64_t values = sample_bytes * head.samples;
  return is_vb ? head.channels * (vb_head_bytes + values)
               : head_bytes + head.channels * (channel_head_bytes + values);
}

mrd::ReadoutHead readout_head(const MeasurementHead& head) {
  mrd::ReadoutHead own{};
  own.version = 1;
  for (const auto& [bit, flag] : flags)
    if (head.has(bit)) own.set_flag(flag);
  if (head.has(pat_reference) && !head.has(pat_reference_and_image))
    own.set_flag(ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION);
  own.measurement_uid = head.measurement, own.scan_counter = head.scan_counter;
  own.acquisition_time_stamp = head.time_stamp;
  own.physiology_time_stamp[0] = head.physiology_time_stamp;
  own.number_of_samples = head.samples;
  own.available_channels = own.active_channels = head.channels;
  for (int channel = 0; channel < std::min<int>(head.channels, 64 * ISMRMRD_CHANNEL_MASKS); ++channel)
    own.channel_mask[channel / 64] |= std::uint64_t{1} << (channel % 64);
  own.discard_pre = head.cut_off[0], own.discard_post = head.cut_off[1];
  own.center_sample = head.center_column;
  std::copy_n(head.position_mm, 3, own.position);
  put_directions(head.quaternion, own);
  std::copy_n(head.table_position, 3, own.patient_table_position);
  auto& idx = own.idx;
  const auto& counters = head.counters;
  idx.kspace_encode_step_1 = counters[0], idx.average = counters[1], idx.slice = counters[2];
  idx.kspace_encode_step_2 = counters[3], idx.contrast = counters[4], idx.phase = counters[5];
  idx.repetition = counters[6], idx.set = counters[7], idx.segment = counters[8];
  std::copy_n(counters + 9, 5, idx.user);
  idx.user[5] = head.center_line, idx.user[6] = head.center_partition;
  std::copy_n(head.program_parameters, 7, own.user_int);
  own.user_int[7] = static_cast<std::int32_t>(head.since_excitation_us);
  std::copy_n(head.program_parameters + 8, 8, own.user_float);
  return own;
}

}  // namespace fhd::io::twix

#pragma once
// One readout of an ISMRMRD measurement, from a file or a connection.
#include <ismrmrd/ismrmrd.h>

#include <cstdint>
#include <span>
#include <string>

#include "recon/array/array.hpp"

namespace fhd::io::mrd {

/// The largest counter, and number of samples and channels, of the format: 16 bits.
inline constexpr int largest_count = 65535;

/// The head of a readout, member for member that of ISMRMRD (where each is described), but aligned: ISMRMRD
/// packs its own to two bytes, so that no float in it may be referred to.
struct EncodingCounters {
  std::uint16_t kspace_encode_step_1, kspace_encode_step_2, average, slice, contrast, phase, repetition, set,
      segment;
  std::uint16_t user[ISMRMRD::ISMRMRD_USER_INTS];
};
struct ReadoutHead {
  std::uint16_t version;
  std::uint64_t flags;
  std::uint32_t measurement_uid, scan_counter, acquisition_time_stamp,
      physiology_time_stamp[ISMRMRD::ISMRMRD_PHYS_STAMPS];
  std::uint16_t number_of_samples, available_channels, active_channels;
  std::uint64_t channel_mask[ISMRMRD::ISMRMRD_CHANNEL_MASKS];
  std::uint16_t discard_pre, discard_post, center_sample, encoding_space_ref, trajectory_dimensions;
  float sample_time_us, position[3], read_dir[3], phase_dir[3], slice_dir[3], patient_table_position[3];
  EncodingCounters idx;
  std::int32_t user_int[ISMRMRD::ISMRMRD_USER_INTS];
  float user_float[ISMRMRD::ISMRMRD_USER_FLOATS];

  bool has_flag(int flag) const { return (flags >> (flag - 1)) & 1; }
  void set_flag(int flag) { flags |= std::uint64_t{1} << (flag - 1); }
  /// The samples that count: [first_sample(), first_sample() + sample_count()); below 1 where the head lies.
  std::int64_t first_sample() const { return discard_pre; }
  std::int64_t sample_count() const { return std::int64_t{number_of_samples} - discard_pre - discard_post; }
};

struct Readout {
  ReadoutHead head;
  std::span<const float> trajectory;  ///< [sample][axis]
  std::span<const float> values;      ///< [coil][sample][re, im]
};

/// Throws Error naming `subject`, a member of a readout, unless it has as many numbers as the head says.
void require_length(std::size_t found, std::size_t expected, const std::string& subject);
/// Puts the values of a readout, `subject`, at sample m of values [coil][sample]. `head` is that of the readout when it was
/// read first, by which the memory was taken. Throws Error unless the readout has as many values.
void copy_values(const Readout& readout, const ReadoutHead& head, const std::string& subject,
                 Array<Complex<float>>& values, std::int64_t m);

}  // namespace fhd::io::mrd

#pragma once
// Readouts of an ISMRMRD measurement, from a file or a connection, and their roles.
#include <ismrmrd/ismrmrd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

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
  bool is_reversed() const { return has_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE); }
  /// The samples that count: [first_sample(), first_sample() + sample_count()); below 1 where the head lies.
  std::int64_t first_sample() const { return discard_pre; }
  std::int64_t sample_count() const { return std::int64_t{number_of_samples} - discard_pre - discard_post; }
};

struct Readout {
  ReadoutHead head;
  std::span<const float> trajectory;  ///< [sample][axis]
  std::span<const float> values;      ///< [coil][sample][re, im]
};
/// A readout with arrays of its own.
struct OwnedReadout {
  ReadoutHead head{};
  std::vector<float> trajectory, values;

  Readout view() const { return {head, trajectory, values}; }
  /// Returns the memory that it takes.
  std::size_t bytes() const { return sizeof *this + (trajectory.size() + values.size()) * sizeof(float); }
};
using SharedReadout = std::shared_ptr<const OwnedReadout>;

/// Throws Error naming `subject`, a member of a readout, unless it has as many numbers as the head says.
void require_length(std::size_t found, std::size_t expected, const std::string& subject);
/// Puts the values of a readout, `subject`, at sample m of values [coil][sample]. `head` is that of the readout when it was
/// read first, by which the memory was taken. Throws Error unless the readout has as many values.
void copy_values(const Readout& readout, const ReadoutHead& head, const std::string& subject,
                 Array<Complex<float>>& values, std::int64_t m);

/// Roles decide what becomes of readouts (volume_assembler.hpp). Image readouts are of the first encoding space. Readouts
/// flagged as surface coil correction are the image where no others are: siemens_to_ismrmrd flags so all readouts that the
/// scanner scales (MDH_RAWDATACORRECTION); JEMRIS flags a dummy.
enum class Role { image, surface_coil, reference, navigator, noise, other };
struct ReadoutRole {
  Role role;
  const char* name;  ///< what reports call readouts of this role that are left out
};
/// Returns the role that the flags and the encoding space of a readout give it.
ReadoutRole role_of(const ReadoutHead& head);

/// A readout in little memory: a measurement may hold millions, each with a head of 340 bytes.
struct ListedReadout {
  std::int64_t number;
  const ReadoutHead* head;  ///< of ReadoutKinds; the rest of it is read again with the readout
};
using ReadoutList = std::vector<ListedReadout>;
std::int64_t sample_count(const ReadoutList& readouts);

/// Holds each kind of head once.
class ReadoutKinds {
 public:
  /// Returns `head` without what differs from readout to readout: encoding steps, stamps, numbers, flags (but
  /// "reversed", "calibration", and "calibration and imaging") and user fields. The result lives as long as this, moved or not.
  const ReadoutHead* of(const ReadoutHead& head);

 private:
  struct IsBefore {
    bool operator()(const ReadoutHead& a, const ReadoutHead& b) const;
  };
  std::set<ReadoutHead, IsBefore> kinds_;
  const ReadoutHead* last_ = nullptr;
};

}  // namespace fhd::io::mrd

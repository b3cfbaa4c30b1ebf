#pragma once
// The protocol in the header of Siemens raw data: what is used of it.
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/scan/mrd/ramp_regridding.hpp"

namespace fhd::io::twix {

/// The texts of a header. Values are found by their name: first among the lines `name = value` between "### ASCCONV BEGIN" and
/// "### ASCCONV END" (of MeasYaps, else Phoenix, else Meas), where indices are part of the name, "alTE[0]"; then in the
/// other texts as <ParamLong."name"> { values }, by the last part of the name.
class ProtocolTexts {
 public:
  explicit ProtocolTexts(std::vector<std::pair<std::string, std::string>> texts);
  /// Returns the value of a name, without its quotation marks; empty where there is none.
  std::string text(std::string_view name) const;
  /// Returns a number of a name: 0 where there is none, or none that is finite.
  double number(std::string_view name, std::size_t index = 0) const;
  /// Returns whether the protocol has a value of this name.
  bool has(std::string_view name) const { return !text(name).empty(); }

 private:
  std::vector<std::string> values(std::string_view name) const;
  std::map<std::string, std::string, std::less<>> lines_;
  std::vector<std::string> texts_;  ///< without ASCCONV, in the order in which they are searched
};

/// The part of a protocol that is used. Numbers are 0 where they are not stated.
struct Protocol {
  std::string name, sequence, vendor, model, institution, patient_position, frame_of_reference;
  bool is_nx = false;  ///< XA: noise is measured in its own way
  double field_strength_t = 0, frequency_hz = 0;
  std::vector<double> repetition_times_us, echo_times_us, inversion_times_us, flip_angles_deg;
  double echo_spacing_us = 0;
  std::vector<double> dwell_ns;  ///< of each contrast
  int base_resolution = 0, lines = 0, partitions = 0, slices = 0, contrasts = 1;
  double read_oversampling = 0;                           ///< 2, as a rule
  double phase_oversampling = 0, slice_oversampling = 0;  ///< 0.2: 20 % more
  double read_fov_mm = 0, phase_fov_mm = 0, thickness_mm = 0;
  bool is_3d = false;
  int trajectory = 1;  ///< 1: Cartesian, 2: radial, 4: spiral, 8: blades
  int phase_acceleration = 1, slice_acceleration = 1, reference_mode = 1, multiband = 1, epi_factor = 1;
  int sequence_kind = 0;
  mrd::RampShape ramp;
  std::vector<std::string> coils;  ///< names, in the order of the channels
};
Protocol read_protocol(const ProtocolTexts& texts);

}  // namespace fhd::io::twix

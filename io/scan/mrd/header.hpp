#pragma once
// The XML header of an ISMRMRD measurement. libismrmrd's parser is not used: it refuses the headers of
// KomaMRI and MRIReco, which lack optional parts.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/mrd/ramp_regridding.hpp"
#include "io/scan/scan_file.hpp"
#include "io/scan/trajectory_unit.hpp"

namespace fhd::io::mrd {

constexpr auto unit_parameter = "trajectory_unit";  ///< a userParameterString

struct Limit {
  int maximum = 0, center = 0, minimum = 0;
};

/// The part of an encoding that is used.
struct EncodingHeader {
  std::array<int, 3> encoded_matrix{}, recon_matrix{};  ///< 0 where not stated
  std::array<double, 3> encoded_fov_mm{}, recon_fov_mm{};
  std::string trajectory;        ///< in lower case
  std::string calibration_mode;  ///< of parallel imaging: "embedded", "separate", ...; empty where not stated
  std::optional<Limit> step_1, step_2, slice, average;
  RampShape ramp{};      ///< of readouts that are sampled while the gradient rises and falls
  int ramp_samples = 0;  ///< of these, as they were measured
  /// Times from one echo of a train to the next, as parameters of the trajectory or the sequence state them, the likeliest
  /// first; and the echoes of a train, 0 where not stated.
  std::vector<double> echo_spacings_s{};
  int echo_train_length = 0;
};
/// The part of the header that is used: the first encoding, which is that of the image, and the others.
struct Header : EncodingHeader {
  std::string trajectory_unit;
  std::vector<EncodingHeader> others;
  AcquisitionInfo acquisition{};
  std::vector<double> echo_times_s{};   ///< TE of each contrast; empty where one of them is not a time
  double relative_noise_bandwidth = 1;  ///< of the receiver: see noise_readouts.hpp
  std::string measurement_id{};
  std::vector<std::string>
      noise_measurements{};  ///< whose noise is that of this measurement (measurementDependency)
};

/// Parses the XML, whose elements may have a namespace prefix. Throws Error naming `subject`.
Header parse_header(const std::string& xml, const std::string& subject);
/// Returns a header that has been parsed before with the unit cycles/FOV.
std::string with_unit(const std::string& xml);

struct EncodedSpace {
  Geometry geometry;  ///< of the image: what the user said over what the header states
  UnitReference unit_reference;
  std::array<int, 3> map_matrix_size{}, cropped_matrix_size{};
};
/// Returns the space that the readouts encode; adds to `inferred` what was inferred. Throws Error naming `subject`
/// when neither the header nor the user states a matrix.
EncodedSpace encoded_space(EncodingHeader header, const ReadOptions& options, const std::string& subject,
                           std::vector<std::string>& inferred);

/// The unit of Siemens's time stamps; ISMRMRD leaves open what they count.
inline constexpr double siemens_tick_s = 2.5e-3;
/// Returns the time of a repetition, s, 0 where it is unknown, and what tells it: `stamps`, the acquisition_time_stamp of
/// the first readout of every repetition, where they rise evenly and the scanner is Siemens's; else the TR of the header,
/// where every image is one readout and so one excitation.
std::pair<double, const char*> repetition_time(const Header& header, const std::vector<std::uint32_t>& stamps,
                                               std::size_t readouts_per_image);

}  // namespace fhd::io::mrd

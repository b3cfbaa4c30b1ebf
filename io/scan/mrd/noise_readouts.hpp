#pragma once
// Scales the samples of noise readouts to the noise in the samples of an image.
//
// The variance of noise is proportional to the bandwidth of the receiver, 1 / dwell time. The header may state how much
// of the nominal bandwidth the receiver passes while it measures noise (relativeReceiverNoiseBandwidth, 0.79 at
// Siemens): the noise in the middle of the band, where the image lies, is so much stronger. As in Gadgetron's
// NoiseAdjustGadget (github.com/gadgetron/gadgetron),
//
//   scale^2 = noise dwell time / (dwell time of the image * relative bandwidth)
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recon/array/array.hpp"

namespace fhd::io::mrd {

/// Returns the factor `scale` above; 1 where a dwell time is unknown (not above 0).
double noise_scale(double noise_dwell_us, double image_dwell_us, double relative_bandwidth);
/// Multiplies all values; leaves them as they are where the scale is 1.
void multiply(Array<Complex<float>>& noise, double scale);

/// A measurement of noise in a file of its own.
struct NoiseMeasurement {
  Array<Complex<float>> samples;  ///< [coil][sample], as measured
  std::int64_t readouts = 0;
  bool flagged = false;  ///< the readouts are those flagged as noise; else all of the file
  double dwell_us = 0;   ///< 0: not stated, or not the same in all readouts
  double relative_bandwidth = 1;
};
/// Reads an ISMRMRD file of one measurement: its readouts flagged as noise or, where none is, all. Throws Error.
NoiseMeasurement read_noise_measurement(const std::string& path);

/// Tells what a file of one ISMRMRD measurement may serve others with: noise, or noise alone.
struct MeasurementKind {
  bool has_noise = false, is_noise_alone = false;
  std::string id;                               ///< measurementID
  std::vector<std::string> noise_measurements;  ///< the ids of those that measured its noise
  std::int64_t coil_count = 0;                  ///< of the first readout
};
/// Returns the kind, by the header and the first and last readouts; nothing for a file that is no such measurement.
std::optional<MeasurementKind> kind_of_measurement(const std::string& path);
std::optional<MeasurementKind> kind_of_measurement_here(const std::string& path);

}  // namespace fhd::io::mrd

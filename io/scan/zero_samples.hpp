#pragma once
// Samples that are exactly zero in every coil: in zero-filled files they were never measured.
#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Leaves out the zeros of a scan and of its calibration where they are a mask: more than one sample in a hundred,
/// at most 63 in 64, and ten times as many as would be zero by chance, were the zeros of each coil's real and
/// imaginary parts (rounding of small signals to integers) independent of each other's. Says so in the messages,
/// and in readout_numbers where they are whole readouts; else the readout length becomes 0.
void leave_out_zeros(Scan& scan, VolumeContext& context);

}  // namespace fhd::io

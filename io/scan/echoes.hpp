#pragma once
// Which volumes of a scan file are echoes of one excitation, and when they were taken.
#include <cstdint>
#include <optional>
#include <vector>

#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// The repetitions of ScanFile::read that are echoes of one another: contrasts of the first repetition, phase and
/// set; where a file does not count, each repetition.
std::vector<std::int64_t> echoes_of(const ScanSummary& summary);

/// Echoes nearer to each other are none whose phases tell a field: 0.1 ms is 10 kHz without wraps, and TE is often stated in s
/// where it should be in ms.
inline constexpr double least_echo_spacing_s = 1e-4;

/// From the excitation to the centre of k-space, as the header states it of one of its repetitions, s.
std::optional<double> echo_time_s(const ScanSummary& summary, std::int64_t repetition);

}  // namespace fhd::io

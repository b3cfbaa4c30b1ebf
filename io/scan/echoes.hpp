#pragma once
// The volumes of a scan that are echoes of one excitation, and their times.
#include <cstdint>
#include <optional>
#include <vector>

#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Returns the repetitions that are echoes of one another: contrasts of the first repetition, phase and set; where a
/// file does not count, all repetitions.
std::vector<std::int64_t> echoes_of(const ScanSummary& summary);

/// The least time between echoes whose phases tell a field: 0.1 ms is 10 kHz without wraps, and TE is often stated in s
/// where it should be in ms.
inline constexpr double least_echo_spacing_s = 1e-4;

/// Returns the time from the excitation to the centre of k-space, s, as the header states it for a repetition.
std::optional<double> echo_time_s(const ScanSummary& summary, std::int64_t repetition);

}  // namespace fhd::io

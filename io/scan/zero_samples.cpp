// Samples that are exactly zero in every coil: in zero-filled files they were never measured.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "io/scan/scan_parts.hpp"
#include "recon/array/execution.hpp"
#include "recon/domain/option_words.hpp"

namespace fhd::io {
namespace {

/// Returns the samples that are not zero in every coil; none where the zeros are no mask.
template <class T>
std::vector<std::int64_t> measured_samples(const Array<Complex<T>>& values) {
  const auto coils = values.extent(0), samples = values.extent(1);
  std::vector<char> holds_signal(static_cast<std::size_t>(samples));
  bool all_hold_signal = false;
  for (std::int64_t coil = 0; coil < coils && !all_hold_signal; ++coil) {
    const auto* value = values.data() + coil * samples;
    for (std::int64_t m = 0; m < samples; ++m)
      holds_signal[static_cast<std::size_t>(m)] |= static_cast<char>((value[m].re != 0) | (value[m].im != 0));
    all_hold_signal = std::find(holds_signal.begin(), holds_signal.end(), 0) == holds_signal.end();
  }
  std::vector<std::int64_t> measured;
  measured.reserve(static_cast<std::size_t>(samples));
  for (std::int64_t m = 0; m < samples; ++m)
    if (holds_signal[static_cast<std::size_t>(m)]) measured.push_back(m);
  const auto kept = static_cast<std::int64_t>(measured.size()), zeros = samples - kept;
  bool is_mask = 100 * zeros > samples && 64 * kept >= samples;
  double by_chance = 1;  // share of the samples whose parts would all be zero
  for (std::int64_t coil = 0; coil < coils && is_mask; ++coil) {
    std::int64_t zero_re = 0, zero_im = 0;
    for (const auto m : measured) {
      zero_re += values[coil * samples + m].re == 0;
      zero_im += values[coil * samples + m].im == 0;
    }
    by_chance *= static_cast<double>(zero_re) / static_cast<double>(kept) * static_cast<double>(zero_im) /
                 static_cast<double>(kept);
  }
  is_mask =
      is_mask && static_cast<double>(zeros) * (1 - by_chance) > 10 * by_chance * static_cast<double>(kept);
  return is_mask ? measured : std::vector<std::int64_t>{};
}

std::vector<std::int64_t> measured_samples(const KSpace& kspace) {
  return kspace.in_double.empty() ? measured_samples(kspace.values) : measured_samples(kspace.in_double);
}

void keep(Trajectory& trajectory, KSpace& kspace, const std::vector<std::int64_t>& chosen) {
  trajectory.k = columns_of(trajectory.k, chosen);
  kspace.values = columns_of(kspace.values, chosen);
  kspace.in_double = columns_of(kspace.in_double, chosen);
}

bool are_whole_readouts(const std::vector<std::int64_t>& chosen, std::int64_t length) {
  if (length < 1 || static_cast<std::int64_t>(chosen.size()) % length != 0) return false;
  for (std::size_t i = 0; i < chosen.size(); i += static_cast<std::size_t>(length))
    if (chosen[i] % length != 0 || chosen[i + static_cast<std::size_t>(length) - 1] != chosen[i] + length - 1)
      return false;
  return true;
}

}  // namespace

void leave_out_zeros(Scan& scan, VolumeContext& context) {
  if (scan.calibration)
    if (const auto measured = measured_samples(scan.calibration->kspace); !measured.empty())
      keep(scan.calibration->trajectory, scan.calibration->kspace, measured);
  const auto samples = scan.kspace.sample_count();
  const auto measured = measured_samples(scan.kspace);
  if (measured.empty()) return;
  const auto zeros = samples - std::ssize(measured);
  keep(scan.trajectory, scan.kspace, measured);
  if (scan.sample_time_s) scan.sample_time_s = columns_of(*scan.sample_time_s, measured);
  scan.messages.push_back(
      {"zeros", Severity::note,
       fmt::format("{} of {} samples ({:.0f} %) are exactly zero in every coil: the file is zero-filled, and "
                   "they are left out as not measured ({} keeps them)",
                   zeros, samples, 100 * static_cast<double>(zeros) / static_cast<double>(samples),
                   option_words("zeros", "measured"))});
  const auto length = context.readout_length;
  if (!are_whole_readouts(measured, length)) {
    context.readout_length = 0;
    return;
  }
  for (std::size_t i = 0; i < measured.size(); i += static_cast<std::size_t>(length))
    scan.readout_numbers.push_back(measured[i] / length);
}

}  // namespace fhd::io

// Samples that are exactly zero in every coil: in zero-filled files they were never measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "io/scan/scan_parts.hpp"
#include "recon/array/execution.hpp"
#include "recon/domain/option_words.hpp"

namespace fhd::io {
namespace {

bool are_whole_readouts(const std::vector<std::int64_t>& chosen, std::int64_t length) {
  if (length < 2 || static_cast<std::int64_t>(chosen.size()) % length != 0) return false;
  for (std::size_t i = 0; i < chosen.size(); i += static_cast<std::size_t>(length))
    if (chosen[i] % length != 0 || chosen[i + static_cast<std::size_t>(length) - 1] != chosen[i] + length - 1)
      return false;
  return true;
}

/// Returns whether rounding made the zeros: then one in a thousand as many samples have a single part that is not zero,
/// and it is the smallest there is. In numbers with digits one sample has the smallest part; in integers with noise of
/// more than a step, several parts of a sample are seldom zero; one coil has two parts only, which tells nothing.
template <class T>
bool are_rounded(const Array<Complex<T>>& values, const std::vector<std::int64_t>& measured,
                 std::int64_t zeros) {
  const auto samples = values.extent(1);
  if (values.extent(0) < 2) return false;
  std::vector<T> of_sample(measured.size());  // the only part that is not zero; 0: there are several
  T least = std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < measured.size(); ++i) {
    int parts = 0;
    for (std::int64_t m = measured[i]; m < values.size(); m += samples)
      for (const T part : {std::abs(values[m].re), std::abs(values[m].im)})
        if (part != 0) ++parts, of_sample[i] = part, least = std::min(least, part);
    if (parts > 1) of_sample[i] = 0;
  }
  return 1000 * std::count(of_sample.begin(), of_sample.end(), least) > std::max<std::int64_t>(4000, zeros);
}

/// Returns the samples that are not zero in every coil; none where the zeros are no mask.
template <class T>
std::vector<std::int64_t> measured_samples(const Array<Complex<T>>& values, std::int64_t length) {
  const auto coils = values.extent(0), samples = values.extent(1);
  std::vector<char> holds_signal(static_cast<std::size_t>(samples));
  bool all_hold_signal = false;
  for (std::int64_t coil = 0; coil < coils && !all_hold_signal; ++coil) {
    const auto* value = values.data() + coil * samples;
    for (std::int64_t m = 0; m < samples; ++m)
      holds_signal[static_cast<std::size_t>(m)] |= static_cast<char>((value[m].re != 0) | (value[m].im != 0));
    all_hold_signal = std::find(holds_signal.begin(), holds_signal.end(), 0) == holds_signal.end();
  }
  if (all_hold_signal) return {};
  std::vector<std::int64_t> measured;
  measured.reserve(static_cast<std::size_t>(samples));
  for (std::int64_t m = 0; m < samples; ++m)
    if (holds_signal[static_cast<std::size_t>(m)]) measured.push_back(m);
  const auto kept = static_cast<std::int64_t>(measured.size()), zeros = samples - kept;
  bool is_mask =
      zeros > 0 && (100 * zeros > samples || are_whole_readouts(measured, length)) && 64 * kept >= samples;
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
  return is_mask && !are_rounded(values, measured, zeros) ? measured : std::vector<std::int64_t>{};
}

std::vector<std::int64_t> measured_samples(const KSpace& kspace, std::int64_t length) {
  return kspace.in_double.empty() ? measured_samples(kspace.values, length)
                                  : measured_samples(kspace.in_double, length);
}

void keep(Trajectory& trajectory, KSpace& kspace, const std::vector<std::int64_t>& chosen) {
  trajectory.k = columns_of(trajectory.k, chosen);
  kspace.values = columns_of(kspace.values, chosen);
  kspace.in_double = columns_of(kspace.in_double, chosen);
}

/// Returns whether the samples from `first` on are the end of k-space along an axis, beyond the centre and all others:
/// partial Fourier leaves out the same.
bool are_one_side(const Trajectory& trajectory, std::int64_t first) {
  const auto count = trajectory.sample_count();
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + axis * count;
    const auto [low, high] = std::minmax_element(k, k + first);
    const auto [low_zero, high_zero] = std::minmax_element(k + first, k + count);
    const bool holds_centre = *low <= 0 && *high >= 0;
    if (holds_centre && (*low_zero > *high || *high_zero < *low)) return true;
  }
  return false;
}

/// Returns whether the samples from `first` on have one position: they fill up an array.
bool are_at_one_place(const Trajectory& trajectory, std::int64_t first) {
  const auto count = trajectory.sample_count();
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + axis * count;
    if (std::any_of(k + first, k + count, [&](double at) { return at != k[first]; })) return false;
  }
  return true;
}

/// Returns what to say of the zeros. A scan that was stopped has no values from some sample on.
Message message_on_zeros(const Scan& scan, const std::vector<std::int64_t>& measured, std::int64_t length) {
  const auto samples = scan.kspace.sample_count(), zeros = samples - std::ssize(measured);
  const bool are_last = measured.back() == std::ssize(measured) - 1;
  const bool are_side = are_last && are_one_side(scan.trajectory, std::ssize(measured));
  const bool are_whole = are_whole_readouts(measured, length);
  const double percent = 100 * static_cast<double>(zeros) / static_cast<double>(samples);
  if (are_last && !are_side && !are_at_one_place(scan.trajectory, std::ssize(measured))) {
    const auto unit = are_whole ? length : 1;
    return {
        "zeros", Severity::suspicion,
        fmt::format("the last {} of {} {} are exactly zero in every coil: the scan was stopped, or its file "
                    "is incomplete; they are left out as not measured, and the image is made of {:.0f} % of "
                    "the scan",
                    zeros / unit, samples / unit, are_whole ? "readouts" : "samples", 100 - percent),
        "repeat the scan, or leave these readouts out of the file"};
  }
  if (are_whole && 100 * zeros <= samples)
    return {
        "zeros", Severity::warning,
        fmt::format("{} of {} readouts are exactly zero in every coil: they were lost, and are left out as "
                    "not measured ({} keeps them)",
                    zeros / length, samples / length, option_words("zeros", "measured"))};
  return {
      "zeros", Severity::note,
      fmt::format("{} of {} samples ({:.0f} %) are exactly zero in every coil: the file is zero-filled, and "
                  "they are left out as not measured ({} keeps them){}",
                  zeros, samples, percent, option_words("zeros", "measured"),
                  are_side ? "; they are the last ones, one side of k-space: partial Fourier, or a scan that "
                             "was stopped"
                           : "")};
}

}  // namespace

void leave_out_zeros(Scan& scan, VolumeContext& context) {
  if (scan.calibration)
    if (const auto measured = measured_samples(scan.calibration->kspace, 0); !measured.empty())
      keep(scan.calibration->trajectory, scan.calibration->kspace, measured);
  const auto length = context.readout_length;
  const auto measured = measured_samples(scan.kspace, length);
  if (measured.empty()) return;
  scan.messages.push_back(message_on_zeros(scan, measured, length));
  keep(scan.trajectory, scan.kspace, measured);
  if (scan.sample_time_s) scan.sample_time_s = columns_of(*scan.sample_time_s, measured);
  if (!are_whole_readouts(measured, length)) {
    context.readout_length = 0;
    return;
  }
  for (std::size_t i = 0; i < measured.size(); i += static_cast<std::size_t>(length))
    scan.readout_numbers.push_back(measured[i] / length);
}

}  // namespace fhd::io

#include "validation/verdict/raw_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "validation/doctor/checks.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/linear_prediction.hpp"
#include "validation/verdict/readout_lags.hpp"
#include "validation/verdict/readouts.hpp"
#include "validation/verdict/receiver_boards.hpp"

namespace fhd::validation {
namespace {

std::optional<Finding> wrapped_raw_samples(const Scan& scan) {
  constexpr double fewest = 4;
  if (doctor::clipping_of(scan.kspace).count > 0)
    return {};  // clipped samples jump from one limit to the other, too
  const auto starts = readout_starts(scan.trajectory);
  const Index coils = scan.kspace.coil_count(), samples = scan.trajectory.sample_count();
  double most = 0;
  for (const auto& d : scan.kspace.values)
    most = std::max({most, std::abs(static_cast<double>(d.re)), std::abs(static_cast<double>(d.im))});
  double wrapped = 0, others = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrapped, others)
  for (Index coil = 0; coil < coils; ++coil) {
    const auto* values = scan.kspace.values.data() + coil * samples;
    const LinearPrediction prediction(starts, [&](Index m) {
      return std::complex<double>{values[m].re, values[m].im};
    });
    prediction.for_each_miss([&](std::complex<double> miss, const auto&...) {
      for (const double size : {std::abs(miss.real()) / most, std::abs(miss.imag()) / most})
        wrapped += size > 1.5 && size <= 2.5, others += size > 1 && size <= 1.5;
    });
  }
  if (wrapped < fewest || wrapped <= 2 * others) return {};
  return make_finding(
      "wrapped",
      fmt::format("samples wrap at the end of the receiver's range (overflow of integers): {:.0f} "
                  "of them jump by nearly all of it",
                  wrapped),
      wrapped, 0, "samples", shown_by_samples);
}

}  // namespace

std::optional<Finding> lost_weak_samples(const Scan& scan) {
  // Below the smallest of them a third as many values are expected as up to twice it: 16 where there are 48.
  constexpr double fewest = 48, least_change = 0.05;
  const Index coils = scan.kspace.coil_count(), samples = scan.trajectory.sample_count();
  double energy = 0, all_zeros = 0, lost = 0, boundaries = 0, cut_coils = 0;
#pragma omp parallel for schedule(static) reduction(+ : energy, all_zeros, lost, boundaries, cut_coils)
  for (Index coil = 0; coil < coils; ++coil) {
    const auto* values = scan.kspace.values.data() + coil * samples;
    const auto square = [&](Index m) { return static_cast<double>(norm(values[m])); };
    double zeros = 0, least = std::numeric_limits<double>::infinity(), near = 0, equal = 0;
    for (Index m = 0; m < samples; ++m) {
      const double s = square(m);
      energy += s, zeros += s == 0;
      if (s > 0) least = std::min(least, s);
    }
    if (zeros < fewest / 3) continue;
    for (Index m = 0; m < samples; ++m) {
      const double s = square(m);
      near += s > 0 && s <= 4 * least, equal += s > 0 && s <= (1 + 1e-6) * least;
    }
    if (near < fewest || equal > near / 20 || zeros < near / 10) continue;  // whole numbers are equal
    for (Index m = 1; m < samples; ++m) boundaries += (square(m) == 0) != (square(m - 1) == 0);
    all_zeros += zeros, lost += zeros * least / 2, ++cut_coils;
  }
  const double change = std::sqrt(lost / (energy > 0 ? energy : 1));
  if (!(change >= least_change)) return {};
  const auto readouts = static_cast<double>(readout_starts(scan.trajectory).size() - 1);
  if (boundaries < fewest + 2.5 * readouts * cut_coils) return {};  // two each where zeros fill readouts up
  const double share = 100 * all_zeros / static_cast<double>(coils * samples);
  return make_finding(
      "lossy",
      fmt::format("{:.2g} % of the samples are exactly zero, the weakest ones: a compression that "
                  "loses them, or a threshold",
                  share),
      share, 0, "%", shown_by_samples, std::min(1.0, change));
}

std::optional<Finding> cause_in_raw_samples(const Scan& scan, bool is_alarm) {
  const auto starts = readout_starts(scan.trajectory);
  if (is_alarm)
    if (auto of_format = doctor::mistake_of_format(scan, readout_length(starts))) return of_format;
  if (is_alarm && doctor::is_transposed(scan))
    return make_finding("transposed", "the order of the samples: coils and samples are transposed", 0, 0, "",
                        shown_by_samples);
  if (auto wrapped = wrapped_raw_samples(scan)) return wrapped;
  return lag_of_readouts(scan, starts);
}

std::optional<Finding> cause_by_elimination(const Scan& scan) {
  const auto starts = readout_starts(scan.trajectory);
  if (auto boards = unlocked_boards(scan, starts)) return boards;
  return ramps_of_readouts(scan, starts);
}

}  // namespace fhd::validation

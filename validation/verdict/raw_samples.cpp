#include "validation/verdict/raw_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
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

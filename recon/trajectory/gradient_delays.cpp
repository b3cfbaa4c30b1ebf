#include "recon/trajectory/gradient_delays.hpp"

#include <algorithm>
#include <cmath>

#include "recon/array/execution.hpp"
#include "recon/trajectory/played_positions.hpp"

namespace fhd {
namespace {

bool lies_within(const Trajectory& trajectory, const std::array<int, 3>& matrix_size, std::int64_t m) {
  const std::int64_t count = trajectory.sample_count();
  for (int axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1 &&
        !(std::abs(trajectory.k[axis * count + m]) <= matrix_size[axis] / 2.0 * edge_rounding))
      return false;
  return true;
}

/// The samples that stay; with a `length` those at the same place of every readout go together.
std::vector<std::int64_t> samples_within(const Scan& scan, std::int64_t length) {
  const std::int64_t count = scan.trajectory.sample_count(), columns = length > 0 ? length : count;
  std::vector<char> leaves(static_cast<std::size_t>(columns));
  for (std::int64_t m = 0; m < count; ++m)
    if (!lies_within(scan.trajectory, scan.geometry.matrix_size, m))
      leaves[static_cast<std::size_t>(m % columns)] = 1;
  std::vector<std::int64_t> kept;
  for (std::int64_t m = 0; m < count; ++m)
    if (!leaves[static_cast<std::size_t>(m % columns)]) kept.push_back(m);
  return kept;
}

std::string three_digits(double value) {
  auto text = std::to_string(std::round(value * 1000) / 1000 + 0.0);
  return text.substr(0, text.size() - 3);
}

}  // namespace

std::int64_t readout_length(const ReadoutStarts& starts) {
  const std::int64_t length = starts.size() < 2 ? 0 : starts[1] - starts[0];
  for (std::size_t j = 1; j + 1 < starts.size(); ++j)
    if (starts[j + 1] - starts[j] != length) return 0;
  return length;
}

bool GradientDelays::are_diagonal() const {
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      if (a != b && samples[a][b] != 0) return false;
  return true;
}

GradientDelays GradientDelays::along_axes(const std::array<double, 3>& samples) {
  GradientDelays delays;
  for (int axis = 0; axis < 3; ++axis) delays.samples[axis][axis] = samples[axis];
  return delays;
}

Trajectory delayed(const Trajectory& nominal, const Geometry& geometry, const ReadoutStarts& starts,
                   const GradientDelays& delays) {
  Trajectory played{nominal.k};
  if (delays.are_zero()) return played;
  const PlayedPositions positions(nominal, geometry, delays);
  const std::int64_t count = nominal.sample_count();
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (std::int64_t m = starts[j]; m < starts[j + 1]; ++m) {
      const auto k = positions.of(starts[j], starts[j + 1], static_cast<double>(m));
      for (int axis = 0; axis < 3; ++axis)
        if (geometry.matrix_size[axis] > 1) played.k[axis * count + m] = k[axis];
    }
  return played;
}

Scan with_delays(Scan scan, const ReadoutStarts& starts, const GradientDelays& delays,
                 const ReadoutStarts& of_calibration, BeyondMatrix leaves) {
  if (delays.are_zero()) return scan;
  scan.trajectory = delayed(scan.trajectory, scan.geometry, starts, delays);
  if (scan.calibration)
    scan.calibration->trajectory =
        delayed(scan.calibration->trajectory, scan.geometry, of_calibration, delays);
  return inside_matrix(std::move(scan), leaves == BeyondMatrix::columns ? readout_length(starts) : 0,
                       "gradient delays");
}

void keep_samples(Scan& scan, const std::vector<std::int64_t>& kept) {
  scan.trajectory.k = columns_of(scan.trajectory.k, kept);
  scan.kspace.values = columns_of(scan.kspace.values, kept);
  scan.kspace.in_double = columns_of(scan.kspace.in_double, kept);
  if (scan.sample_time_s) scan.sample_time_s = columns_of(*scan.sample_time_s, kept);
  if (scan.fields) scan.fields->coefficients = columns_of(scan.fields->coefficients, kept);
}

Scan inside_matrix(Scan scan, std::int64_t length, const std::string& cause) {
  const auto kept = samples_within(scan, length);
  const auto all = scan.trajectory.sample_count(), left = all - static_cast<std::int64_t>(kept.size());
  if (2 * left > all)
    throw Error(cause, "at least half of the samples inside the matrix",
                std::to_string(left) + " of " + std::to_string(all) + " outside", "correct by less");
  if (left == 0) return scan;
  keep_samples(scan, kept);
  scan.messages.push_back({"samples", Severity::note,
                           std::to_string(left) + " of " + std::to_string(all) +
                               " samples were left out: with the " + cause + " they lie beyond the matrix" +
                               (length > 0 ? ", or at a place in their readout that does in others" : "")});
  return scan;
}

double displacement(const GradientDelays& delays, const Trajectory& trajectory, const ReadoutStarts& starts) {
  const std::int64_t count = trajectory.sample_count();
  double sum = 0, steps = 0;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (std::int64_t m = starts[j]; m + 1 < starts[j + 1]; ++m)
      for (int axis = 0; axis < 3; ++axis) {
        sum += std::pow(trajectory.k[axis * count + m + 1] - trajectory.k[axis * count + m], 2);
        steps += axis == 0;
      }
  double largest = 0;
  for (const auto& [x, y, z] : delays.samples) largest = std::max(largest, std::sqrt(x * x + y * y + z * z));
  return steps > 0 ? largest * std::sqrt(sum / steps) : 0;
}

std::string in_words(const GradientDelays& delays, const Geometry& geometry) {
  std::string text;
  const auto add = [&](double value, const std::string& where) {
    text += (text.empty() ? "" : ", ") + three_digits(value) + (text.empty() ? " samples " : " ") + where;
  };
  for (int axis = 0; axis < 3; ++axis)
    if (geometry.matrix_size[axis] > 1) add(delays.samples[axis][axis], std::string("along ") + "xyz"[axis]);
  for (int a = 0; a < 3; ++a)
    for (int b = a + 1; b < 3; ++b)
      if (delays.samples[a][b] != 0)
        add(delays.samples[a][b], std::string("between ") + "xyz"[a] + " and " + "xyz"[b]);
  return text;
}

}  // namespace fhd

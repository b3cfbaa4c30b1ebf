// Checks for numbers that a converter changed: samples and positions rounded, floats read from the second on, readouts
// that are Fourier transformed already. Each is told by the numbers alone, whatever the object is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "validation/doctor/checks.hpp"
#include "validation/verdict/algebra.hpp"
#include "validation/verdict/judgement.hpp"

namespace fhd::doctor {
namespace {

using validation::Index;
using validation::make_finding;
using validation::shown_by_samples;
constexpr double grid_tolerance = 1e-3;  // of a step, and 1e-6 of a value: float numbers round by 6e-8

bool is_multiple(double value, double step) {
  const double steps = value / step;
  return std::abs(steps - std::rint(steps)) <= grid_tolerance + 1e-6 * std::abs(steps);
}

Index count_zeros(const float* parts, Index count) {
  constexpr Index block = 1 << 16;  // counted in 32 bits, as many at a time as there are parts
  Index zeros = 0;
#pragma omp parallel for schedule(static) reduction(+ : zeros)
  for (Index begin = 0; begin < count; begin += block) {
    const float* const at = parts + begin;
    const int own = static_cast<int>(std::min(block, count - begin));
    int of_block = 0;
    for (int i = 0; i < own; ++i) of_block += at[i] == 0;
    zeros += of_block;
  }
  return zeros;
}

/// Returns that all samples are multiples of one step, which changes them by more than 5 % of their norm: an error of
/// step^2 / 12 in each part. Receivers store integers, too: their noise has one step at least, which leaves
/// erf(1 / sqrt(8)) = 0.38 of the parts zero, and rounding then adds a twelfth to the variance of the noise.
std::optional<Finding> rounded_samples(const KSpace& kspace) {
  constexpr double harmful = 0.05, zeros_of_noise = 0.3829;
  const auto* parts = reinterpret_cast<const float*>(kspace.values.data());
  const Index count = 2 * kspace.values.size();
  const double all = static_cast<double>(count), zeros = static_cast<double>(count_zeros(parts, count));
  if (zeros < zeros_of_noise * all) return {};  // most scans end here
  float least = std::numeric_limits<float>::infinity();
  double square = 0;
#pragma omp parallel for simd schedule(static) reduction(min : least) reduction(+ : square)
  for (Index i = 0; i < count; ++i) {
    const float size = std::abs(parts[i]);
    least = std::min(least, size == 0 ? std::numeric_limits<float>::infinity() : size);
    square += static_cast<double>(size) * static_cast<double>(size);
  }
  if (!(square > 0)) return {};
  const double step = static_cast<double>(least), error = std::sqrt(step * step / 12 * all / square);
  if (!(error > harmful)) return {};
  for (Index i = 0; i < count; ++i)
    if (!is_multiple(static_cast<double>(parts[i]), step)) return {};
  return make_finding(
      "rounded",
      fmt::format("samples were rounded to whole multiples of {:.3g}, and {:.0f} % of their real "
                  "and imaginary parts to zero: an error of up to {:.0f} % of the signal",
                  step, 100 * zeros / all, 100 * std::min(1.0, error)),
      100 * error, 0, "%", shown_by_samples);
}

/// Returns that positions of readouts that bend, or are turned, lie on a grid: neighbours in a readout share a place, and
/// others move by one step along another axis. Neighbours of a Cartesian grid never share a place while they move, and
/// move along one axis.
std::optional<Finding> rounded_positions(const Trajectory& trajectory) {
  constexpr double harmful = 0.2,
                   moves = 1e-6;  // cycles/FOV: a phase of 0.2 / sqrt(12) * pi / 2 at half of the FOV
  constexpr double often = 0.02, second_axis = 0.1;
  const Index count = trajectory.sample_count();
  std::array<double, 3> step{}, unit_steps{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + static_cast<Index>(axis) * count;
    double least = std::numeric_limits<double>::infinity();
    for (Index m = 1; m < count; ++m)
      if (const double move = std::abs(k[m] - k[m - 1]); move > moves) least = std::min(least, move);
    if (least < harmful) return {};
    step[axis] = least;
    for (Index m = 0; m < count && std::isfinite(least); ++m)
      if (!is_multiple(k[m], least)) return {};
  }
  double shared = 0, moved = 0;
  for (Index m = 1; m < count; ++m) {
    bool is_shared = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double* k = trajectory.k.data() + static_cast<Index>(axis) * count;
      const double move = std::abs(k[m] - k[m - 1]);
      is_shared = is_shared && move <= moves;
      unit_steps[axis] += move > moves && move < 1.5 * step[axis];
    }
    (is_shared ? shared : moved) += 1;
  }
  std::sort(unit_steps.begin(), unit_steps.end());
  if (shared < often * (shared + moved) || unit_steps[1] < second_axis * moved) return {};
  const double largest = *std::max_element(step.begin(), step.end(), [](double a, double b) {
    return (std::isfinite(a) ? a : 0) < (std::isfinite(b) ? b : 0);
  });
  return make_finding("rounded_positions",
                      fmt::format("the positions of the trajectory were rounded to whole multiples of {:.3g} "
                                  "cycles/FOV: {:.0f} % of the samples lie where the one before does",
                                  largest, 100 * shared / (shared + moved)),
                      largest, 0, "cycles/FOV", shown_by_samples);
}

/// Returns that the floats of the samples were read from the second on: then the imaginary part of a readout's last sample
/// is the real part of the next one's first sample. Where readouts begin at the centre of k-space it is far stronger
/// than the real part of the last sample, which is of the edge, and has mostly the sign of the imaginary part of the
/// next first sample, which is the real part of the second.
std::optional<Finding> floats_read_late(const Scan& scan, Index length) {
  const KSpace& kspace = scan.kspace;
  constexpr double much = 16, mostly = 0.6;  // of energies: F(9, 9) exceeds 16 once in 10^4
  constexpr Index fewest = 8;
  const Index samples = kspace.sample_count();
  if (length < 8 || samples % length != 0) return {};
  constexpr double far = 4;  // the edge from the centre
  if (normalised_radius(scan, length - 1) < far * normalised_radius(scan, 0)) return {};
  double imaginary = 0, real = 0, alike = 0, count = 0;
  for (Index coil = 0; coil < kspace.coil_count(); ++coil)
    for (Index m = coil * samples + length; m < (coil + 1) * samples; m += length) {
      const auto last = Complex<double>(kspace.values[m - 1]), next = Complex<double>(kspace.values[m]);
      imaginary += last.im * last.im, real += last.re * last.re;
      alike += last.im * next.im > 0 ? 1 : -1, ++count;
    }
  if (count < fewest || imaginary <= much * real || alike < mostly * count) return {};
  return make_finding("floats", floats_in_words, 1, 0, "floats", shown_by_samples);
}

/// Returns the readouts of most energy, at most so many.
std::vector<Index> strongest_readouts(const std::vector<double>& energy, Index length, std::size_t most) {
  const auto readouts = static_cast<std::size_t>(std::ssize(energy) / length);
  std::vector<double> sum(readouts);
  for (std::size_t j = 0; j < readouts; ++j)
    sum[j] = std::accumulate(energy.begin() + static_cast<Index>(j) * length,
                             energy.begin() + static_cast<Index>(j + 1) * length, 0.0);
  std::vector<Index> numbers(readouts);
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto kept = std::min(most, readouts);
  std::partial_sort(
      numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(kept), numbers.end(),
      [&](Index a, Index b) { return sum[static_cast<std::size_t>(a)] > sum[static_cast<std::size_t>(b)]; });
  numbers.resize(kept);
  return numbers;
}

/// Returns whether k moves by equal steps through a readout.
bool is_straight(const Scan& scan, Index first, Index length) {
  constexpr double even = 0.01;  // of a step
  const auto samples = scan.kspace.sample_count();
  double bend = 0, step = 0;
  for (Index axis = 0; axis < 3; ++axis) {
    const double* k = scan.trajectory.k.data() + axis * samples + first;
    const double own = (k[length - 1] - k[0]) / static_cast<double>(length - 1);
    step += own * own;
    for (Index n = 1; n < length; ++n) bend = std::max(bend, std::abs(k[n] - k[n - 1] - own));
  }
  return bend < even * std::sqrt(step);
}

/// Returns the number within a readout of its sample nearest to the centre of k-space.
Index nearest_to_centre(const Trajectory& trajectory, Index first, Index length) {
  const auto samples = trajectory.sample_count();
  const double* const k = trajectory.k.data() + first;
  Index centre = 0;
  double nearest = std::numeric_limits<double>::infinity();
  for (Index n = 0; n < length; ++n) {
    const double x = k[n], y = k[samples + n], z = k[2 * samples + n], square = x * x + y * y + z * z;
    if (square < nearest) nearest = square, centre = n;
  }
  return centre;
}

/// Returns that even readouts are Fourier transformed already. Of an object a twentieth of k-space about its centre holds
/// most energy of readouts through it (0.55 to 0.99), a twentieth of a profile 0.04 to 0.18. Here the centre holds
/// little, and of what a transform makes of the readouts, the centre without its middle, where a constant would be, more.
/// `energy`: see energies.
std::optional<Finding> transformed_readouts(const Scan& scan, const std::vector<double>& energy,
                                            Index length) {
  constexpr double little = 0.45, much = 0.25, more = 1.25;
  constexpr std::size_t most = 64;
  constexpr Index most_coils = 8;
  const auto samples = scan.kspace.sample_count(), coils = std::min(most_coils, scan.kspace.coil_count());
  if (length < 16 || length > samples || samples % length != 0) return {};
  const Index half = std::max<Index>(1, (length + 20) / 40);
  const auto readouts = strongest_readouts(energy, length, most);
  std::vector<Index> centres;
  double inside = 0, all = 0, middle = 0, around = 0;
  const auto add = [&](double sample, Index n, Index centre) {
    all += sample;
    if (std::abs(n - centre) <= half) inside += sample;
  };
  for (const auto readout : readouts) {
    const Index first = readout * length, centre = nearest_to_centre(scan.trajectory, first, length);
    centres.push_back(centre);
    for (Index n = 0; n < length; ++n) add(energy[static_cast<std::size_t>(first + n)], n, centre);
  }
  if (!(inside < little * all)) return {};  // most scans are right, and need no transform
  inside = all = 0;                         // from here on of some coils
  for (std::size_t i = 0; i < readouts.size(); ++i) {
    const Index first = readouts[i] * length;
    if (!is_straight(scan, first, length)) return {};
    for (Index coil = 0; coil < coils; ++coil) {
      const auto* d = scan.kspace.values.data() + coil * samples + first;
      for (Index n = 0; n < length; ++n) add(norm(Complex<double>(d[n])), n, centres[i]);
      for (Index x = -half; x <= half; ++x) {
        const auto turn =
            std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(x) / static_cast<double>(length));
        std::complex<double> sum, at = 1;
        for (Index n = 0; n < length; ++n, at *= turn)
          sum += at * std::complex<double>(static_cast<double>(d[n].re), static_cast<double>(d[n].im));
        (x == 0 ? middle : around) += std::norm(sum) / static_cast<double>(length);
      }
    }
  }
  if (!(inside < little * all)) return {};
  if (!(all > middle)) return {};
  const double before = inside / all, after = around / (all - middle);
  if (!(after > much) || !(after > more * before)) return {};
  return make_finding(
      "transformed",
      fmt::format("the readouts are Fourier transformed already (projections, hybrid space): their "
                  "energy lies at the centre of k-space after a Fourier transform ({:.0f} %), not as "
                  "they are stored ({:.0f} %)",
                  100 * after, 100 * before),
      100 * before, 0, "%", shown_by_samples);
}

std::optional<Finding> mistake_of_samples(const Scan& scan, const std::vector<double>& energy, Index length) {
  if (auto rounded = rounded_samples(scan.kspace)) return rounded;
  if (auto late = floats_read_late(scan, length)) return late;
  return transformed_readouts(scan, energy, length);
}

void add_mistake(const std::optional<Finding>& found, Findings& findings) {
  if (!found) return;
  auto sentence = found->text + ".";
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  findings.add(Severity::suspicion, found->code, std::move(sentence),
               validation::remedy_of_cause(*found, {}));
}

}  // namespace

std::optional<Finding> mistake_of_format(const Scan& scan, std::int64_t readout_length) {
  if (auto rounded = rounded_positions(scan.trajectory)) return rounded;
  return mistake_of_samples(scan, energies(scan.kspace), readout_length);
}

void check_format_of_positions(const Scan& scan, Findings& findings) {
  add_mistake(rounded_positions(scan.trajectory), findings);
}

void check_format_of_samples(const Scan& scan, const std::vector<double>& energy, std::int64_t readout_length,
                             Findings& findings) {
  add_mistake(mistake_of_samples(scan, energy, readout_length), findings);
}

}  // namespace fhd::doctor

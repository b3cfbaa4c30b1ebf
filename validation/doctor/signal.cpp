// Checks that the values are the signal of an object, sampled where the trajectory says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "recon/domain/option_words.hpp"
#include "recon/array/for_processors.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd {
namespace {

/// Computes readout_shift; `energy`: see doctor::energies.
std::optional<double> shift_of_energy(const Scan& scan, const std::vector<double>& energy,
                                      std::int64_t readout_length) {
  constexpr std::size_t fewest = 8;
  const auto samples = scan.kspace.sample_count();
  if (readout_length < 8 || samples % readout_length != 0) return std::nullopt;
  const auto k = [&](std::int64_t m, int axis) {
    return scan.geometry.matrix_size[axis] == 1 ? 0.0 : scan.trajectory.k[axis * samples + m];
  };
  std::vector<double> shifts;
  for (std::int64_t begin = 0; begin < samples; begin += readout_length) {
    const auto end = begin + readout_length - 1;
    std::array<double, 3> direction{};
    double length = 0;
    for (int axis = 0; axis < 3; ++axis) {
      direction[axis] = k(end, axis) - k(begin, axis);
      length += direction[axis] * direction[axis];
    }
    length = std::sqrt(length);
    if (length < 8) continue;
    // Straight, and through the centre from side to side.
    double nearest = INFINITY, weight = 0, moment = 0, lowest = INFINITY, highest = -INFINITY;
    for (auto m = begin; m <= end; ++m) {
      double along = 0, square = 0;
      for (int axis = 0; axis < 3; ++axis) {
        along += k(m, axis) * direction[axis] / length;
        square += k(m, axis) * k(m, axis);
      }
      nearest = std::min(nearest, square);
      lowest = std::min(lowest, along);
      highest = std::max(highest, along);
      // Noise is spread evenly and would pull the mean to the middle: the peak alone counts, by |d|^4.
      const double e = energy[static_cast<std::size_t>(m)] * energy[static_cast<std::size_t>(m)];
      weight += e;
      moment += e * along;
    }
    if (nearest > 1 || -lowest < 0.3 * length || highest < 0.3 * length || weight == 0) continue;
    shifts.push_back(moment / weight);
  }
  if (shifts.size() < fewest) return std::nullopt;
  // A linear phase of the object shifts opposite directions oppositely; equal numbers of both are needed to
  // tell.
  return doctor::median(std::move(shifts));
}

}  // namespace

RadialBands::RadialBands(const std::vector<double>& radius) {
  constexpr int count = 32;
  samples.resize(count);
  for (const double each : radius) {
    const int band = std::min(count - 1, static_cast<int>(each * count / 1.8));
    samples[static_cast<std::size_t>(band)].push_back(std::ssize(of_sample));
    of_sample.push_back(band);
  }
}

std::optional<double> readout_shift(const Scan& scan, std::int64_t readout_length) {
  return shift_of_energy(scan, doctor::energies(scan.kspace), readout_length);
}

}  // namespace fhd

namespace fhd::doctor {
namespace {

/// Returns the energy of a sample at the centre of k-space over that at its edge; NaN where no sample lies at the centre.
double centre_over_edge(const std::vector<double>& radius, const std::vector<double>& energy) {
  double inner = 0, outer = 0, inner_count = 0, outer_count = 0;
  for (std::size_t m = 0; m < energy.size(); ++m) {
    if (radius[m] < 0.2) inner += energy[m], ++inner_count;
    if (radius[m] > 0.5) outer += energy[m], ++outer_count;
  }
  if (inner_count == 0) return NAN;
  return outer_count == 0 || outer == 0 ? INFINITY : inner / inner_count / (outer / outer_count);
}

/// Returns whether neighbours at i and i + 1 resemble each other where their rows lie apart in the file, i = coils - 1, ..., as much as
/// elsewhere: the coherence of their phases in each coil. Samples of one time in several coils resemble each other as well, but
/// the last one and the first one of the next time less.
template <class Source>
bool resemble_across_rows(const Array<Complex<float>>& values, std::int64_t samples, std::int64_t coils,
                          const Source& source) {
  constexpr double alike = 0.7;  // neighbours two samples apart reach half
  double within = 0, across = 0;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    std::array<Complex<double>, 2> sum{};
    for (std::int64_t i = coil * samples; i + 1 < (coil + 1) * samples; ++i) {
      const auto product = conj(Complex<double>(values[source(i)])) * Complex<double>(values[source(i + 1)]);
      const double size = std::sqrt(norm(product));
      if (size > 0) sum[i % coils == coils - 1] += 1 / size * product;
    }
    within += std::sqrt(norm(sum[0])) / static_cast<double>(coils - 1), across += std::sqrt(norm(sum[1]));
  }
  return across > alike * within;
}

/// `ratio`: centre_over_edge of the values as told.
bool is_transposed(const Scan& scan, const std::vector<double>& radius, double ratio) {
  constexpr double strong = 30, weak = 3;
  const auto& values = scan.kspace.values;
  const std::int64_t coils = scan.kspace.coil_count(), samples = scan.kspace.sample_count();
  if (coils < 2 || !(ratio < weak)) return false;
  const auto is_strong = [&](const auto& source) {
    std::vector<double> of_coil, energy(static_cast<std::size_t>(samples));
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      for (std::int64_t m = 0; m < samples; ++m)
        energy[static_cast<std::size_t>(m)] = norm(Complex<double>(values[source(coil * samples + m)]));
      of_coil.push_back(centre_over_edge(radius, energy));
    }
    return median(std::move(of_coil)) > strong;
  };
  if (is_strong([&](std::int64_t i) { return i % samples * coils + i / samples; })) return true;
  const auto source = [&](std::int64_t i) { return i % coils * samples + i / coils; };
  return is_strong(source) && resemble_across_rows(values, samples, coils, source);
}

}  // namespace

bool is_transposed(const Scan& scan) {
  const auto radius = normalised_radii(scan);
  return is_transposed(scan, radius, centre_over_edge(radius, energies(scan.kspace)));
}

void check_signal(const Scan& scan, const std::vector<double>& energy, const SampledPositions& positions,
                  Findings& findings) {
  const auto samples = scan.kspace.sample_count();
  const double ratio = centre_over_edge(positions.radius, energy);
  if (std::isnan(ratio)) {
    findings.add(Severity::warning, "centre",
                 "No sample lies near the centre of k-space, which holds the contrast of the image.",
                 "check " + option_words("trajectory-unit") + ", or whether the file's k-space is centred");
    return;
  }
  if (is_transposed(scan, positions.radius, ratio)) {
    findings.add(
        Severity::warning, "order",
        "Coils and samples are transposed: read the other way round, the values have their energy at the "
        "centre of k-space.",
        "store the samples as [coil][sample]");
    return;
  }
  // An image of a thing has 10^3 and more; noise alone has 1.
  if (ratio < 2) {
    findings.add(
        Severity::warning, "centre",
        fmt::format("The centre of k-space holds no more energy per sample than its edge (ratio {:.2g}): "
                    "noise only, or the trajectory does not belong to these values (order, unit, axes).",
                    ratio),
        "check the order of samples, " + option_words("trajectory-unit") +
            ", and that the file holds a signal");
    return;
  }
  const auto strongest_sample = std::max_element(energy.begin(), energy.end()) - energy.begin();
  // Field inhomogeneity and readout phase move the peak by a few cycles/FOV; a tenth of the edge is no longer
  // that.
  if (positions.radius[static_cast<std::size_t>(strongest_sample)] > 0.2) {
    std::array<double, 3> at{};
    for (int axis = 0; axis < 3; ++axis) at[axis] = scan.trajectory.k[axis * samples + strongest_sample];
    findings.add(
        Severity::warning, "centre",
        fmt::format(
            "The strongest sample lies at k = ({:.3g}, {:.3g}, {:.3g}) cycles/FOV, not at the centre.", at[0],
            at[1], at[2]),
        "a spike, a shifted or mirrored axis, or a wrong order of samples in the file");
  } else {
    findings.add(
        Severity::ok, "centre",
        fmt::format("The energy is at the centre of k-space ({:.2g} times that of the edge).", ratio));
  }
  if (const auto shift = shift_of_energy(scan, energy, positions.readout_length);
      shift && std::abs(*shift) > 0.5) {
    const auto delay = fmt::format("{:.2g}", *shift / distance(scan, 0, 1));
    findings.add(
        Severity::warning, "delays",
        fmt::format("Readouts through the centre have their energy {:.2g} cycles/FOV {} k = 0, whatever "
                    "their direction: the trajectory is delayed against the data.",
                    std::abs(*shift), *shift > 0 ? "behind" : "before"),
        "correct it with " + option_words("trajectory-correction", "auto") +
            ", or, where that finds none, with " +
            option_words("trajectory-correction",
                         delay + "," + delay + (scan.geometry.matrix_size[2] > 1 ? "," + delay : "")));
  }
}

namespace {

struct SpikeCandidate {
  std::int64_t coil, sample;
  double energy;
  bool stands_out = true;  ///< also of its neighbours in other readouts
};

constexpr double spike_factor = 100;  // of energies

FHD_FOR_PROCESSORS void square(std::int64_t count, const Complex<float>* values, double* energy) {
#pragma omp simd
  for (std::int64_t m = 0; m < count; ++m) {
    const double re = static_cast<double>(values[m].re), im = static_cast<double>(values[m].im);
    energy[m] = re * re + im * im;
  }
}

/// Returns whether there is a sample of [begin, end) that is far above both neighbours.
FHD_FOR_PROCESSORS bool have_peak(std::int64_t begin, std::int64_t end, const double* energy) {
  std::int64_t found = 0;  // as wide as the numbers that are compared
#pragma omp simd reduction(| : found)
  for (std::int64_t m = begin; m < end; ++m)
    found |=
        std::int64_t{(energy[m] > spike_factor * energy[m - 1]) & (energy[m] > spike_factor * energy[m + 1])};
  return found != 0;
}

/// Returns the samples that are far above both neighbours.
std::vector<std::int64_t> peaks_of(const std::vector<double>& energy) {
  constexpr std::int64_t block = 128;
  std::vector<std::int64_t> peaks;
  const std::int64_t last = std::ssize(energy) - 1;
  for (std::int64_t begin = 1; begin < last; begin += block) {
    const auto end = std::min(begin + block, last);
    if (!have_peak(begin, end, energy.data())) continue;
    for (auto m = begin; m < end; ++m) {
      const auto* const e = energy.data() + m;
      if (*e > spike_factor * e[-1] && *e > spike_factor * e[1]) peaks.push_back(m);
    }
  }
  return peaks;
}

/// Returns whether an energy is far above more than half of those of a band that are not zero.
bool is_above_most(double highest, const std::vector<double>& energy,
                   const std::vector<std::int64_t>& samples) {
  std::size_t below = 0, all = 0;
  for (const auto m : samples) {
    const double of_sample = energy[static_cast<std::size_t>(m)];
    all += of_sample > 0;
    below += of_sample > 0 && spike_factor * of_sample < highest;
  }
  return below > all / 2;
}

/// Finds samples far above the median at their distance from the centre, and above both neighbours in their readout.
/// Zeros were not measured: they are neither usual nor neighbours. Most coils are decided without a median: the highest
/// peak of a band is far above it if more than half of the band is that far below.
std::vector<SpikeCandidate> spike_candidates(const Scan& scan, const SampledPositions& positions) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  const auto& bands = positions.bands;
  std::vector<SpikeCandidate> found;
  std::vector<double> energy(static_cast<std::size_t>(samples));
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    square(samples, scan.kspace.values.data() + coil * samples, energy.data());
    const auto peaks = peaks_of(energy);
    std::vector<double> highest(bands.samples.size()), usual(bands.samples.size());
    const auto band_of = [&](std::int64_t m) {
      return static_cast<std::size_t>(bands.of_sample[static_cast<std::size_t>(m)]);
    };
    for (const auto m : peaks)
      highest[band_of(m)] = std::max(highest[band_of(m)], energy[static_cast<std::size_t>(m)]);
    for (std::size_t i = 0; i < usual.size(); ++i) {
      usual[i] = INFINITY;
      if (highest[i] == 0 || !is_above_most(highest[i], energy, bands.samples[i])) continue;
      std::vector<double> of_band;
      for (const auto m : bands.samples[i])
        if (const double e = energy[static_cast<std::size_t>(m)]; e > 0) of_band.push_back(e);
      usual[i] = median(std::move(of_band));
    }
    for (const auto m : peaks) {
      const auto at = static_cast<std::size_t>(m);
      if (energy[at - 1] == 0 || energy[at + 1] == 0 || energy[at] <= spike_factor * usual[band_of(m)] ||
          positions.radius[at] < 0.1)
        continue;
      if (distance(scan, m, m - 1) > 2 || distance(scan, m, m + 1) > 2) continue;  // not one smooth readout
      found.push_back({coil, m, energy[at]});
    }
  }
  return found;
}

/// Removes candidates with a neighbour of at least a 25th of their energy in another readout: the signal of a flat edge
/// lies on a line through k-space, which readouts cross in one sample each.
void leave_out_lines_of_signal(const Scan& scan, std::vector<SpikeCandidate>& candidates) {
  using Cell = std::array<int, 3>;
  constexpr double factor = 25;
  const auto samples = scan.kspace.sample_count();
  const auto cell_of = [&](std::int64_t m) {
    Cell cell{};
    for (int axis = 0; axis < 3; ++axis)
      if (scan.geometry.matrix_size[axis] > 1)
        cell[axis] = static_cast<int>(std::lround(scan.trajectory.k[axis * samples + m]));
    return cell;
  };
  std::multimap<Cell, SpikeCandidate*> near;
  for (auto& candidate : candidates)
    for (int i = 0; i < 27; ++i) {
      auto cell = cell_of(candidate.sample);
      cell[0] += i % 3 - 1, cell[1] += i / 3 % 3 - 1, cell[2] += i / 9 - 1;
      near.emplace(cell, &candidate);
    }
  for (std::int64_t m = 0; m < samples && !near.empty(); ++m)
    for (auto [at, end] = near.equal_range(cell_of(m)); at != end; ++at) {
      auto& candidate = *at->second;
      const auto value = scan.kspace.values[candidate.coil * samples + m];
      if (std::abs(m - candidate.sample) > 1 && factor * norm(Complex<double>(value)) > candidate.energy)
        candidate.stands_out = false;
    }
  std::erase_if(candidates, [](const SpikeCandidate& candidate) { return !candidate.stands_out; });
}

FHD_FOR_PROCESSORS float largest_of(std::int64_t count, const float* values) {
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t m = 0; m < count; ++m) largest = largest < values[m] ? values[m] : largest;
  return largest;
}

/// Returns how many values are at least `limit`.
FHD_FOR_PROCESSORS std::int64_t count_from(float limit, std::int64_t count, const float* values) {
  constexpr std::int64_t block = 1 << 16;  // counted in 32 bits, as many at a time as there are values
  std::int64_t found = 0;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const int own = static_cast<int>(std::min(block, count - begin));
    int of_block = 0;
#pragma omp simd reduction(+ : of_block)
    for (int m = 0; m < own; ++m) of_block += values[begin + m] >= limit;
    found += of_block;
  }
  return found;
}

/// Counts values of at least 0.9999 of the largest, and those of 0.95 to that.
struct AtLimit {
  double most = 0;
  std::int64_t at = 0, below = 0;
  explicit AtLimit(const std::vector<float>& values) {
    const auto count = std::ssize(values);
    most = static_cast<double>(largest_of(count, values.data()));
    at = count_from(static_cast<float>(0.9999 * most), count, values.data());
    if (at >= fewest) below = count_from(static_cast<float>(0.95 * most), count, values.data()) - at;
  }
  /// Whole numbers have few values, but fewer at the limit than below.
  bool is_clipped() const { return most > 0 && at >= fewest && at > below; }

 private:
  static constexpr std::int64_t fewest = 16;
};

/// Computes the larger of both parts, and |d|^2, of samples.
FHD_FOR_PROCESSORS void magnitudes_of(std::int64_t count, const Complex<float>* values, float* parts,
                                      float* squares) {
#pragma omp simd
  for (std::int64_t m = 0; m < count; ++m) {
    const float re = std::abs(values[m].re), im = std::abs(values[m].im);
    parts[m] = re < im ? im : re;
    squares[m] = re * re + im * im;
  }
}

}  // namespace

Clipping clipping_of(const KSpace& kspace) {
  const auto samples = kspace.sample_count();
  Clipping found;
  double clipped = 0;
  std::vector<float> larger_parts(static_cast<std::size_t>(samples)), squares(larger_parts);
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil) {
    magnitudes_of(samples, kspace.values.data() + coil * samples, larger_parts.data(), squares.data());
    const AtLimit parts(larger_parts), square(squares);
    if (!parts.is_clipped() && !square.is_clipped()) continue;
    if (found.coils++ == 0) found.first_coil = coil;
    found.count += std::max(parts.is_clipped() ? parts.at : 0, square.is_clipped() ? square.at : 0);
    // A clipped part alone is known to be that large.
    clipped += parts.is_clipped() ? static_cast<double>(parts.at) * parts.most * parts.most
                                  : static_cast<double>(square.at) * square.most;
  }
  if (found.count == 0) return found;
  double energy = 0;
  for (const auto& value : kspace.values) energy += static_cast<double>(norm(value));
  found.share = static_cast<double>(found.count) / static_cast<double>(samples * kspace.coil_count());
  found.energy_share = energy > 0 ? clipped / energy : 0;
  return found;
}

void check_clipping(const Scan& scan, Findings& findings) {
  // The receiver may cut off as much as it keeps: then an image is off by the root of a tenth.
  constexpr double harmful = 0.1;
  const auto found = clipping_of(scan.kspace);
  if (found.count == 0) return;
  findings.add(
      found.energy_share > harmful ? Severity::suspicion : Severity::warning, "clipping",
      fmt::format("{} samples ({:.{}f} %) of {} coil{} (first: {}) are at one largest value: the receiver "
                  "clipped them.",
                  found.count, 100 * found.share, found.share < 0.1 ? 1 : 0, found.coils, plural(found.coils),
                  found.first_coil),
      "measure again with a lower receiver gain, or leave these samples out");
}

void check_spikes(const Scan& scan, const SampledPositions& positions, Findings& findings) {
  auto spikes = spike_candidates(scan, positions);
  leave_out_lines_of_signal(scan, spikes);
  if (spikes.empty()) return;
  constexpr double harmful = 0.01;  // of all energy: then an image is off by a tenth
  const auto count = static_cast<std::int64_t>(spikes.size());
  double all = 0, in_spikes = 0;
  for (const auto& value : scan.kspace.values) all += static_cast<double>(norm(value));
  for (const auto& spike : spikes) in_spikes += spike.energy;
  findings.add(
      in_spikes > harmful * all ? Severity::suspicion : Severity::warning, "spikes",
      fmt::format("{} sample{} stand{} out tenfold from their neighbours (first: coil {}, sample {}): spikes "
                  "become stripes in the image.",
                  count, plural(count), count == 1 ? "s" : "", spikes[0].coil, spikes[0].sample),
      "remove those readouts, or replace the values by the mean of their neighbours");
}

}  // namespace fhd::doctor

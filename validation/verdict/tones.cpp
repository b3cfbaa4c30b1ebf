#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/array/fft.hpp"
#include "recon/pipeline/tone.hpp"
#include "validation/verdict/algebra.hpp"
#include "validation/verdict/data_tests.hpp"
#include "validation/verdict/tone_search.hpp"

namespace fhd::validation {
namespace {

using Row = std::vector<double>;  ///< by frequency, in cycles over a piece

constexpr double residual_limit = 12;  ///< good scans stay below 6
constexpr double data_limit = 12;      ///< of the samples themselves; good ones stay below 9
constexpr double whitened_limit = 20;  ///< of samples made equally strong at all places
constexpr double weak_limit = 4;       ///< of a residual that took part of the tone
constexpr double least_change = 0.02;  ///< of the image; a weaker tone is not told
constexpr int near_bins = 2, far_bins = 12;

/// Spectra of pieces of readouts, summed over coils, [piece][frequency]; a tone of amplitude A in each coil gives sum
/// = coils * size * A^2.
struct Spectra {
  std::vector<Row> of_pieces;
  Row energy;  ///< sum |d|^2 of each piece
  int size = 0;
};

int piece_size(Index length) {
  int size = static_cast<int>(std::min<Index>(length, 256));
  while (size > 1 && good_fft_size(size) != size) --size;
  return size;
}

/// Returns spectra of at most `most` pieces, evenly spaced; of the samples, or of what an image leaves over of them, times
/// the roots of `weights`, one for each place of a readout; empty: of 1.
Spectra spectra_of(const ReadoutSet& set, bool of_residual, const Row& weights = {}) {
  constexpr Index most = 64;
  const int size = piece_size(set.length);
  const Index in_readout = set.length / size, all = in_readout * set.readouts, count = std::min(all, most);
  const Index columns = count * set.coils;
  Array<Complex<float>> lines(Shape{size, columns}), scratch(Shape{size, columns});
  Spectra spectra{std::vector<Row>(static_cast<std::size_t>(count), Row(static_cast<std::size_t>(size))),
                  Row(static_cast<std::size_t>(count)), size};
  std::vector<float> window(static_cast<std::size_t>(size));
  for (int n = 0; n < size; ++n)
    window[static_cast<std::size_t>(n)] =
        static_cast<float>(std::sqrt(8. / 3) * std::pow(std::sin(std::numbers::pi * (n + 0.5) / size), 2));
  for (Index piece = 0; piece < count; ++piece) {
    const Index place = (2 * piece + 1) * all / (2 * count);
    for (Index coil = 0; coil < set.coils; ++coil) {
      const Index first = set.at(coil, place / in_readout) + place % in_readout * size;
      for (int n = 0; n < size; ++n) {
        const auto i = static_cast<std::size_t>(first + n);
        const auto place_in_readout = static_cast<std::size_t>(place % in_readout * size + n);
        const auto weight = weights.empty() ? 1.f : static_cast<float>(std::sqrt(weights[place_in_readout]));
        const auto v = weight * window[static_cast<std::size_t>(n)] *
                       (of_residual ? set.data[i] - set.predicted[i] : set.data[i]);
        lines[n * columns + piece * set.coils + coil] = {v.real(), v.imag()};
        spectra.energy[static_cast<std::size_t>(piece)] += std::norm(set.data[i]);
      }
    }
  }
  Fft1d<float>(size, static_cast<int>(columns)).forward(lines.data(), scratch.data());
  const auto* value = lines.data();
  for (int f = 0; f < size; ++f)
    for (auto& piece : spectra.of_pieces)
      for (Index coil = 0; coil < set.coils; ++coil, ++value)
        piece[static_cast<std::size_t>(f)] += norm(Complex<double>(*value)) / size;
  return spectra;
}

/// Returns the lower quartile of some pieces at every frequency.
Row quartiles(const std::vector<Row>& pieces, int size) {
  Row found;
  Row values(pieces.size());
  for (std::size_t f = 0; f < static_cast<std::size_t>(size); ++f) {
    for (std::size_t i = 0; i < pieces.size(); ++i) values[i] = pieces[i][f];
    found.push_back(quantile(values, 0.25));
  }
  return found;
}

std::size_t wrapped(int f, int size) { return static_cast<std::size_t>((f % size + size) % size); }

/// Returns the median around a frequency, beyond what the window spreads it over.
double around(const Row& row, int f) {
  Row values;
  for (int by = near_bins + 1; by <= far_bins; ++by)
    for (const int sign : {-1, 1})
      values.push_back(row[wrapped(f + sign * by, static_cast<int>(row.size()))]);
  return quantile(values, 0.5);
}

double ratio(const Row& row, int f) {
  const double beside = around(row, f);
  return beside > 0 ? row[static_cast<std::size_t>(f)] / beside : 0;
}

/// Returns the frequency that is farthest above its neighbours; not 0, which is a constant of the receiver.
int strongest(const Row& row) {
  const int size = static_cast<int>(row.size());
  const int least = 2 * near_bins;  // what the window spreads a constant over
  int best = least;
  double most = 0;
  for (int f = least; f <= size - least; ++f)
    if (const double of = ratio(row, f); of > most) most = of, best = f;
  return best;
}

/// Mean over pieces of coils * A^2 at frequency f, and its standard deviation.
struct Power {
  double mean = 0, deviation = 0;
};
Power power_of(const Spectra& spectra, const std::vector<Row>& pieces, const Row& typical, int f) {
  double sum = 0, squares = 0;
  const double floor = (2 * near_bins + 1) * around(typical, f);
  for (const auto& piece : pieces) {
    double lobe = -floor;
    for (int by = -near_bins; by <= near_bins; ++by) lobe += piece[wrapped(f + by, spectra.size)];
    sum += lobe, squares += lobe * lobe;
  }
  const auto count = static_cast<double>(pieces.size());
  const double mean = std::max(0.0, sum / count);
  return {mean / spectra.size,
          std::sqrt(std::max(0.0, squares / count - mean * mean) / count) / spectra.size};
}

/// Returns the quarter of the pieces with the least signal, at least 8.
std::vector<Row> faint_pieces(const Spectra& spectra) {
  std::vector<std::size_t> order(spectra.energy.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return spectra.energy[a] < spectra.energy[b]; });
  order.resize(std::min(order.size(), std::max<std::size_t>(8, order.size() / 4)));
  std::vector<Row> pieces;
  for (const auto i : order) pieces.push_back(spectra.of_pieces[i]);
  return pieces;
}

/// Returns f in cycles/sample, -0.5 ... 0.5, at the centre of gravity of the peak.
double frequency_of(const Row& row, int f) {
  const int size = static_cast<int>(row.size());
  double sum = 0, moment = 0;
  for (int by = -near_bins; by <= near_bins; ++by)
    sum += row[wrapped(f + by, size)], moment += by * row[wrapped(f + by, size)];
  const double found = (f + (sum > 0 ? moment / sum : 0)) / size;
  return found < 0.5 ? found : found - 1;
}

Finding tone_of(const ReadoutSet& set, double frequency, Power power, double share_of_residual, int size,
                double dwell_s) {
  double energy = 0;
  for (const auto& d : set.data) energy += std::norm(d);
  const double mean = energy / static_cast<double>(set.readouts * set.length);  // of sum over coils
  const double amount = 100 * std::sqrt(power.mean / mean),
               uncertainty = power.mean > 0 ? amount * power.deviation / (2 * power.mean) : 0;
  const double image =
      energy_of_image(set, [&](Index i, Index) { return std::norm(set.data[static_cast<std::size_t>(i)]); });
  const double tone =
      energy_of_image(set, [&](Index, Index) { return power.mean / static_cast<double>(set.coils); });
  // Coils share what an image takes of it; beyond the field of view it takes little.
  const double taken =
      (set.step > 0 && std::abs(frequency) / set.step > 0.5 ? 0.3 : 1) / std::sqrt(set.coils);
  const double precision = 0.05 / size;
  const auto place = dwell_s > 0 ? fmt::format("{:.0f} \u00b1 {:.0f} Hz", frequency / dwell_s,
                                               std::ceil(precision / dwell_s))
                                 : fmt::format("{:.4f} \u00b1 {:.4f} cycles/sample", frequency, precision);
  auto found = make_finding("tone",
                            fmt::format("a tone of {} in all readouts, {:.2g} \u00b1 {:.1g} % of the signal",
                                        place, amount, uncertainty),
                            amount, uncertainty, "%", std::min(1.0, share_of_residual),
                            image > 0 ? std::min(1.0, taken * std::sqrt(tone / image)) : -1);
  return with_correction(std::move(found), {frequency});
}

/// Returns the weights of the places of a readout (recon/pipeline/tone.hpp), in the unit of the samples.
Row weights_of(const ReadoutSet& set) {
  std::vector<Row> energies(static_cast<std::size_t>(set.length));
  for (Index j = 0; j < set.readouts; ++j)
    for (Index n = 0; n < set.length; ++n) {
      double sum = 0;
      for (Index coil = 0; coil < set.coils; ++coil)
        sum += std::norm(set.data[static_cast<std::size_t>(set.at(coil, j) + n)]);
      energies[static_cast<std::size_t>(n)].push_back(sum);
    }
  return weights_of_places(std::move(energies));
}

/// Returns whether there are too few samples to tell a tone.
bool is_short(const ReadoutSet& set) {
  return set.length < 3 * far_bins || set.readouts * (set.length / piece_size(set.length)) * set.coils < 16;
}

}  // namespace

std::optional<double> tone_in(const Trajectory& trajectory, const KSpace& kspace,
                              const ReadoutStarts& starts) {
  constexpr Index enough = 50'000;
  const VerifierInput<float> input{.trajectory = trajectory,
                                   .matrix_size = {1, 1, 1},
                                   .samples = kspace.values.data(),
                                   .maps = nullptr,
                                   .coil_count = kspace.coil_count()};
  const auto set = whole_readouts(input, starts, enough);
  if (is_short(set)) return {};
  const auto data = spectra_of(set, false), whitened = spectra_of(set, false, weights_of(set));
  const auto of_faint = quartiles(faint_pieces(data), data.size),
             of_all = quartiles(whitened.of_pieces, whitened.size);
  const int in_faint = strongest(of_faint), in_all = strongest(of_all);
  const double clear = ratio(of_faint, in_faint) / data_limit,
               clear_in_all = ratio(of_all, in_all) / whitened_limit;
  if (!(std::max(clear, clear_in_all) > 1)) return {};
  return clear > clear_in_all ? frequency_of(of_faint, in_faint) : frequency_of(of_all, in_all);
}

std::optional<Finding> tone_in(const ReadoutSet& set, double dwell_s) {
  if (is_short(set)) return {};
  const auto residual = spectra_of(set, true);
  const auto typical = quartiles(residual.of_pieces, residual.size);
  int f = strongest(typical);
  if (!(ratio(typical, f) > weak_limit)) return {};
  const auto data = spectra_of(set, false);
  const auto faint = faint_pieces(data);
  const auto of_data = quartiles(faint, data.size);
  const bool is_in_data = ratio(of_data, f) > data_limit;
  if (!is_in_data && ratio(typical, f) < residual_limit) return {};
  const auto left = power_of(residual, residual.of_pieces, typical, f);
  const auto power = is_in_data ? power_of(data, faint, of_data, f) : left;
  double rest = 0;
  for (std::size_t i = 0; i < set.data.size(); ++i) rest += std::norm(set.data[i] - set.predicted[i]);
  const double share = rest > 0 ? left.mean * static_cast<double>(set.readouts * set.length) / rest : 0;
  auto tone = tone_of(set, frequency_of(is_in_data ? of_data : typical, f), power, share, data.size, dwell_s);
  if (tone.image_change < least_change) return {};
  return tone;
}

}  // namespace fhd::validation

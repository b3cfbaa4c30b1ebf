#include "recon/pipeline/tone.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <utility>

namespace fhd {
namespace {

using Index = std::int64_t;
using Value = std::complex<double>;
using Values = std::vector<Value>;

constexpr double two_pi = 2 * std::numbers::pi;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The readouts that a tone is taken off, and their samples.
class Readouts {
 public:
  Readouts(const KSpace& kspace, const ReadoutStarts& starts, const std::vector<double>& times)
      : kspace_(kspace), times_(times) {
    constexpr Index shortest = 16;
    for (std::size_t j = 0; j + 1 < starts.size(); ++j)
      longest = std::max(longest, starts[j + 1] - starts[j]);
    for (std::size_t j = 0; j + 1 < starts.size(); ++j)
      if (const Index length = starts[j + 1] - starts[j]; length >= shortest && 2 * length >= longest)
        all_.emplace_back(starts[j], length);
    for (Index coil = 0; coil < kspace.coil_count(); ++coil) {
      double sum = 0;
      for (Index m = 0; m < kspace.sample_count(); ++m)
        sum += norm(Complex<double>(kspace.values[coil * kspace.sample_count() + m]));
      if (!(sum > 0)) continue;
      coils.push_back(coil), energy.push_back(sum / static_cast<double>(kspace.sample_count()));
    }
  }

  Index longest = 0;
  std::vector<Index> coils{};    ///< those with a signal
  std::vector<double> energy{};  ///< mean |d|^2 of each of them

  Index count() const { return std::ssize(all_); }
  Index length(Index j) const { return all_[at(j)].second; }
  std::size_t index(std::size_t coil, Index j) const { return coil * at(count()) + at(j); }
  Index sample(std::size_t coil, Index j) const {
    return coils[coil] * kspace_.sample_count() + all_[at(j)].first;
  }
  Value value(std::size_t coil, Index j, Index n) const {
    const auto& d = kspace_.values[sample(coil, j) + n];
    return {d.re, d.im};
  }
  /// Returns exp(i 2 pi f t) along a readout, t from its first sample on.
  Values turns(Index j, double frequency) const {
    const auto* t = times_.data() + all_[at(j)].first;
    Values all;
    for (Index n = 0; n < length(j); ++n) all.push_back(std::polar(1.0, two_pi * frequency * (t[n] - t[0])));
    return all;
  }
  /// Returns at most `most` evenly spaced readouts.
  std::vector<Index> spread(Index most) const {
    const Index some = std::clamp<Index>(most, 1, count());
    std::vector<Index> chosen;
    for (Index i = 0; i < some; ++i) chosen.push_back((2 * i + 1) * count() / (2 * some));
    return chosen;
  }

 private:
  const KSpace& kspace_;
  const std::vector<double>& times_;
  std::vector<std::pair<Index, Index>> all_{};  ///< first sample, length
};

/// A tone with an amplitude for each readout and coil, and the variance of these.
struct Fit {
  double frequency = 0;
  Values amplitudes{};              ///< [coil][readout]
  std::vector<double> variances{};  ///< likewise
  std::vector<double> strengths{};  ///< A_c^2
  bool advances_alike = false;
};

/// Fits amplitudes with weights.
class WeightedReadouts {
 public:
  /// Sets the weights by what a tone leaves of some readouts; no amplitudes: by all that they hold.
  WeightedReadouts(const Readouts& readouts, const Fit& tone) : r_(readouts) {
    constexpr Index enough = 256;
    std::vector<std::vector<double>> energies(at(r_.longest));
    for (const Index j : r_.spread(enough)) {
      const auto turns = r_.turns(j, tone.frequency);
      for (Index n = 0; n < r_.length(j); ++n) {
        double sum = 0;
        for (std::size_t c = 0; c < r_.coils.size(); ++c) {
          const auto a = tone.amplitudes.empty() ? Value() : tone.amplitudes[r_.index(c, j)];
          sum += std::norm(r_.value(c, j, n) - a * turns[at(n)]) / r_.energy[c];
        }
        energies[at(n)].push_back(sum);
      }
    }
    weights_ = weights_of_places(std::move(energies));
  }

  /// Returns the amplitude of a readout, without a tone of an amplitude that is known.
  Value amplitude(std::size_t coil, Index j, const Values& turns, const Values& known = {},
                  Value of = {}) const {
    Value sum;
    double weight = 0;
    for (Index n = 0; n < r_.length(j); ++n) {
      const auto d = known.empty() ? r_.value(coil, j, n) : r_.value(coil, j, n) - of * known[at(n)];
      sum += weights_[at(n)] * d * std::conj(turns[at(n)]), weight += weights_[at(n)];
    }
    return sum / weight;
  }

  /// Returns the frequency within `reach` of one with the largest amplitudes, of some readouts.
  double strongest(double frequency, double reach) const {
    const double step = 1. / 8 / static_cast<double>(r_.longest);
    const auto steps = static_cast<Index>(std::ceil(reach / step));
    double best = frequency, most = -1;
    for (Index i = -steps; i <= steps; ++i)
      if (const double tried = frequency + static_cast<double>(i) * step, found = power(tried); found > most)
        most = found, best = tried;
    constexpr double golden = 0.6180339887;
    double low = best - step, high = best + step;
    while (high - low > 1e-3 * step) {
      const double a = high - golden * (high - low), b = low + golden * (high - low);
      if (power(a) > power(b))
        high = b;
      else
        low = a;
    }
    return (low + high) / 2;
  }

  Fit fit(double frequency) const {
    Fit made{frequency, Values(r_.coils.size() * at(r_.count())), {}, {}};
    made.variances.resize(made.amplitudes.size());
    constexpr double beside[] = {-3.5, -2.5, -1.5, 1.5, 2.5, 3.5};  // cycles over the longest readout
#pragma omp parallel for schedule(static)
    for (Index j = 0; j < r_.count(); ++j) {
      const auto turns = r_.turns(j, frequency);
      for (std::size_t c = 0; c < r_.coils.size(); ++c)
        made.amplitudes[r_.index(c, j)] = amplitude(c, j, turns);
      for (const double by : beside) {
        const auto other = r_.turns(j, frequency + by / static_cast<double>(r_.longest));
        for (std::size_t c = 0; c < r_.coils.size(); ++c)
          made.variances[r_.index(c, j)] +=
              std::norm(amplitude(c, j, other, turns, made.amplitudes[r_.index(c, j)])) / std::size(beside);
      }
    }
    return made;
  }

 private:
  double power(double frequency) const {
    constexpr Index enough = 1 << 16;
    const auto some = r_.spread(enough / r_.longest);
    std::vector<double> powers(some.size());  // added in one order by any number of threads
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto turns = r_.turns(some[i], frequency);
      for (std::size_t c = 0; c < r_.coils.size(); ++c)
        powers[i] += std::norm(amplitude(c, some[i], turns)) / r_.energy[c];
    }
    return std::accumulate(powers.begin(), powers.end(), 0.0);
  }

  const Readouts& r_;
  std::vector<double> weights_;  ///< [place in a readout]
};

/// Takes what all readouts tell into account: one advance of the phase from readout to readout where there is one, else
/// the common strength.
void share_among_readouts(const Readouts& r, Fit& fit) {
  constexpr double alike = 0.8;  // of the energy of the amplitudes beyond what the object adds
  const Index count = r.count();
  std::vector<double> weights(fit.amplitudes.size());
  double energy = 0, coherent = 0, advance = 0;
  for (std::size_t c = 0; c < r.coils.size(); ++c) {
    double sum = 0, all = 0;
    for (Index j = 0; j < count; ++j) {
      const auto i = r.index(c, j);
      const double v = std::max(fit.variances[i], 1e-12 * r.energy[c]);
      sum += (std::norm(fit.amplitudes[i]) - v) / v / v, all += 1 / v / v;
    }
    fit.strengths.push_back(std::max(0.0, sum / all));
    for (Index j = 0; j < count; ++j) {
      const auto i = r.index(c, j);
      weights[i] = 1 / (fit.strengths[c] + fit.variances[i] + 1e-12 * r.energy[c]);
      energy += weights[i] * (std::norm(fit.amplitudes[i]) - fit.variances[i]);
    }
  }
  for (Index lag = 1; lag < count; lag *= 2) {  // each doubles the precision of the advance
    Value sum;
    for (std::size_t c = 0; c < r.coils.size(); ++c)
      for (Index j = 0; j + lag < count; ++j)
        sum += weights[r.index(c, j)] * weights[r.index(c, j + lag)] *
               std::conj(fit.amplitudes[r.index(c, j)]) * fit.amplitudes[r.index(c, j + lag)];
    const double off = std::arg(sum) / two_pi - advance * static_cast<double>(lag);
    advance += (off - std::round(off)) / static_cast<double>(lag);
  }
  Values common;
  const auto turn = [&](Index j) { return std::polar(1.0, two_pi * advance * static_cast<double>(j)); };
  for (std::size_t c = 0; c < r.coils.size(); ++c) {
    Value sum;
    double all = 0;
    for (Index j = 0; j < count; ++j)
      sum += weights[r.index(c, j)] * fit.amplitudes[r.index(c, j)] * std::conj(turn(j)),
          all += weights[r.index(c, j)];
    common.push_back(sum / all), coherent += std::norm(sum) / all;
  }
  fit.advances_alike = count > 2 && coherent > alike * energy;
  for (std::size_t c = 0; c < r.coils.size(); ++c)
    for (Index j = 0; j < count; ++j) {
      auto& a = fit.amplitudes[r.index(c, j)];
      a = fit.advances_alike ? common[c] * turn(j) : weights[r.index(c, j)] * fit.strengths[c] * a;
    }
}

Tone described(const Readouts& r, const Fit& fit) {
  double tone = 0, all = 0, variance = 0, information = 0;
  const auto length = static_cast<double>(r.longest);
  for (std::size_t c = 0; c < r.coils.size(); ++c) {
    tone += fit.strengths[c], all += r.energy[c];
    double inverse = 0;
    for (Index j = 0; j < r.count(); ++j)
      inverse += 1 / std::max(fit.variances[r.index(c, j)], 1e-12 * r.energy[c]);
    information += fit.strengths[c] * inverse, variance += 1 / inverse;
  }
  return {fit.frequency, std::sqrt(6 / std::max(information, 1e-12)) / (two_pi * length),
          std::sqrt(tone / all), std::sqrt(variance / all / 2), fit.advances_alike};
}

template <class T>
void subtract(const Readouts& r, const Fit& fit, Array<Complex<T>>& values) {
  if (values.empty()) return;
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < r.count(); ++j) {
    const auto turns = r.turns(j, fit.frequency);
    for (std::size_t c = 0; c < r.coils.size(); ++c)
      for (Index n = 0; n < r.length(j); ++n) {
        const Value tone = fit.amplitudes[r.index(c, j)] * turns[at(n)];
        auto& d = values[r.sample(c, j) + n];
        d = {static_cast<T>(static_cast<double>(d.re) - tone.real()),
             static_cast<T>(static_cast<double>(d.im) - tone.imag())};
      }
  }
}

}  // namespace

std::vector<double> weights_of_places(std::vector<std::vector<double>> energies) {
  const Index count = std::ssize(energies), reach = 1 + count / 64;
  std::vector<double> usual, weights;
  for (auto& of_place : energies) usual.push_back(of_place.empty() ? 0 : median(of_place));
  auto sorted = usual;
  const double least =
      0.01 * std::max(median(sorted), std::accumulate(usual.begin(), usual.end(), 0.0) / double(count));
  if (!(least > 0)) return std::vector<double>(usual.size(), 1.0);
  for (Index n = 0; n < count; ++n) {
    const auto first = usual.begin() + std::max<Index>(0, n - reach),
               last = usual.begin() + std::min(count, n + reach + 1);
    const double mean = std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
    weights.push_back(1 / std::max(least, mean));
  }
  return weights;
}

SampleClock sample_clock(const std::optional<Array<double>>& sample_time_s, const Trajectory& trajectory) {
  SampleClock clock;
  const Index count = trajectory.sample_count();
  const auto* t = sample_time_s && sample_time_s->size() == count ? sample_time_s->data() : nullptr;
  std::vector<double> steps;
  for (Index m = 0; t && m + 1 < count; ++m) steps.push_back(std::abs(t[m + 1] - t[m]));
  if (!steps.empty()) clock.dwell_s = median(steps);
  for (Index m = 0; m < count; ++m)
    clock.times.push_back(clock.dwell_s > 0 ? t[m] / clock.dwell_s : static_cast<double>(m));
  return clock;
}

Tone take_off_tone(KSpace& kspace, const ReadoutStarts& starts, const std::vector<double>& times,
                   double frequency) {
  constexpr Index longest_piece = 256;
  constexpr int rounds = 3;  // weights, frequency and amplitudes follow from each other
  const Readouts readouts(kspace, starts, times);
  if (readouts.count() == 0 || readouts.coils.empty()) return {};
  double reach = 0.5 / static_cast<double>(std::min(readouts.longest, longest_piece));
  Fit fit{frequency, {}, {}, {}};
  for (int round = 0; round < rounds; ++round) {
    const WeightedReadouts weighted(readouts, fit);
    fit = weighted.fit(weighted.strongest(fit.frequency, reach));
    share_among_readouts(readouts, fit);
    reach = 1 / static_cast<double>(readouts.longest);
  }
  const auto tone = described(readouts, fit);
  subtract(readouts, fit, kspace.values);
  subtract(readouts, fit, kspace.in_double);
  return tone;
}

}  // namespace fhd

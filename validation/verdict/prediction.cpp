#include "validation/verdict/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace fhd::validation {
namespace {

using Index = std::int64_t;
using Matrix = Array<Complex<double>>;

constexpr Index every = 4, left_out = 2;
/// Noise that is predicted with more than this power: other readouts say nothing of those left out.
constexpr double most_amplified = 4;

bool is_left_out(Index readout) { return readout % every == left_out; }

/// Returns the rows of [sample][coil] that are kept.
Matrix rows_kept(const CentralSamples& s, const Matrix& all) {
  const Index coils = all.extent(1);
  std::vector<Complex<double>> values;
  for (Index i = 0; i < s.count(); ++i)
    if (!is_left_out(s.readouts[static_cast<std::size_t>(i)]))
      values.insert(values.end(), all.data() + i * coils, all.data() + (i + 1) * coils);
  Matrix rows({static_cast<Index>(values.size()) / coils, coils});
  std::copy(values.begin(), values.end(), rows.data());
  return rows;
}

/// Returns the samples of readouts that are not left out.
CentralSamples kept(const CentralSamples& s) {
  CentralSamples some = s;
  some.numbers.clear(), some.readouts.clear(), some.times.clear(), some.time_s.clear();
  some.group_starts = {0};
  for (std::size_t g = 0; g + 1 < s.group_starts.size(); ++g) {
    for (auto at = static_cast<std::size_t>(s.group_starts[g]);
         at < static_cast<std::size_t>(s.group_starts[g + 1]); ++at) {
      if (is_left_out(s.readouts[at])) continue;
      some.numbers.push_back(s.numbers[at]), some.readouts.push_back(s.readouts[at]);
      some.times.push_back(s.times[at]);
      if (!s.time_s.empty()) some.time_s.push_back(s.time_s[at]);
    }
    some.group_starts.push_back(some.count());
  }
  some.data = rows_kept(s, s.data), some.rest = rows_kept(s, s.rest);
  return some;
}

double energy_left_out(const CentralSamples& s, const Matrix& all) {
  double sum = 0;
  const Index coils = all.extent(1);
  for (Index i = 0; i < s.count(); ++i)
    if (is_left_out(s.readouts[static_cast<std::size_t>(i)]))
      for (Index c = 0; c < coils; ++c) sum += norm(all[i * coils + c]);
  return sum;
}

}  // namespace

double prediction_error(const CentralSamples& s, double noise_variance) {
  constexpr double unknown = -1, tolerance = 1.2;
  constexpr Index many = 4;  // values for each unknown: what is left over tells enough
  if (s.empty() || s.readout_count < 2 * every || s.data.size() > many * s.grid.count()) return unknown;
  const Pattern none(s.group_count());
  const CentreModel whole(s, s.data, none);
  const auto some = kept(s);
  if (!whole.is_regular() || some.count() == s.count() || some.count() == 0) return unknown;
  Matrix noise(s.data.shape()), data = whole.prediction();  // what the small image cannot hold is no mistake
  std::mt19937 generator(1974);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  for (Index i = 0; i < data.size(); ++i) {
    noise[i] = {normal(generator), normal(generator)};
    data[i] += s.rest[i];
  }
  const CentreModel model(some, rows_kept(s, data), none);
  if (!model.is_regular()) return unknown;
  const CentreModel of_noise(some, rows_kept(s, noise), none, &model);
  const auto missed = [&](const Matrix& values, const Matrix& image) {
    Matrix error = whole.rest_of(image);  // of s.data
    for (Index i = 0; i < error.size(); ++i) error[i] += values[i] - s.data[i];
    return energy_left_out(s, error);
  };
  const double noise_left = missed(noise, of_noise.image()), drawn = energy_left_out(s, noise),
               signal = energy_left_out(s, s.data);
  if (!(drawn > 0 && signal > 0) || noise_left > most_amplified * drawn) return unknown;
  const double beyond = missed(data, model.image()) - tolerance * noise_variance * noise_left;
  return std::sqrt(std::max(0.0, beyond) / signal);
}

}  // namespace fhd::validation

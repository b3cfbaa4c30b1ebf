#include "validation/verdict/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace fhd::validation {
namespace {

constexpr Index every = 4, left_out = 2;
/// Share of an image's own energy that other readouts may miss: if they miss more, they do not determine those left out.
constexpr double most_missed = 0.1;

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

double prediction_error(Centre& centre, double noise_variance) {
  const CentralSamples& s = centre.samples();
  constexpr double unknown = -1, tolerance = 1.2;
  constexpr Index many = 4;  // values for each unknown: what is left over tells enough
  if (s.empty() || s.readout_count < 2 * every || s.data.size() > many * s.grid.count()) return unknown;
  const Pattern none(s.group_count());
  const auto some = kept(s);
  if (!centre.model() || some.count() == s.count() || some.count() == 0) return unknown;
  const CentreModel& whole = *centre.model();
  const CentreModel model(some, some.data, none);
  if (!model.is_regular()) return unknown;
  // Energy of what other readouts miss of values [sample][coil] in those left out.
  const auto missed = [&](const Matrix& values) {
    const CentreModel of_values(some, rows_kept(s, values), none, &model);
    Matrix error = whole.rest_of(of_values.image());  // of s.data
    for (Index i = 0; i < error.size(); ++i) error[i] += values[i] - s.data[i];
    return energy_left_out(s, error);
  };
  const double signal = energy_left_out(s, s.data);
  if (!(signal > 0) || !(missed(whole.prediction()) < most_missed * signal)) return unknown;
  Matrix noise(s.data.shape());
  std::mt19937 generator(1974);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  for (auto& value : noise) value = {normal(generator), normal(generator)};
  const double beyond = missed(s.rest) - tolerance * noise_variance * missed(noise);
  return std::sqrt(std::max(0.0, beyond) / signal);
}

}  // namespace fhd::validation

#include "validation/verdict/left_over.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace fhd::validation {
namespace {

using Value = std::complex<double>;

/// Residual up to this factor of the noise in a shell counts as noise: the estimate is uncertain, and at the edge of
/// k-space maps of voxels are not those of tissue.
constexpr double noise_tolerance = 1.2;

Misfit misfit_of(double where, const Energies& part, const Energies& total) {
  return {where, part.data / positive(total.data), std::sqrt(part.rest / positive(part.data)), 0, part.count};
}

/// Returns what a coil leaves over beyond noise of its own, over |d|: a coil may be noisier than the others. As
/// estimate_noise, from the shell that leaves least.
double beyond_own_noise(const EnergyTable& table, std::size_t coil) {
  const auto& shells = table.coil_shells[coil];
  double noise = std::numeric_limits<double>::infinity(), beyond = 0, data = 0;
  const auto count = static_cast<double>(table.coils.size());
  for (std::size_t s = 0; s < shells.size(); ++s)
    if (table.tells(s)) noise = std::min(noise, shells[s].rest_of_shape() * count / table.freedom[s]);
  for (std::size_t s = 0; s < shells.size(); ++s)
    if (table.tells(s)) {
      const double left = noise * table.freedom[s] / count;
      beyond += std::max(0.0, shells[s].rest_of_shape() - noise_tolerance * left), data += shells[s].data;
    }
  return std::sqrt(beyond / positive(data));
}

}  // namespace

void estimate_noise(const VerifierInput<float>& e, const EnergyTable& table, Verdict& v) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  v.noise_variance = 0, v.noise_is_measured = false;
  if (e.noise != nullptr && !e.noise->empty()) {
    double sum = 0;
    for (const auto& n : *e.noise) sum += std::norm(value_of(n));
    v.noise_variance = sum * e.sample_scale * e.sample_scale / static_cast<double>(e.noise->size());
    v.noise_is_measured = true;
  }
  const double all = std::accumulate(table.freedom.begin(), table.freedom.end(), 0.0);
  double least = unknown;
  for (std::size_t s = 0; s < shell_radii.size(); ++s)
    if (table.tells(s) && table.freedom[s] > 0.1 * all)
      least = std::min(least, table.shells[s].rest_of_shape() / table.freedom[s]);
  if (least < (v.noise_is_measured ? v.noise_variance : unknown))
    v.noise_variance = least, v.noise_is_measured = false;
}

void weigh_shells(const EnergyTable& table, Verdict& v) {
  v.by_radius.clear(), v.by_coil.clear();
  double data = 0, above = 0, rest = 0, noise = 0, counted = 0;
  for (std::size_t s = 0; s < shell_radii.size(); ++s) {
    const Energies& shell = table.shells[s];
    if (shell.count == 0) continue;
    Misfit found = misfit_of(shell_radii[s], shell, table.total);
    if (table.tells(s)) {
      const double left = v.noise_variance * table.freedom[s], of_shape = shell.rest_of_shape();
      if (left > 0) found.chi_squared = of_shape / left;
      data += shell.data, rest += of_shape, noise += left, counted += shell.count;
      const double beyond = std::max(0.0, of_shape - noise_tolerance * left);
      found.beyond_noise = std::sqrt(beyond / shell.data);
      above += beyond;
    }
    v.by_radius.push_back(found);
  }
  for (std::size_t c = 0; c < table.coils.size(); ++c) {
    v.by_coil.push_back(misfit_of(static_cast<double>(c), table.coils[c], table.total));
    v.by_coil[c].beyond_noise = beyond_own_noise(table, c);
    if (noise > 0) v.by_coil[c].chi_squared = table.coils[c].rest / (noise / counted * table.coils[c].count);
  }
  v.tested = data / positive(table.total.data);
  v.unexplained = std::sqrt(above / positive(data));
  for (std::size_t s = 0; s < shell_radii.size(); ++s)
    if (table.tells(s)) {  // where even the centre of k-space is not explained by half, it is no noise
      const double left = std::sqrt(table.shells[s].rest_of_shape() / positive(table.shells[s].data));
      if (!(left <= 0.5)) v.unexplained = std::max(v.unexplained, left);
      break;
    }
  v.chi_squared = noise > 0 ? rest / noise : 0;
  v.noise_share = std::sqrt(v.noise_variance * table.total.count / positive(table.total.data));
  if (!(rest == rest)) v.unexplained = rest;  // NaN, which max passes over
}

void divide_by_readouts(const EnergyTable& table, Verdict& v) {
  constexpr std::size_t most = 48;
  const std::size_t count = table.readouts.size(), group = (count + most - 1) / most;
  if (count < 2) return;
  v.readouts_per_group = static_cast<Index>(group);
  for (std::size_t first = 0; first < count; first += group) {
    Energies sum;
    for (std::size_t j = first; j < std::min(count, first + group); ++j) sum += table.readouts[j];
    v.by_readout.push_back(
        std::sqrt(sum.rest / positive(sum.count) * table.total.count / positive(table.total.data)));
  }
}

double offset_of(const VerifierInput<float>& e, const EnergyTable& table) {
  const Index samples = e.trajectory.sample_count();
  double square = 0;
  std::vector<double> re, im;
  // The median of n samples errs by 1.25 / sqrt(n) of their size in each part, where the size at the edge of k-space is
  // below |d|: 2,000 of each coil tell a constant of 4 % of |d|, of which 10 % are an alarm.
  constexpr Index fewest = 2000, of_all_coils = 20'000;
  const Index most = std::min(samples, std::max(fewest, of_all_coils / e.coil_count));
  const auto chosen = [&](Index i) {  // steps of the golden ratio: readouts have periods, and places in them
    const double turns = static_cast<double>(i) * std::numbers::phi;
    return static_cast<Index>((turns - std::floor(turns)) * static_cast<double>(samples));
  };
  for (Index coil = 0; coil < e.coil_count; ++coil) {
    re.clear(), im.clear();
    for (Index i = 0; i < most; ++i)
      if (const Index m = chosen(i); shell_radii[table.shell_of(m)] >= 1) {
        const Value d = sample_of(e, coil * samples + m);
        re.push_back(d.real()), im.push_back(d.imag());
      }
    // A mean would count the few samples of the centre in wrong places.
    square += std::norm(Value(median(re), median(im))) * static_cast<double>(samples);
  }
  return std::sqrt(square / positive(table.total.data));
}

}  // namespace fhd::validation

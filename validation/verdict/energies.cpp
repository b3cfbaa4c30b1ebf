#include "validation/verdict/energies.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace fhd::validation {
namespace {

using Value = std::complex<double>;

/// Returns the volume of k-space, in voxels (1 cycle/FOV along every axis of more than one voxel), inside the
/// ellipsoid of this normalised radius, cut at the box |k| <= N/2.
double cells_within(double radius, const std::array<int, 3>& matrix_size) {
  constexpr double unit_ball[] = {1, 2, std::numbers::pi, 4 * std::numbers::pi / 3};
  int axes = 0;
  double box = 1;
  for (const int n : matrix_size)
    if (n > 1) ++axes, box *= n;
  return std::min(box, unit_ball[axes] * std::pow(radius / 2, axes) * box);
}

std::uint8_t shell_at(const Trajectory& trajectory, const std::array<int, 3>& matrix_size, Index m) {
  double square = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1)
      square += std::pow(
          2 * trajectory.k[static_cast<Index>(axis) * trajectory.sample_count() + m] / matrix_size[axis], 2);
  const double radius = std::sqrt(square);
  std::uint8_t shell = 0;
  for (std::size_t i = 0; i + 1 < shell_radii.size(); ++i) shell += shell_radii[i] < radius;
  return shell;
}

using Shells = std::array<Energies, shell_radii.size()>;

}  // namespace

EnergyTable energies_of(const VerifierInput<float>& e, const std::vector<Index>& starts) {
  EnergyTable table;
  const Index samples = e.trajectory.sample_count();
  table.shell_of.resize(static_cast<std::size_t>(samples));
  for (Index m = 0; m < samples; ++m)
    table.shell_of[static_cast<std::size_t>(m)] = shell_at(e.trajectory, e.matrix_size, m);
  table.coils.resize(static_cast<std::size_t>(e.coil_count));
  table.readouts.resize(starts.size() - 1);
  std::vector<Shells> of_shells(table.coils.size());
  std::vector<std::vector<Energies>> of_readouts(table.coils.size(),
                                                 std::vector<Energies>(table.readouts.size()));
#pragma omp parallel for schedule(static)
  for (Index coil = 0; coil < e.coil_count; ++coil) {
    const auto c = static_cast<std::size_t>(coil);
    for (std::size_t j = 0; j + 1 < starts.size(); ++j)
      for (Index m = starts[j], end = starts[j + 1]; m < end;) {
        const auto shell = table.shell_of[static_cast<std::size_t>(m)];
        Energies run;  // of samples of a readout that follow each other in one shell
        for (; m < end && table.shell_of[static_cast<std::size_t>(m)] == shell; ++m)
          run.add(sample_of(e, coil * samples + m), value_of(e.predicted.data()[coil * samples + m]));
        of_shells[c][shell] += run;
        of_readouts[c][j] += run;
      }
  }
  for (std::size_t c = 0; c < table.coils.size(); ++c) {
    for (std::size_t j = 0; j < table.readouts.size(); ++j) table.readouts[j] += of_readouts[c][j];
    for (std::size_t s = 0; s < shell_radii.size(); ++s)
      table.coils[c] += of_shells[c][s], table.shells[s] += of_shells[c][s];
    table.total += table.coils[c];
  }
  table.coil_shells = std::move(of_shells);
  for (std::size_t s = 0; s < shell_radii.size(); ++s) {
    const double cells = cells_within(shell_radii[s], e.matrix_size) -
                         (s > 0 ? cells_within(shell_radii[s - 1], e.matrix_size) : 0);
    table.freedom[s] = table.shells[s].count - std::min(cells, table.shells[s].count);
  }
  return table;
}

void take_off_shrinkage(const VerifierInput<float>& e, EnergyTable& table) {
  const Index voxels = Index{e.matrix_size[0]} * e.matrix_size[1] * e.matrix_size[2],
              samples = e.trajectory.sample_count();
  std::vector<double> seen(static_cast<std::size_t>(e.image.size()));
  const auto add_set = [&](const Complex<float>* maps, Index first) {
    for (Index coil = 0; coil < e.coil_count; ++coil)
      for (Index p = 0; p < voxels; ++p)
        seen[static_cast<std::size_t>(first + p)] += std::norm(value_of(maps[coil * voxels + p]));
  };
  add_set(e.maps, 0);
  if (e.second_maps != nullptr) add_set(e.second_maps, voxels);
  const double most = *std::max_element(seen.begin(), seen.end());
  Array<Complex<float>> taken_off(e.image.shape());
  for (Index p = 0; p < taken_off.size(); ++p) {
    const auto factor = static_cast<float>(most / std::max(seen[static_cast<std::size_t>(p)], 1e-3 * most));
    taken_off[p] = {factor * e.image[p].re, factor * e.image[p].im};
  }
  const auto taken = e.encode(taken_off);
  struct Products {
    Value pv, vr;
    double vv = 0;
  };
  std::array<Products, shell_radii.size()> of_shells;
  for (Index coil = 0; coil < e.coil_count; ++coil)
    for (Index m = 0; m < samples; ++m) {
      const Index i = coil * samples + m;
      auto& of = of_shells[table.shell_of[static_cast<std::size_t>(m)]];
      const Value v = value_of(taken[i]), p = value_of(e.predicted[i]);
      of.pv += std::conj(p) * v, of.vr += std::conj(v) * rest_of(e, i), of.vv += std::norm(v);
    }
  for (std::size_t s = 0; s < shell_radii.size(); ++s) {
    auto& shell = table.shells[s];
    const auto& [pv, vr, vv] = of_shells[s];
    if (shell.prediction <= 0 || vv <= 0) continue;
    const double left = vv - std::norm(pv) / shell.prediction;
    const Value onto = vr - std::conj(pv) / shell.prediction * shell.product;
    shell.shrinkage =
        std::norm(shell.product) / shell.prediction + (left > 1e-9 * vv ? std::norm(onto) / left : 0);
  }
}

}  // namespace fhd::validation

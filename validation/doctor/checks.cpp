// Measures that several checks share.
#include "validation/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recon/array/for_processors.hpp"

namespace fhd::doctor {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string listed(const std::vector<std::int64_t>& indices) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, indices.size()); ++i)
    text += (i == 0                                              ? ""
             : i + 1 == indices.size() && indices.size() <= most ? " and "
                                                                 : ", ") +
            std::to_string(indices[i]);
  if (indices.size() > most) text += fmt::format(" and {} more", indices.size() - most);
  return text;
}

const char* plural(std::int64_t count) { return count == 1 ? "" : "s"; }

namespace {

/// Adds |values|^2 to `sums`, and returns their sum.
FHD_FOR_PROCESSORS double add_energies(std::int64_t count, const Complex<float>* values, double* sums) {
  double all = 0;
#pragma omp simd reduction(+ : all)
  for (std::int64_t m = 0; m < count; ++m) {
    const double re = static_cast<double>(values[m].re), im = static_cast<double>(values[m].im),
                 energy = re * re + im * im;
    sums[m] += energy;
    all += energy;
  }
  return all;
}

}  // namespace

Energies energies_of(const KSpace& kspace) {
  const auto samples = kspace.sample_count();
  Energies energies{std::vector<double>(static_cast<std::size_t>(samples)), {}};
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil)
    energies.of_coil.push_back(
        add_energies(samples, kspace.values.data() + coil * samples, energies.of_sample.data()));
  return energies;
}

std::vector<double> energies(const KSpace& kspace) { return energies_of(kspace).of_sample; }

double normalised_radius(const Scan& scan, std::int64_t m) {
  const auto samples = scan.trajectory.sample_count();
  double square = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (const int n = scan.geometry.matrix_size[axis]; n > 1)
      square += std::pow(2 * scan.trajectory.k[axis * samples + m] / n, 2);
  return std::sqrt(square);
}

std::vector<double> normalised_radii(const Scan& scan) {
  std::vector<double> radius(static_cast<std::size_t>(scan.trajectory.sample_count()));
  for (std::size_t m = 0; m < radius.size(); ++m)
    radius[m] = normalised_radius(scan, static_cast<std::int64_t>(m));
  return radius;
}

double distance(const Scan& scan, std::int64_t a, std::int64_t b) {
  const auto samples = scan.trajectory.sample_count();
  double square = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (scan.geometry.matrix_size[axis] > 1)
      square += std::pow(scan.trajectory.k[axis * samples + a] - scan.trajectory.k[axis * samples + b], 2);
  return std::sqrt(square);
}

std::array<Extent, 3> extents_of(const Trajectory& trajectory) {
  std::array<Extent, 3> extents;
  const auto samples = trajectory.sample_count();
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) {
      extents[axis].lowest = std::min(extents[axis].lowest, trajectory.k[axis * samples + m]);
      extents[axis].highest = std::max(extents[axis].highest, trajectory.k[axis * samples + m]);
    }
  return extents;
}

}  // namespace fhd::doctor

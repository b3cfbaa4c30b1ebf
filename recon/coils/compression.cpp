#include "recon/coils/compression.hpp"

#include <algorithm>

#include "recon/array/linear_algebra.hpp"

namespace fhd {
namespace {

/// Returns the energy of the first components.
double energy_of(const HermitianEigen<double>& eigen, std::int64_t count) {
  double energy = 0;
  for (std::int64_t i = 0; i < count; ++i) energy += std::max(0.0, eigen.values[i]);
  return energy;
}

/// Row v of the matrix is w_v^H, w_v being the v-th principal component: the virtual coil is w_v^H d.
Compression first_components(const HermitianEigen<double>& eigen, std::int64_t count) {
  const std::int64_t coils = eigen.values.size();
  Compression compression{Array<Complex<double>>({count, coils}), 1};
  for (std::int64_t v = 0; v < count; ++v) {
    const Complex<double>* w = eigen.vectors.data() + v * coils;
    const Complex<double>* largest =
        std::max_element(w, w + coils, [](auto a, auto b) { return norm(a) < norm(b); });
    const double magnitude = abs(*largest);
    const Complex<double> phase = (1 / magnitude) * *largest;
    for (std::int64_t coil = 0; coil < coils; ++coil)
      compression.matrix[v * coils + coil] = phase * conj(w[coil]);
  }
  const double total = energy_of(eigen, coils);
  compression.kept_energy = total > 0 ? energy_of(eigen, count) / total : 1;
  return compression;
}

}  // namespace

Compression compress_to_count(const Array<Complex<float>>& samples, std::int64_t count) {
  return first_components(hermitian_eigen(sum_of_outer_products(samples)), count);
}

Compression compress_to_energy(const Array<Complex<float>>& samples, double energy) {
  const auto eigen = hermitian_eigen(sum_of_outer_products(samples));
  const std::int64_t coils = eigen.values.size();
  const double enough = energy * energy_of(eigen, coils);
  std::int64_t count = 1;
  while (count < coils && energy_of(eigen, count) < enough) ++count;
  return first_components(eigen, count);
}

}  // namespace fhd

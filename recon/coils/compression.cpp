#include "recon/coils/compression.hpp"

#include <algorithm>
#include <string>

#include "recon/array/linear_algebra.hpp"

namespace fhd {
namespace {

HermitianEigen<double> principal_components(const Array<Complex<float>>& samples) {
  if (samples.shape().rank() != 2 || samples.empty())
    throw Error("coil compression", "samples [coil][sample]", samples.shape().text());
  return hermitian_eigen(sum_of_outer_products(samples));
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
  double kept = 0, total = 0;
  for (std::int64_t i = 0; i < coils; ++i) {
    const double energy = std::max(0.0, eigen.values[i]);
    total += energy;
    if (i < count) kept += energy;
  }
  compression.kept_energy = total > 0 ? kept / total : 1;
  return compression;
}

}  // namespace

Compression compress_to_count(const Array<Complex<float>>& samples, std::int64_t count) {
  const auto eigen = principal_components(samples);
  if (count < 1 || count > eigen.values.size())
    throw Error("coil compression", "1 ... " + std::to_string(eigen.values.size()) + " virtual coils",
                std::to_string(count));
  return first_components(eigen, count);
}

Compression compress_to_energy(const Array<Complex<float>>& samples, double energy) {
  if (!(energy > 0 && energy <= 1))
    throw Error("coil compression", "a share of energy in (0, 1]", std::to_string(energy));
  const auto eigen = principal_components(samples);
  double total = 0, kept = 0;
  for (const double value : eigen.values) total += std::max(0.0, value);
  std::int64_t count = 0;
  while (count < eigen.values.size() && (count == 0 || kept < energy * total))
    kept += std::max(0.0, eigen.values[count++]);
  return first_components(eigen, count);
}

}  // namespace fhd

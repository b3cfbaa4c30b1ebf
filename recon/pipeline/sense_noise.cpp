// Noise of a Cartesian scan with regular gaps, from the matrices of its aliases: noise_map.hpp.
#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/array/linear_algebra.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/pipeline/noise_map.hpp"

namespace fhd {
namespace {

constexpr const char* subject = "exact noise map";
constexpr const char* remedy = "ask for a number of replicas, such as 100";

/// Voxel p + shift is an alias of p, with E^H E (p + shift, p) = samples turn sum_c conj(S_c(p + shift)) S_c(p).
struct Alias {
  std::array<std::int64_t, 3> shift;  ///< x, y, z, each below the matrix
  Complex<double> turn;
};

/// Returns how often each whole position of k-space is sampled, [z][y][x], k modulo the matrix.
Array<Complex<double>> counts_of(const Scan& scan) {
  const auto& n = scan.geometry.matrix_size;
  const std::int64_t samples = scan.trajectory.sample_count();
  Array<Complex<double>> counts({n[2], n[1], n[0]});
  constexpr double nearly_whole = 1e-4;
  for (std::int64_t m = 0; m < samples; ++m) {
    std::int64_t at = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const double k = scan.trajectory.k[axis * samples + m], whole = std::nearbyint(k);
      if (!(std::abs(k - whole) <= nearly_whole))
        throw Error(subject, "a Cartesian scan, at whole cycles/FOV",
                    "a sample at " + std::to_string(k) + " cycles/FOV", remedy);
      const auto size = static_cast<std::int64_t>(n[axis]);
      at = at * size + ((static_cast<std::int64_t>(whole) % size) + size) % size;
    }
    counts[at] += Complex<double>(1, 0);
  }
  return counts;
}

std::vector<Alias> aliases_of(const Scan& scan) {
  const auto& n = scan.geometry.matrix_size;
  const auto samples = static_cast<double>(scan.trajectory.sample_count());
  auto spread = counts_of(scan);
  fft_3d(spread, +1);  // sum over samples of exp(+i 2 pi k . shift / N)
  std::vector<Alias> aliases;
  constexpr double nearly = 1e-6;
  for (std::int64_t i = 0; i < spread.size(); ++i) {
    const double share = std::sqrt(norm(spread[i])) / samples;
    if (share < nearly) continue;
    if (share < 1 - nearly)
      throw Error(subject, "regular gaps and as many samples at each position",
                  "gaps of different sizes, a denser centre, or positions that are sampled more often",
                  remedy);
    aliases.push_back({{i % n[0], i / n[0] % n[1], i / n[0] / n[1]}, (1 / samples) * spread[i]});
  }
  return aliases;
}

/// Returns the voxel so far on, around the edges.
std::int64_t shifted(std::int64_t voxel, const std::array<std::int64_t, 3>& shift,
                     const std::array<int, 3>& n) {
  const std::int64_t x = (voxel % n[0] + shift[0]) % n[0], y = (voxel / n[0] % n[1] + shift[1]) % n[1],
                     z = (voxel / n[0] / n[1] + shift[2]) % n[2];
  return (z * n[1] + y) * n[0] + x;
}

/// Returns the diagonal of A^-1 B A^-1, by A^-1 = K^H K with K the inverse of the Cholesky factor.
std::vector<double> variances_of(Array<Complex<double>> system, const Array<Complex<double>>& noise) {
  const std::int64_t size = system.extent(0);
  const auto factor = inverse_cholesky_factor(std::move(system));
  if (!factor)
    throw Error(subject, "coils that tell the " + std::to_string(size) + " aliases of a voxel apart",
                "some that do not, and lambda = 0", "choose a lambda above 0");
  Array<Complex<double>> adjoint({size, size});
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j < size; ++j) adjoint[i * size + j] = conj((*factor)[j * size + i]);
  const auto inverse = matrix_product(adjoint, *factor),
             covariance = matrix_product(matrix_product(inverse, noise), inverse);
  std::vector<double> variances;
  for (std::int64_t i = 0; i < size; ++i) variances.push_back(covariance[i * size + i].re);
  return variances;
}

}  // namespace

void require_lattice(const Scan& scan, bool has_maps) {
  const std::int64_t coils = scan.kspace.coil_count();
  if (goes_beyond_k(scan))
    throw Error(subject, "a scan without a field map, fields or decay", "one with it", remedy);
  if (!has_maps && coils > 1)
    throw Error(subject, "sensitivity maps, or one coil", std::to_string(coils) + " coils without maps",
                remedy);
  aliases_of(scan);
}

Array<double> sense_noise(const Scan& scan, const Array<Complex<double>>& covariance, double lambda) {
  require_lattice(scan, scan.sensitivity_maps.has_value());
  const auto aliases = aliases_of(scan);
  const std::int64_t coils = scan.kspace.coil_count(), voxels = scan.geometry.voxel_count();
  const auto maps =
      scan.sensitivity_maps ? values_of<double>(*scan.sensitivity_maps) : Array<Complex<double>>();
  const auto map = [&](std::int64_t coil, std::int64_t voxel) {
    return maps.empty() ? Complex<double>(1, 0) : maps[coil * voxels + voxel];
  };
  Array<double> deviation(scan.geometry.image_shape());
  std::vector<char> done(voxels);
  for (std::int64_t voxel = 0; voxel < voxels; ++voxel) {
    if (done[voxel]) continue;
    std::vector<std::int64_t> members;  // of the group of aliases, those that a coil sees
    std::vector<Complex<double>> turns;
    for (const auto& alias : aliases) {
      const std::int64_t other = shifted(voxel, alias.shift, scan.geometry.matrix_size);
      done[other] = 1;
      bool is_seen = false;
      for (std::int64_t coil = 0; coil < coils; ++coil) is_seen = is_seen || norm(map(coil, other)) > 0;
      if (is_seen) members.push_back(other), turns.push_back(alias.turn);
    }
    const auto size = static_cast<std::int64_t>(members.size());
    if (size == 0) continue;
    Array<Complex<double>> system({size, size}), noise({size, size});
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) {
        const Complex<double> turn =
            static_cast<double>(scan.trajectory.sample_count()) * (turns[i] * conj(turns[j]));
        Complex<double> product = 0,
                        of_noise = 0;  // sum conj(S_c(p)) S_c(q), and with the covariance between
        for (std::int64_t c = 0; c < coils; ++c) {
          product += conj(map(c, members[i])) * map(c, members[j]);
          for (std::int64_t d = 0; d < coils; ++d)
            of_noise += conj(map(c, members[i])) * covariance[c * coils + d] * map(d, members[j]);
        }
        system[i * size + j] = turn * product;
        noise[i * size + j] = turn * of_noise;
        if (i == j) system[i * size + j] += Complex<double>(lambda, 0);
      }
    const auto variances = variances_of(std::move(system), noise);
    for (std::int64_t i = 0; i < size; ++i) deviation[members[i]] = std::sqrt(variances[i] / 2);
  }
  return deviation;
}

}  // namespace fhd

#include "recon/pipeline/sense_noise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/array/linear_algebra.hpp"

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
                  "gaps of different sizes, a denser centre, or positions that are sampled more often", remedy);
    aliases.push_back({{i % n[0], i / n[0] % n[1], i / n[0] / n[1]}, (1 / samples) * spread[i]});
  }
  return aliases;
}

/// Returns the voxel so far on, around the edges.
std::int64_t shifted(std::int64_t voxel, const std::array<std::int64_t, 3>& shift, const std::array<int, 3>& n) {
  const std::int64_t x = (voxel % n[0] + shift[0]) % n[0], y = (voxel / n[0] % n[1] + shift[1]) % n[1],
                     z = (voxel / n[0] / n[1] + shift[2]) % n[2];
  return (z * n[1] + y) * n[0] + x;
}

/// The matrices of one group of aliases, of which the first is the voxel itself.
class Group {
 public:
  Group(const Scan& scan, const Array<Complex<double>>& covariance, double lambda,
        const std::vector<Alias>& aliases)
      : n_(scan.geometry.matrix_size),
        samples_(static_cast<double>(scan.trajectory.sample_count())),
        lambda_(lambda),
        covariance_(covariance),
        aliases_(aliases),
        maps_(scan.sensitivity_maps ? values_of<double>(*scan.sensitivity_maps) : Array<Complex<double>>()),
        coils_(scan.kspace.coil_count()),
        voxels_(scan.geometry.voxel_count()) {}

  /// Computes the deviation of the aliases of `voxel`.
  void fill(std::int64_t voxel, Array<double>& deviation) {
    members_.clear(), turns_.clear();
    for (const auto& alias : aliases_) {
      const std::int64_t other = shifted(voxel, alias.shift, n_);
      if (!is_seen(other)) continue;
      members_.push_back(other), turns_.push_back(alias.turn);
    }
    if (members_.empty()) return;
    const auto size = static_cast<std::int64_t>(members_.size());
    Array<Complex<double>> system({size, size}), noise({size, size});
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) {
        const Complex<double> turn = samples_ * (turns_[i] * conj(turns_[j]));
        system[i * size + j] = turn * product(members_[i], members_[j], false);
        noise[i * size + j] = turn * product(members_[i], members_[j], true);
        if (i == j) system[i * size + j] += Complex<double>(lambda_, 0);
      }
    const auto variances = variances_of(std::move(system), noise);
    for (std::int64_t i = 0; i < size; ++i) deviation[members_[i]] = std::sqrt(variances[i] / 2);
  }

 private:
  Complex<double> map(std::int64_t coil, std::int64_t voxel) const {
    return maps_.empty() ? Complex<double>(1, 0) : maps_[coil * voxels_ + voxel];
  }
  bool is_seen(std::int64_t voxel) const {
    for (std::int64_t coil = 0; coil < coils_; ++coil)
      if (norm(map(coil, voxel)) > 0) return true;
    return false;
  }
  /// Returns sum conj(S_c(p)) S_c(q), or with the covariance between the coils.
  Complex<double> product(std::int64_t p, std::int64_t q, bool of_noise) const {
    Complex<double> sum = 0;
    for (std::int64_t c = 0; c < coils_; ++c) {
      if (!of_noise) sum += conj(map(c, p)) * map(c, q);
      for (std::int64_t d = 0; d < coils_ && of_noise; ++d)
        sum += conj(map(c, p)) * covariance_[c * coils_ + d] * map(d, q);
    }
    return sum;
  }
  /// Returns the diagonal of A^-1 B A^-1, by A^-1 = K^H K with K the inverse of the Cholesky factor.
  std::vector<double> variances_of(Array<Complex<double>> system, const Array<Complex<double>>& noise) const {
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

  std::array<int, 3> n_;
  double samples_, lambda_;
  const Array<Complex<double>>& covariance_;
  const std::vector<Alias>& aliases_;
  Array<Complex<double>> maps_;
  std::int64_t coils_, voxels_;
  std::vector<std::int64_t> members_;
  std::vector<Complex<double>> turns_;
};

}  // namespace

void require_lattice(const Scan& scan, bool has_maps) {
  const std::int64_t coils = scan.kspace.coil_count();
  if (scan.field_map && scan.sample_time_s)
    throw Error(subject, "a scan without a field map", "one with it", remedy);
  if (!has_maps && coils > 1)
    throw Error(subject, "sensitivity maps, or one coil", std::to_string(coils) + " coils without maps", remedy);
  aliases_of(scan);
}

Array<double> sense_noise(const Scan& scan, const Array<Complex<double>>& covariance, double lambda) {
  const std::int64_t coils = scan.kspace.coil_count();
  require_shape(covariance, {coils, coils}, "noise covariance");
  require_lattice(scan, scan.sensitivity_maps.has_value());
  const auto aliases = aliases_of(scan);
  Array<double> deviation(scan.geometry.image_shape());
  std::vector<char> done(static_cast<std::size_t>(deviation.size()));
  Group group(scan, covariance, lambda, aliases);
  for (std::int64_t voxel = 0; voxel < deviation.size(); ++voxel) {
    if (done[static_cast<std::size_t>(voxel)]) continue;
    group.fill(voxel, deviation);
    for (const auto& alias : aliases)
      done[static_cast<std::size_t>(shifted(voxel, alias.shift, scan.geometry.matrix_size))] = 1;
  }
  return deviation;
}

}  // namespace fhd

#pragma once
// Sums up what an image explains of its samples: by shells of k-space, by coils and by readouts. With d the samples,
// p = E rho and r = d - p.
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

template <class T>
std::complex<double> value_of(const Complex<T>& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}

/// Returns sample i = coil * samples + m, in the unit of the prediction.
inline std::complex<double> sample_of(const VerifierInput<float>& e, Index i) {
  return e.sample_scale * (e.samples_in_double ? value_of(e.samples_in_double[i]) : value_of(e.samples[i]));
}
/// Returns r of sample i.
inline std::complex<double> rest_of(const VerifierInput<float>& e, Index i) {
  return sample_of(e, i) - value_of(e.predicted[i]);
}

/// Returns x, or 1 where it is not above 0: a divisor.
inline double positive(double x) { return x > 0 ? x : 1; }

/// |d|^2, |r|^2, |p|^2 and <p, r> of some samples.
struct Energies {
  double data = 0, rest = 0, prediction = 0, count = 0;
  std::complex<double> product;
  double shrinkage = 0;  ///< of |r|^2, explained by what lambda takes off the image (take_off_shrinkage)

  Energies& operator+=(const Energies& other) {
    data += other.data, rest += other.rest, prediction += other.prediction, count += other.count;
    product += other.product;
    return *this;
  }
  /// |r|^2 without what one factor of p explains: lambda makes the image a little darker than the data.
  double rest_of_shape() const {
    const double dimming = prediction > 0 ? std::norm(product) / prediction : 0;
    return std::max(0.0, rest - std::max(dimming, shrinkage));
  }
};

/// Outer radii of the shells: 1 at the middle of a face of k-space.
inline constexpr std::array<double, 6> shell_radii{1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2};

/// The shells of the samples of a trajectory, for all volumes that share it.
struct SampleShells {
  /// Samples of a readout that follow each other in one shell.
  struct Run {
    Index begin, end;
    std::size_t readout;
    std::uint8_t shell;
  };
  std::vector<std::uint8_t> of_sample;
  std::vector<Run> runs;  ///< in the order of the samples
  std::size_t readout_count = 0;
  std::array<double, shell_radii.size()> cells{};  ///< of k-space, in voxels, that a shell has at most
};

/// Returns the shells of these positions. `starts`: where readouts start, and their end.
std::shared_ptr<const SampleShells> shells_of(const Trajectory& trajectory,
                                              const std::array<int, 3>& matrix_size,
                                              const std::vector<Index>& starts);

struct EnergyTable {
  std::shared_ptr<const SampleShells> samples;
  std::array<Energies, shell_radii.size()> shells{};
  std::array<double, shell_radii.size()> freedom{};  ///< how many more values than unknowns a shell has
  std::vector<Energies> coils, readouts;
  std::vector<std::array<Energies, shell_radii.size()>> coil_shells;  ///< [coil]
  Energies total;

  std::uint8_t shell_of(Index sample) const { return samples->of_sample[static_cast<std::size_t>(sample)]; }
  /// Returns whether a shell tells noise from signal. Corners are left out: maps carry what is measured there beyond
  /// the edge of the matrix, and beyond.
  bool tells(std::size_t shell) const {
    return shell_radii[shell] <= 1 && shells[shell].data > 0 &&
           freedom[shell] >= std::max(32.0, (1 - 1 / 1.2) * shells[shell].count);
  }
};

/// Sums up all samples.
EnergyTable energies_of(const VerifierInput<float>& input, std::shared_ptr<const SampleShells> samples);

/// Fills `shrinkage` of the shells: lambda takes more off the image where the coils see little, nearly
/// lambda rho / sum_c |S_c|^2. What of r lies along p and along v, the samples of that image, is no mistake of the model:
/// |<p, r>|^2 / |p|^2 + |<v', r>|^2 / |v'|^2, v' = v - p <p, v> / |p|^2. Needs maps and `encode`.
void take_off_shrinkage(const VerifierInput<float>& input, EnergyTable& table);

}  // namespace fhd::validation

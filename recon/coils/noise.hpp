#pragma once
// Mixing of coils: by their noise, which makes it white, and into fewer virtual ones.
#include <cstdint>
#include <string>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

/// Returns mixed[i] = sum_c matrix[i][c] values[c] of values [coil][anything] with matrix [virtual coil][coil], host arrays,
/// in sums of T, float or double.
template <class T>
Array<Complex<T>> apply_mixing(const Array<Complex<double>>& matrix, const Array<Complex<T>>& values);

/// values = matrix values, where there are as many virtual coils as coils; without another array.
template <class T>
void mix_in_place(const Array<Complex<double>>& matrix, Array<Complex<T>>& values);

struct NoiseCovariance {
  Array<Complex<double>> values;  ///< [coil][coil]: the mean of n n^H over samples; its diagonal is E |n|^2
  std::int64_t sample_count = 0;  ///< that it was estimated from
};

/// Returns the covariance of noise readouts [coil][sample]. The error of an element is about sqrt(v_i v_j / samples).
NoiseCovariance noise_covariance(const Array<Complex<float>>& noise);

/// Returns the covariance at the edge of k-space, for scans without noise readouts. Of the 5 % of samples with the largest
/// normalised radius, sum_axis (2 k / N)^2, those with signal are left out: with the energy
///
///     e(m) = sum_c |d_c(m)|^2 / v_c,
///     v_c = median |d_c|^2 / ln 2   (the variance of complex Gaussian noise),
///
/// the samples of e > median(e) + 4 standard deviations, the latter taken as 1.4826 times the median absolute
/// deviation. A scan whose signal reaches the edge in most samples is overestimated there.
NoiseCovariance edge_noise_covariance(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const Array<Complex<float>>& kspace);
/// Returns the samples that edge_noise_covariance looks at, in ascending order.
std::vector<std::int64_t> edge_samples(const Trajectory& trajectory, std::array<int, 3> matrix_size);
/// Does the same as above for samples that are known.
NoiseCovariance edge_noise_covariance(const std::vector<std::int64_t>& edge,
                                      const Array<Complex<float>>& kspace);

/// The noise of a scan as it is known: from its noise readouts, else from the edge of its k-space.
struct KnownNoise {
  NoiseCovariance covariance;
  bool is_measured = false;  ///< by noise readouts
};
KnownNoise known_noise(const Scan& scan);
/// Returns the covariance to draw noise with: of the edge of k-space, where coils share signal, its diagonal alone.
Array<Complex<double>> covariance_to_draw(const KnownNoise& noise);

/// Returns complex Gaussian noise [coil][sample] with this covariance [coil][coil], positive semidefinite: the same numbers
/// for the same `replica`, and unrelated ones for another, or for the seed of a simulated scan (array/random_numbers.hpp).
Array<Complex<float>> noise_like(const Array<Complex<double>>& covariance, std::int64_t samples,
                                 std::uint64_t replica);

struct Whitening {
  /// [coil][coil]: standard_deviation L^-1 with the covariance L L^H: all coils get the mean of their variances.
  Array<Complex<double>> matrix;
  double standard_deviation = 0;  ///< of the complex noise after mixing: sqrt(trace(covariance) / coils)
  bool decorrelates = true;       ///< false: coils are scaled only, see `reason`
  std::string reason;             ///< why the full covariance was not used, in words
};

/// Returns the whitening of Pruessmann et al., MRM 46:638 (2001), appendix B. With fewer samples than two per coil, or a
/// singular covariance, coils are scaled by their own standard deviations and stay correlated; where a coil has no noise at
/// all, nothing is changed (the identity).
Whitening whitening(const NoiseCovariance& covariance);

// Fewer virtual coils: the principal components of the coils' samples. Source: Huang et al., Magn. Reson. Imaging 26:133
// (2008); Buehrer et al., MRM 57:1131 (2007).

struct Compression {
  /// [virtual coil][coil], orthonormal rows, largest energy first; the largest component of each row is real
  /// and > 0. For apply_mixing (noise.hpp), of k-space and of maps alike.
  Array<Complex<double>> matrix;
  double kept_energy = 1;  ///< share of sum |d|^2 that the virtual coils hold
};

/// Returns the matrix of `count` virtual coils, 1 ... coils, of samples [coil][sample].
Compression compress_to_count(const Array<Complex<float>>& samples, std::int64_t count);
/// Returns that of the fewest virtual coils that keep the share `energy` of sum |d|^2, in (0, 1].
Compression compress_to_energy(const Array<Complex<float>>& samples, double energy);

}  // namespace fhd

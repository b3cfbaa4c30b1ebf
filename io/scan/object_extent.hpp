#pragma once
// The length of the object, from k-space alone: the autocorrelation of k-space is the Fourier transform of
// |rho|^2 (Wiener and Khinchin), so that samples a distance delta apart resemble each other as long as
// delta < 1 / length, whatever the unit of k. Displacements along readouts are enough; coils add up to the whole
// object; noise, which no two samples share, takes away the same part at every distance.
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "recon/array/complex.hpp"

namespace fhd::io {

/// Samples of a readout that follow each other.
struct ReadoutPart {
  std::vector<std::array<double, 3>> k;  ///< [sample], in the unit of the file
  std::vector<Complex<float>> values;    ///< [coil][sample]
};

class ObjectExtent {
 public:
  // More samples about the centre of k-space, where the energy is, tell nothing new.
  static constexpr std::int64_t most_samples = 1024, most_coils = 8, most_readouts = 16;

  /// Pairs of samples further apart than `furthest`, in the unit of k, are left out: they tell of lengths below 0.7 / furthest.
  explicit ObjectExtent(double furthest = std::numeric_limits<double>::infinity()) : furthest_(furthest) {}

  void add(const ReadoutPart& part);
  /// Returns the length of the object along x, y, z in 1 / unit of k, to about a third; 0 where the readouts do not tell: no
  /// displacement along this axis, or samples too far apart, or nothing but noise.
  std::array<double, 3> lengths() const;

 private:
  struct Pairs {
    Complex<double> product;  ///< sum of d(k) conj(d(k + delta))
    double energy = 0;        ///< sum of their mean |d|^2
    double distance = 0;      ///< sum of |delta| times that
  };
  bool add_pairs(const ReadoutPart& part, std::int64_t lag);
  double furthest_;
  std::array<std::map<int, Pairs>, 3> by_distance_;  ///< of displacements along each axis; four to an octave
};

}  // namespace fhd::io

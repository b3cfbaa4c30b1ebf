#pragma once
// Brings samples that were taken while the readout gradient rises and falls to equal distances in k-space.
//
// The gradient of the header, a trapezoid or with sinusoidal ramps, tells where the middle of each dwell time lies: k(s),
// whose range over the samples is that of `sample_count` steps of 1/FOV, FOV the encoded one. On the flat top the
// receiver passes objects up to the length 1/d, d the distance of samples there. The line is the shortest function (l2 of
// its Fourier transform) of that length with the measured values, the optimal uniform resampling of Rosenfeld (MRM 40:14,
// 1998): with G(a, b) = sinc((a - b)/d), y = G(u, k) (G(k, k) + c I)^-1 x at u = s - (n - 1)/2, the places that equal distances
// would have. c = 1e-5 of the diagonal: error 2e-4 to 1e-3 for objects inside the FOV, noise no more than 1.1 times.
//
// The receiver's frequency for a FOV off the isocentre belongs to the flat top. On the ramps it is too high: readouts carry
// the phase 2 pi x0 (k(s) - d s), x0 the offset as a part of the encoded FOV, which is taken back. Its sign is that of a
// signal exp(+i 2 pi k x) along the read direction, as Siemens counts (found by twixtools for readouts along the gradient;
// one EPI of a phantom, 2.6 mm off the isocentre, agrees weakly).
#include <vector>

#include "io/scan/twix/protocol.hpp"
#include "recon/array/array.hpp"

namespace fhd::io::twix {

/// The most samples of a ramp-sampled readout.
inline constexpr int most_ramp_samples = 1024;

/// Regrids readouts of one length; from any thread.
class RampRegridding {
 public:
  /// `samples`: of a readout, before. Throws Error naming `subject` where the shape is none.
  RampRegridding(const RampShape& shape, int samples, const std::string& subject);

  int samples() const { return static_cast<int>(positions_.size()); }
  /// Returns the number of samples of a regridded readout.
  int regridded_samples() const { return regridded_samples_; }
  /// Returns k(s) from the middle of the readout, cycles per encoded FOV.
  const std::vector<double>& positions() const { return positions_; }
  /// Regrids values [channel][sample][re, im] in the order in which they were measured. `offset`: x0 above; `reversed`: the
  /// gradient was negative.
  std::vector<float> operator()(const std::vector<float>& values, int channels, double offset,
                                bool reversed) const;

 private:
  int regridded_samples_;
  double flat_distance_ = 1;
  std::vector<double> positions_;
  std::vector<float> weights_;  ///< [sample before][sample after]
};

}  // namespace fhd::io::twix

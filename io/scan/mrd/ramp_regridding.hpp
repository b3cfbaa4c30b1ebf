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
#include <span>
#include <string>
#include <vector>

namespace fhd::io::mrd {

/// The readout gradient of a ramp-sampled echo train.
struct RampShape {
  int mode = 1;  ///< 1: samples are equally spaced in k-space; 2: trapezoid; 4: its ramps are sinusoidal
  double ramp_up_us = 0, flat_us = 0, ramp_down_us = 0;
  double delay_us = 0,
         adc_us = 0;  ///< from the start of the gradient to that of the samples; length of these
  int samples = 0;    ///< after regridding
  bool is_sampled() const { return mode > 1; }
  /// Returns whether it is a gradient with `count` samples, no more than most_ramp_samples, under it.
  bool is_sane(int count) const;
};

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
  std::vector<float> operator()(std::span<const float> values, int channels, double offset,
                                bool reversed) const;

 private:
  int regridded_samples_;
  double flat_distance_ = 1;
  std::vector<double> positions_;
  std::vector<float> weights_;  ///< [sample before][sample after]
};

}  // namespace fhd::io::mrd

#pragma once
// Echo-planar readouts of opposite directions are delayed against each other, which gives a ghost at half the FOV.
// Phase-correction readouts, measured without phase encoding in both directions, tell by how much.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/fft.hpp"

namespace fhd::io::mrd {

/// Difference of the profiles p(x) of forward and reversed readouts: p_forward = p_reversed exp(i (offset + slope x)),
/// x in voxels of the readout from its middle.
struct GhostPhase {
  double offset_rad = 0, slope_rad = 0;
};

/// Returns the phase from lines [coil][sample] in the order of ascending k, sums of the navigators of each direction. It
/// is that of D(x) = sum_c p_forward p_reversed^*: slope from D(x + 1) D(x)^* (Ahn and Cho, IEEE TMI 6:32, 1987), refined by
/// a straight line through its phase, weighted by |D|. Empty where D is zero.
std::optional<GhostPhase> ghost_phase(const Array<Complex<double>>& forward,
                                      const Array<Complex<double>>& reversed);

/// Finds out whether every second echo was read backwards, from profiles |p(x)| of consecutive ones: they are more alike when
/// one is mirrored. Symmetric objects tell nothing.
class MirrorTest {
 public:
  /// Takes the next echo [coil][sample], in the order of time.
  void add(const Array<Complex<double>>& line);
  std::size_t count() const { return count_; }
  bool is_likely() const;

 private:
  std::size_t count_ = 0;
  std::vector<double> last_;  ///< |p| [x][coil] of the last echo, x in the order of the FFT
  double as_they_are_ = 0, mirrored_ = 0, most_ = 0;  ///< sums of products; the most that these may be
};

/// Applies a phase to reversed lines of one length.
class GhostCorrection {
 public:
  GhostCorrection(const GhostPhase& phase, int sample_count, int coil_count);
  /// Corrects samples [m, m + sample_count) of values [coil][sample], a line that was read backwards.
  void apply(Array<Complex<float>>& values, std::int64_t m);
  int sample_count() const { return static_cast<int>(line_.extent(0)); }

 private:
  Fft1d<double> fft_;
  Array<Complex<double>> phasors_;  ///< [x] in the order of the FFT, divided by sample_count
  Array<Complex<double>> line_;     ///< [sample][coil]
  Array<Complex<double>> scratch_;  ///< for the FFTs
};

}  // namespace fhd::io::mrd

#pragma once
// Some readouts of a scan with what an image predicts of them: enough for a test of all, at a hundredth of the cost.
#include <array>
#include <complex>
#include <vector>

#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Samples d and E rho of some readouts of one length, of some coils, in the unit of E rho.
struct ReadoutSet {
  Index coils = 0, readouts = 0, length = 0;
  std::vector<Index> numbers;  ///< of the readouts, among all of the scan
  std::vector<std::complex<float>> data,
      predicted;                        ///< [coil][readout][sample]; without an image no prediction
  std::vector<float> radius;            ///< of k, [readout][sample]; 1 at the middle of a face of k-space
  std::vector<std::array<float, 3>> k;  ///< cycles/FOV, [readout][sample]
  double step = 0;                      ///< median step of k along a readout, cycles/FOV
  int axes = 2;                         ///< of more than one voxel
  Index at(Index coil, Index readout) const { return (coil * readouts + readout) * length; }
};

/// Returns evenly spaced readouts as they are, of some coils: about `values` samples.
ReadoutSet whole_readouts(const VerifierInput<float>& input, const std::vector<Index>& starts, Index values);

/// Returns every sample of a raster of all readouts, of some coils: about `values` samples, and at least 8 of a readout.
ReadoutSet thinned_readouts(const VerifierInput<float>& input, const std::vector<Index>& starts,
                            Index values);

/// Returns sum over shells of k-space, |k| <= 1, of their volume times the mean over their samples m of sum over coils of
/// energy(i, m), i as in ReadoutSet::data, m in ReadoutSet::radius: about the energy of an image with such samples.
template <class Energy>
double energy_of_image(const ReadoutSet& set, const Energy& energy) {
  constexpr int shells = 16;
  std::array<double, shells + 1> sum{}, count{};
  for (Index coil = 0; coil < set.coils; ++coil)
    for (Index m = 0; m < set.readouts * set.length; ++m) {
      const auto shell =
          static_cast<std::size_t>(std::min(shells * set.radius[static_cast<std::size_t>(m)], float{shells}));
      sum[shell] += energy(coil * set.readouts * set.length + m, m);
      if (coil == 0) ++count[shell];
    }
  double all = 0;
  for (std::size_t s = 0; s < shells; ++s)
    if (count[s] > 0) all += (std::pow(s + 1, set.axes) - std::pow(s, set.axes)) * sum[s] / count[s];
  return all;
}

}  // namespace fhd::validation

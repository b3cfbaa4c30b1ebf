#pragma once
// The phases of fields as short sums of products: what a spin does beyond k . r is no Fourier transform, but
//
//     w_m(p) = exp(-i phi'(p, m) - R(p) t_m) ~ sum_j u_j(m) v_j(p),    v_j(p) = w_{m_j}(p),
//
// with few samples m_j, so that E = sum_j diag(u_j) F S diag(v_j). v_j is exact for every voxel and the sample m_j; u_j(m) fits
// best over places that cover the values of the basis. For E^H E the same is done with
//
//     conj(w_m(p)) w_m(p') ~ sum_l a_l(m) conj(w_{m_l}(p)) w_{m_l}(p'),
//
// whose a_l are real, since (p', p) is a pair as well as (p, p'). Time segments are the case of off-resonance alone. The
// samples are pivots of a QR decomposition of exact columns w_m. Sources: Fessler et al., IEEE Trans. Signal Process. 53:3393
// (2005); Wilm et al., IEEE TMI 31:1636 (2012); interpolative decomposition: Cheng et al., SIAM J. Sci. Comput. 26:1389 (2005).
#include <optional>
#include <vector>

#include "recon/transform/phase/phase.hpp"

namespace fhd {

struct PhaseFactors {
  Array<double> coefficients;      ///< kappa of the samples m_j, [j][term]
  Array<double> time_s;            ///< their times, [j]; empty without decay
  Array<Complex<double>> weights;  ///< u_j(m), [j][sample]
  /// |w_m(p) - sum| over samples and places, the worst ones and others at random, of which none was fitted unless all are
  /// there. `error`: the largest root mean square over the places of a sample, or over the samples of a place, so that a small
  /// hot spot counts; of a single term the largest value.
  double error = 0, worst_error = 0, rms_error = 0;

  std::int64_t count() const { return coefficients.empty() ? 0 : coefficients.extent(0); }
};

/// Finds few terms, some per cent more than the fewest, whose `error` is at most `accuracy` (1e-6 ... 0.1); nothing where more
/// than `most_terms` are needed. `seen` [voxel]: voxels that count; empty: all.
std::optional<PhaseFactors> field_factors(const PhaseTerms& terms, const std::vector<bool>& seen,
                                          double accuracy, std::int64_t most_terms);
/// Finds the terms of E^H E; the weights a_l are real.
std::optional<PhaseFactors> difference_factors(const PhaseTerms& terms, const std::vector<bool>& seen,
                                               double accuracy, std::int64_t most_terms);

}  // namespace fhd

#pragma once
// Off-resonance: each voxel turns by exp(-i omega(p) t_m) while the samples are taken, which is no Fourier
// transform. Time segmentation writes it as a short sum of them,
//
//     exp(-i omega t) ~ sum_l b_l(t) exp(-i omega tau_l),
//
// with equidistant tau_l and the b_l(t) that fit best over the frequencies of the map, so that
//
//     E = sum_l diag(b_l) F S exp(-i omega tau_l).
//
// For E^H E, which holds exp(i (omega_p - omega_p') t), the same is done with the differences of frequencies;
// their distribution is symmetric, the a_l(t) are real, and every term is a Toeplitz operator with the kernel
// q_l(D) = sum_m a_l(t_m) exp(i 2 pi k_m . D):
//
//     E^H E ~ sum_l diag(exp(-i omega tau_l))^H S^H T_l S diag(exp(-i omega tau_l)).
//
// Sources: Sutton, Noll and Fessler, IEEE TMI 22:178 (2003); Fessler et al., IEEE Trans. Signal Process.
// 53:3393 (2005).
#include <functional>
#include <memory>
#include <vector>

#include "recon/encoding/sense.hpp"

namespace fhd {

struct TimeSegments {
  std::vector<double> time_s;      ///< tau_l
  Array<Complex<double>> weights;  ///< b_l(t_m), [segment][sample]
  /// Largest |exp(-i omega t) - sum| over all sample times and all occupied frequencies of the map.
  double error = 0;
};

/// The fewest segments whose error is at most `accuracy` (1e-6 ... 0.1). field_map in rad/s (any shape),
/// sample times in s, [sample]. Throws Error when 256 segments are not enough.
TimeSegments time_segments(const Array<float>& field_map, const Array<double>& sample_time_s,
                           double accuracy);
/// Computes the segments for the differences of the map's frequencies; the weights a_l are real.
TimeSegments difference_time_segments(const Array<float>& field_map, const Array<double>& sample_time_s,
                                      double accuracy);

/// E with off-resonance: image [z][y][x] -> samples [coil][sample]. field_map in rad/s [z][y][x], on the host.
/// Maps, transform and coil images are those of `sense`, which no other thread uses meanwhile.
template <class T>
std::shared_ptr<const Encoding<T>> make_off_resonance_encoding(std::shared_ptr<const SenseEncoding<T>> sense,
                                                               const Array<float>& field_map,
                                                               const TimeSegments& segments);
/// S_c exp(-i omega tau_l) of every segment l, [coil][z][y][x] on the device of the maps.
template <class T>
using TurnedMaps = std::vector<Array<Complex<T>>>;
/// field_map in rad/s [z][y][x], on the host.
template <class T>
std::shared_ptr<const TurnedMaps<T>> turned_maps(const Array<Complex<T>>& maps, const Array<float>& field_map,
                                                 const TimeSegments& differences);

/// E^H E with off-resonance as a sum of Toeplitz operators, one per segment of the differences, with the maps of
/// that segment, which operators of several trajectories may share; `point_spread(weights)` makes the kernel of
/// q_l for real weights [sample] on the device. coils_at_once: see make_toeplitz_normal.
template <class T>
std::shared_ptr<const HermitianOperator<T>> make_off_resonance_normal(
    const std::function<Array<Complex<T>>(const Array<double>&)>& point_spread,
    std::shared_ptr<const TurnedMaps<T>> maps, const TimeSegments& differences,
    std::int64_t coils_at_once = 0);
/// The off-resonance encoding with so many time segments, from sizes alone: its bytes are beside those of the
/// SenseEncoding that it shares.
OperatorCost off_resonance_cost(const TransformCost& transform, const TransformSizes& sizes,
                                std::int64_t coils, std::int64_t coils_at_once, int segments);

}  // namespace fhd

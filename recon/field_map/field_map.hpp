#pragma once
// Off-resonance from the phases of echoes.
#include <vector>

#include "recon/array/array.hpp"

namespace fhd {

/// omega in rad/s, [z][y][x], of images rho exp(-i omega t) at two or more echo times t in s, ascending:
///
///     omega^ = sum_e a_e T_e phi_e / sum_e a_e T_e^2,   phi_e = -arg(conj(rho_0) rho_e), T_e = t_e - t_0,
///     1 / a_e = 1/|rho_0|^2 + 1/|rho_e|^2               the inverse variance of phi_e
///
///     min over omega of sum_p w_p (omega_p - omega^_p)^2 + length^4 sum over axes of (second difference of omega)^2
///
/// w is sum_e a_e T_e^2 over its mean in the object. Phases are unwrapped from the brightest voxel outwards, those
/// of the two echoes that are nearest in time first; these give the others their turns. Two echoes leave open a
/// multiple of 2 pi over their distance: of such maps this is the one whose median over the object is nearest 0.
/// Where there is no signal the map goes on smoothly, and stays within what the object shows. `length`, in voxels,
/// is that below which the map is smooth; >= 0.
/// Throws Error: one echo, times that are equal or descend, images of different sizes, or without signal.
Array<float> field_map_of_echoes(const std::vector<const Array<Complex<float>>*>& images,
                                 const std::vector<double>& echo_times_s, double length = 2);

/// Values that belong to phases known but for whole turns, [z][y][x]: each is brought within half a turn of the neighbour
/// from which it is reached, from the largest weight on and where weights are large first; then all by so many turns
/// that their median over the object (a hundredth of the largest weight and more) is within half of one.
void unwrap(Array<double>& phase, const Array<double>& weight);

}  // namespace fhd

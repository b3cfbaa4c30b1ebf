#pragma once
// Several sets of sensitivity maps ("soft" SENSE), each with an image of its own:
//
//     d_c = F (sum_s S_sc rho_s),    (E^H E rho)_s = sum_c conj(S_sc) T (sum_s' S_s'c rho_s')
//
// Where an object is folded within the field of view, a voxel holds two places, which coils see with two different
// sensitivities: one map cannot tell them, a second set can. Source: Uecker et al., MRM 71:990 (2014).
#include <memory>

#include "recon/encoding/sense.hpp"

namespace fhd {

/// E^H E of all sets of an encoding with T by FFT; `point_spread` is q on the periodic difference grid.
template <class T>
std::shared_ptr<const HermitianOperator<T>> make_map_sets_normal(
    std::shared_ptr<const SenseEncoding<T>> encoding, const Array<Complex<T>>& point_spread);

}  // namespace fhd

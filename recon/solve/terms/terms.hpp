#pragma once
// The terms that a problem may have, one function each.
#include <memory>

#include "recon/solve/problem.hpp"

namespace fhd {

/// W = identity.
template <class T>
std::shared_ptr<const QuadraticTerm<T>> identity_term();

/// W = finite differences between neighbours along every axis with more than one voxel, free ends:
///
///     |W rho|^2 = sum over axes and voxels p of w_axis(p) |rho(p + 1) - rho(p)|^2
///
/// `weights` is [axis x, y, z][z][y][x] on the device of the images (w of the pair p, p + 1; Haldar et al., MRM
/// 59:810 (2008)), or empty for w = 1.
template <class T>
std::shared_ptr<const QuadraticTerm<T>> roughness_term(Array<T> weights = {});

}  // namespace fhd

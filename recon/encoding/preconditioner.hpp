#pragma once
// A preconditioner of the normal equations of coils, A = sum_c conj(S_c) T S_c + P: an approximate inverse
//
//     M^-1 = s (sum_c conj(S_c) G S_c) s + b
//
// which inverts T (the Toeplitz operator of the point spread) with the maps as weights, as a gridded image of all coils
// does with the density compensation in the place of G. With |S|^2 = sum_c |S_c|^2, m = q(0), p = mean eigenvalue of the
// penalty P, s0 = p / m:
//
//     s(r) = 1 / (|S(r)|^2 + s0)                               image space; no matter how fast the maps change
//     G    = F^-1 g F,  1 / g(k) = a t(k) + (1 - a) m P(k) / p + damping m
//     b(r) = (1 - |S|^2 s)^2 s / m                             what P alone decides where there is no map
//
// on the grid of the image, where t are the eigenvalues of the circulant that is next to T in the Frobenius norm,
// P(k) those of the penalty, and a = mean of |S|^2 s, weighted by |S|^2. The coils fill what T leaves open in k-space,
// which a circulant cannot know: `damping`, 1 / coils but 0.1 ... 1, stands for that. g, s > 0 and b >= 0, so that M^-1 is Hermitian and, where a
// map or P is not zero, positive definite. A voxel without either stays 0.
//
// Sources: T. Chan, SIAM J. Sci. Stat. Comput. 9:766 (1988), the circulant; Pruessmann et al., MRM 46:638 (2001), the
// scaling by the maps; damping from validation/studies/preconditioner_cases.
#include <memory>

#include "recon/array/execution.hpp"
#include "recon/encoding/sense.hpp"

namespace fhd {

/// t: eigenvalues of T. Chan's circulant, [z][y][x] of the image in the order of an FFT, >= 0; their mean is q(0).
/// `point_spread` is q on the periodic difference grid (direct.hpp), and t on its device; `image` is [z][y][x].
template <class T>
Array<double> circulant_of_point_spread(const Array<Complex<T>>& point_spread, const Shape& image);

/// M^-1 for images [z][y][x] on the device of the maps of `sense`, of this set. `circulant` is t, on that device; `penalty` the
/// eigenvalues of P in the same order (all 0 without), in host memory. A GPU takes as many coils, and images of a stack,
/// together as `sense` does. Of a group of processes, each takes its share of the coils.
template <class T>
std::shared_ptr<const HermitianOperator<T>> make_preconditioner(const Array<double>& circulant,
                                                                const Array<double>& penalty,
                                                                std::shared_ptr<const SenseEncoding<T>> sense,
                                                                std::int64_t set = 0);

/// Returns the cost of that operator, without the maps. `bytes` holds its buffers and t; `making_bytes`: while t or the factors are made.
OperatorCost preconditioner_cost(const TransformSizes& sizes, std::int64_t coils, Device device,
                                 std::int64_t coils_at_once = 0, std::int64_t images_at_once = 1);

}  // namespace fhd

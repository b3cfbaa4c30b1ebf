#pragma once
// F^H F without a trajectory: (F^H F rho)(n) = sum_n' q(n - n') rho(n') is a convolution with the
// point-spread kernel q, made circular on the grid of differences (2 N per axis) and applied by FFT. With
// sensitivity maps,
//
//     E^H E rho = sum_c conj(S_c) T (S_c rho),    T = crop . IFFT . FFT(q) . FFT . zero-pad.
//
// FFT(q) is real, because q(-D) = conj q(D). Sources: Wajer and Pruessmann, ISMRM 2001, 767; Fessler et al.,
// IEEE Trans. Signal Process. 53:3393 (2005).
#include <array>
#include <memory>

#include "recon/array/array.hpp"
#include "recon/array/linear_operator.hpp"
#include "recon/array/work.hpp"

namespace fhd {

/// E^H E as an operator on images [z][y][x].
template <class T>
class ToeplitzNormal : public HermitianOperator<T> {
 public:
  Shape domain() const final { return {maps_.extent(1), maps_.extent(2), maps_.extent(3)}; }
  Device device() const final { return maps_.device(); }

 protected:
  /// Throws unless the grid holds all differences of voxels.
  ToeplitzNormal(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps);
  /// Throws unless both are images, or equal stacks of such, on this device.
  void check_images(const Array<Complex<T>>& in, const Array<Complex<T>>& out) const;

  Array<Complex<T>> maps_;
};

/// `point_spread` is q on the periodic difference grid (direct.hpp); `maps` is [coil][z][y][x]; both on the
/// device of the operator. A GPU pads at most `coils_at_once` coils (0: as many as pay) together; of stacks of flat
/// images, as many of `images_at_once` with all their coils as pay. The maps may be a view of others' that outlive the
/// operator.
template <class T>
std::unique_ptr<ToeplitzNormal<T>> make_toeplitz_normal(const Array<Complex<T>>& point_spread,
                                                        Array<Complex<T>> maps,
                                                        std::int64_t coils_at_once = 0,
                                                        std::int64_t images_at_once = 1);

/// Returns the cost of that operator; where there is no device to ask, on one with the cache of an H100.
OperatorCost toeplitz_cost(std::array<int, 3> matrix_size, std::int64_t coils, Precision precision,
                           Device device, std::int64_t coils_at_once = 0, std::int64_t images_at_once = 1);

}  // namespace fhd

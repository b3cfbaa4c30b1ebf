#pragma once
// (W^H W rho)(p) of one voxel, compiled for host and device: finite differences, and the weighted identity.
#include "recon/array/pointwise.hpp"

namespace fhd {

/// (W^H W rho)(p) = sum over axes of w(p) (rho(p) - rho(p+1)) + w(p-1) (rho(p) - rho(p-1)), neighbours outside the
/// image left out. `weights` is [axis][z][y][x], or null for w = 1.
template <class T>
FHD_HOST_DEVICE inline Complex<T> roughness_at(const Complex<T>* rho, const T* weights,
                                               const std::int64_t n[3], std::int64_t p) {
  const std::int64_t position[3] = {p % n[0], p / n[0] % n[1], p / (n[0] * n[1])};
  const std::int64_t stride[3] = {1, n[0], n[0] * n[1]}, voxels = n[0] * n[1] * n[2];
  Complex<T> sum;
  for (int axis = 0; axis < 3; ++axis) {
    if (position[axis] + 1 < n[axis]) {
      const T w = weights != nullptr ? weights[axis * voxels + p] : T(1);
      sum += w * (rho[p] - rho[p + stride[axis]]);
    }
    if (position[axis] > 0) {
      const T w = weights != nullptr ? weights[axis * voxels + p - stride[axis]] : T(1);
      sum += w * (rho[p] - rho[p - stride[axis]]);
    }
  }
  return sum;
}

/// out(p) += factor (W^H W in)(p). Floor: in and out once; the neighbours come from the caches.
template <class T>
struct AddRoughness {
  static constexpr const char* name = "adding the roughness";
  const Complex<T>* in;
  T factor;
  const T* weights;
  std::int64_t n[3];  // x, y, z
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    out[p] += factor * roughness_at(in, weights, n, p);
  }
};

/// out(p) += factor w(p) in(p)
template <class T>
struct AddWeighted {
  static constexpr const char* name = "adding a weighted image";
  const Complex<T>* in;
  T factor;
  const T* weights;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const { out[p] += factor * weights[p] * in[p]; }
};

}  // namespace fhd

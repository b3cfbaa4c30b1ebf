#pragma once
// The arithmetic of one pair (voxel, sample) of the direct sums, as inline functions that host and device
// compile, so that tests without a GPU run the very formulas of the kernels in direct_cuda.cu.
//
// Phases are whole numbers: 2^32 (float) or 2^64 (double) is one turn. Sums and integer multiples of such a
// number wrap exactly as an angle does, so the phase 2 pi k . r is reduced to one turn without any operation
// and without rounding; only k / 2N is rounded, once, to 2^-32 (2^-64) turns.
//
// Voxels are taken in runs of 2 H along x, symmetric about the run's centre. With phi the phase at the
// centre, theta_j the phase from it to the voxels +-(j + 1/2), and c = d exp(i phi):
//
//     d exp(i (phi +- theta_j)) = c cos(theta_j) +- i c sin(theta_j)
//
// Four products serve two voxels, the cos and sin of theta_j serve all runs of the grid, and one sin and cos
// per run and sample is left.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "recon/array/complex.hpp"

namespace fhd {

template <class T>
using Phase = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
template <class T>
using SignedPhase = std::make_signed_t<Phase<T>>;

/// The largest H: a run is 2 H voxels along x.
inline constexpr int longest_half_run = 8;

/// The phase of `turns` turns, modulo one turn.
template <class T>
FHD_HOST_DEVICE inline Phase<T> phase_of_turns(double turns) {
  constexpr double half_turn = std::is_same_v<T, float> ? 0x1p31 : 0x1p63;
  const double scaled = rint((turns - rint(turns)) * (2 * half_turn));  // [-half_turn, half_turn]
  return static_cast<Phase<T>>(static_cast<SignedPhase<T>>(scaled >= half_turn ? -half_turn : scaled));
}

/// The phase of k / n turns, rounded to 2^-32 (2^-64) turns: the division's own rounding error, which large
/// coordinates would multiply, is added as a second phase.
template <class T>
FHD_HOST_DEVICE inline Phase<T> phase_of_ratio(double k, double n) {
  const double turns = k / n;
  return phase_of_turns<T>(turns) + phase_of_turns<T>(fma(-turns, n, k) / n);
}

/// The phase in half turns, [-1, 1): the angle over pi.
template <class T>
FHD_HOST_DEVICE inline T half_turns(Phase<T> phase) {
  constexpr T unit = std::is_same_v<T, float> ? T(0x1p-31) : T(0x1p-63);
  return static_cast<T>(static_cast<SignedPhase<T>>(phase)) * unit;
}

/// exp(i pi half_turns), to 1 ulp.
template <class T>
FHD_HOST_DEVICE inline Complex<T> unit_phasor(T half_turns) {
#ifdef __CUDA_ARCH__
  T sine, cosine;
  if constexpr (std::is_same_v<T, float>)
    sincospif(half_turns, &sine, &cosine);
  else
    sincospi(half_turns, &sine, &cosine);
  return {cosine, sine};
#else
  const double angle = 3.141592653589793238462643 * static_cast<double>(half_turns);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
#endif
}

/// exp(2 pi i phase) with the special-function units: absolute error 2^-21, as the angle lies in [-pi, pi).
FHD_HOST_DEVICE inline Complex<float> unit_phasor_fast(Phase<float> phase) {
#ifdef __CUDA_ARCH__
  constexpr float radians_per_unit = static_cast<float>(3.141592653589793238462643 / 0x1p31);
  float sine, cosine;
  __sincosf(static_cast<float>(static_cast<SignedPhase<float>>(phase)) * radians_per_unit, &sine, &cosine);
  return {cosine, sine};
#else
  return unit_phasor(half_turns<float>(phase));
#endif
}

/// How a kernel takes sin and cos in single precision: unit_phasor_fast, or unit_phasor.
enum class SinCos { fast, accurate };

/// sum += a b, as 4 fused multiply-adds.
template <class T>
FHD_HOST_DEVICE inline void multiply_add(Complex<T> a, Complex<T> b, Complex<T>& sum) {
  sum.re += a.re * b.re;
  sum.re -= a.im * b.im;
  sum.im += a.re * b.im;
  sum.im += a.im * b.re;
}

/// The sums of c cos(theta_j) and i c sin(theta_j) over samples: the products of two voxels, kept
/// apart.
template <class T>
struct RunSum {
  T re_cos{}, im_sin{}, re_sin{}, im_cos{};

  /// c: data times the phasor of the run's centre. step: exp(i theta_j).
  FHD_HOST_DEVICE void add(Complex<T> c, Complex<T> step) {
    re_cos += c.re * step.re;
    im_sin += c.im * step.im;
    re_sin += c.re * step.im;
    im_cos += c.im * step.re;
  }
  /// The sum at the voxel +(j + 1/2) from the centre, c exp(+i theta_j), and at -(j + 1/2).
  FHD_HOST_DEVICE Complex<T> upper() const { return {re_cos - im_sin, im_cos + re_sin}; }
  FHD_HOST_DEVICE Complex<T> lower() const { return {re_cos + im_sin, im_cos - re_sin}; }
};

/// The forward sum over the same two voxels, without the centre's phasor:
///
///     upper exp(-i theta_j) + lower exp(+i theta_j) = cos(theta_j) total - i sin(theta_j) difference
///
/// with total = upper + lower and difference = upper - lower; added to `sum`.
template <class T>
FHD_HOST_DEVICE inline void add_voxel_pair(Complex<T> total, Complex<T> difference, Complex<T> step,
                                           Complex<T>& sum) {
  sum.re += total.re * step.re;
  sum.re += difference.im * step.im;
  sum.im += total.im * step.re;
  sum.im -= difference.re * step.im;
}

/// k-space position of one sample: the phases of half a voxel along x, y, z and exp(i theta_j) of a run.
template <class T>
struct alignas(4 * sizeof(T)) SamplePosition {
  Phase<T> half_voxel[3]{};
  Phase<T> padding{};
  Complex<T> step[longest_half_run]{};
};

/// From k in cycles/FOV; `matrix_size` as in r = n / N.
template <class T>
FHD_HOST_DEVICE inline SamplePosition<T> sample_position(const double (&k)[3], const int (&matrix_size)[3]) {
  SamplePosition<T> position;
  for (int axis = 0; axis < 3; ++axis)
    position.half_voxel[axis] = phase_of_ratio<T>(k[axis], 2.0 * matrix_size[axis]);
  const Phase<double> half_voxel = phase_of_ratio<double>(k[0], 2.0 * matrix_size[0]);
  for (int j = 0; j < longest_half_run; ++j) {
    const Phase<double> theta = static_cast<unsigned>(2 * j + 1) * half_voxel;
    position.step[j] = Complex<T>(unit_phasor<double>(half_turns<double>(theta)));
  }
  return position;
}

/// A Cartesian grid of points, of which the direct sums take runs. Coordinates count half voxels from the
/// point where r = 0.
struct VoxelGrid {
  int extent[3]{};  ///< points along x, y, z
  int first[3]{};   ///< coordinate of point 0 along each axis

  FHD_HOST_DEVICE int runs_per_row(int half_run) const {
    return (extent[0] + 2 * half_run - 1) / (2 * half_run);
  }
  /// Coordinate of the centre of run `run` of a row, and of row y, plane z.
  FHD_HOST_DEVICE int run_centre(int run, int half_run) const {
    return first[0] + 4 * half_run * run + 2 * half_run - 1;
  }
  FHD_HOST_DEVICE int row(int y) const { return first[1] + 2 * y; }
  FHD_HOST_DEVICE int plane(int z) const { return first[2] + 2 * z; }
};

/// Phase of the coordinate (x, y, z), in half voxels.
template <class T>
FHD_HOST_DEVICE inline Phase<T> phase_at(const Phase<T> (&half_voxel)[3], int x, int y, int z) {
  using Signed = SignedPhase<T>;
  return half_voxel[0] * static_cast<Phase<T>>(static_cast<Signed>(x)) +
         half_voxel[1] * static_cast<Phase<T>>(static_cast<Signed>(y)) +
         half_voxel[2] * static_cast<Phase<T>>(static_cast<Signed>(z));
}

}  // namespace fhd
